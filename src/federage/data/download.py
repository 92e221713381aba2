"""Fetching a dataset: mirrors in order, resumed where a transfer broke off, nothing trusted before its digest fits.

What arrives is kept in NAME.<mirror>.part until it is complete, so the next call (or the next attempt) asks the same
mirror for the rest only. Complete transfers are decompressed into temporary files, and only when every SHA-256 fits do
these get their final names, by fsync and rename. Nothing is ever extracted under a name that came over the wire.
"""

from __future__ import annotations

import contextlib
import gzip
import hashlib
import http.client
import os
import tarfile
import urllib.error
import urllib.request
import zlib
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple, Protocol

from federage.data import files, specs
from federage.data.files import Folder
from federage.data.specs import Spec
from federage.errors import DownloadError

Progress = Callable[[str, int, int | None], None]  # (file, bytes done, bytes in all or None if the mirror does not say)

CHUNK = 1 << 16
ATTEMPTS = 3  # a mirror that breaks off is asked for the rest this often before the next one gets its turn
CEILING = 1 << 30  # no file of these datasets comes near 1 GiB: whoever sends more is not sending the dataset


class _Readable(Protocol):
    def read(self, size: int, /) -> bytes: ...


class _Refused(Exception):
    """This mirror did not deliver, and why."""


def get(
    dataset: str | Spec,
    to: Folder = None,
    *,
    mirrors: Sequence[str] | None = None,
    progress: Progress | None = None,
    timeout: float = 30.0,
) -> Path:
    """Put a dataset's files under `to`, in a folder with its name; files that are there and good are left alone.

    Args:
      dataset: its name, or the spec of one that this package does not know.
      to: the folder of all datasets: this one, else the environment variable FEDERAGE_DATA, else ~/.cache/federage.
      mirrors: addresses of folders to try in this order, instead of the dataset's own.
      progress: called with (file, bytes done, bytes in all or None) as bytes arrive.
      timeout: seconds to wait for a connection, and for each further piece.

    Returns:
      The folder that the files lie in.
    """
    spec = specs.find(dataset)
    rows = files.check(spec, to)
    if all(row.state == "good" for row in rows) and rows[0].path:
        return rows[0].path.parent
    folder = files.home(to) / spec.name
    wanted = [name for name in spec.files if files.state(spec, name, files.copy_in(folder, name)).state != "good"]
    sources = {spec.archive: wanted} if spec.archive else {name + spec.suffix: [name] for name in wanted}
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for source, names in sources.items():
            _from_some_mirror(_Errand(spec, source, names, folder, progress or _silent, timeout), mirrors)
    except DownloadError:
        raise
    except OSError as error:
        raise DownloadError(f"{folder}: expected a folder that can be written, but: {error}; name another") from error
    return folder


class _Errand(NamedTuple):
    """One thing to bring: `source` is its name on a mirror, `names` the files wanted out of it."""

    spec: Spec
    source: str
    names: list[str]
    folder: Path
    progress: Progress
    timeout: float


def _silent(file: str, done: int, total: int | None) -> None:
    """Report nothing."""


def _from_some_mirror(errand: _Errand, mirrors: Sequence[str] | None) -> None:
    reasons = []
    for mirror in mirrors or errand.spec.mirrors:
        url = f"{mirror.rstrip('/')}/{errand.source}"
        try:
            return _from_mirror(errand, url)
        except _Refused as refusal:
            reasons.append(f"{url} {refusal}")
    raise DownloadError(
        f"{errand.spec.name}: expected {errand.source} from one of {len(reasons)} mirrors, but none delivered it: "
        f"{'; '.join(reasons)}; try again later, or name another mirror"
    )


def _from_mirror(errand: _Errand, url: str) -> None:
    # The mirror is part of the name: two mirrors may have compressed the same contents differently.
    part = errand.folder / f"{errand.source}.{hashlib.sha256(url.encode()).hexdigest()[:8]}.part"
    for last in (False, True):
        resumed = _transfer(errand, url, part)
        try:
            _install(errand, part)
            part.unlink()
            return
        except _Refused:
            part.unlink()
            # A mirror's file may have changed between two pieces: that deserves one transfer from the start.
            if last or not resumed:
                raise


def _transfer(errand: _Errand, url: str, part: Path) -> bool:
    """Complete `part`, asking again as long as each attempt gets further; whether it was put together from pieces."""
    if not url.startswith(("http://", "https://")):
        raise _Refused("is not an http or https address")
    pieces = 0
    while True:
        start = _size(part)
        pieces += 1
        try:
            return _request(errand, url, part, start) or pieces > 1
        except _Refused:
            if pieces == ATTEMPTS or _size(part) <= start:
                raise


def _request(errand: _Errand, url: str, part: Path, start: int) -> bool:
    """Ask for everything from byte `start` on and append it to `part`; whether the mirror sent only that rest."""
    headers = {"User-Agent": "federage"} | ({"Range": f"bytes={start}-"} if start else {})
    try:
        response = urllib.request.urlopen(urllib.request.Request(url, headers=headers), timeout=errand.timeout)
    except urllib.error.HTTPError as error:
        with error:
            if error.code != 416 or not start:
                raise _Refused(f"answered {error.code} {error.reason}") from None
            if error.headers.get("Content-Range") == f"bytes */{start}":
                return True  # there is nothing beyond `start`: all of it is here already
        part.unlink()
        return _request(errand, url, part, 0)
    except (OSError, http.client.HTTPException, ValueError) as error:
        raise _Refused(f"cannot be reached ({_say(error)})") from None
    with response:
        resumed = response.status == 206
        span = response.headers.get("Content-Range", "")
        if resumed and not span.startswith(f"bytes {start}-"):
            part.unlink(missing_ok=True)
            raise _Refused(f"was asked for the bytes from {start} and sent {span or 'others'}")
        done = start if resumed else 0
        length = response.headers.get("Content-Length", "")
        total = done + int(length) if length.isdecimal() else None
        with part.open("ab" if resumed else "wb") as file:
            errand.progress(errand.source, done, total)
            while done <= CEILING and (piece := _piece(response, done, total)):
                file.write(piece)
                done += len(piece)
                errand.progress(errand.source, done, total)
    if done > CEILING:
        part.unlink()
        raise _Refused(f"sent more than {CEILING} bytes")
    if total is not None and done != total:
        raise _Refused(f"broke off after {done} of {total} bytes")
    return resumed


def _size(path: Path) -> int:
    return path.stat().st_size if path.exists() else 0


def _piece(response: http.client.HTTPResponse, done: int, total: int | None) -> bytes:
    try:
        return response.read(CHUNK)
    except (OSError, http.client.HTTPException) as error:
        raise _Refused(f"broke off after {done} of {total or 'unknown'} bytes ({_say(error)})") from None


def _install(errand: _Errand, part: Path) -> None:
    """Unpack `part`, compare every digest, and only then give the files their final names."""
    spec, folder = errand.spec, errand.folder
    fresh: dict[Path, Path] = {}
    try:
        try:
            for name, stream in _members(spec, part, errand.names):
                target = folder / name
                fresh[target] = folder / f".{name}.{os.getpid()}.tmp"
                came = _copy(stream, fresh[target])
                if came != spec.files[name]:
                    raise _Refused(f"sent wrong contents: {name} has SHA-256 {came}, not {spec.files[name]}")
        except (tarfile.TarError, gzip.BadGzipFile, EOFError, zlib.error) as error:
            raise _Refused(f"sent wrong contents: {_say(error)}") from None
        if missing := [name for name in errand.names if folder / name not in fresh]:
            raise _Refused(f"sent an archive without {', '.join(missing)}")
        for target, temporary in fresh.items():
            os.replace(temporary, target)
        _sync_folder(folder)
    finally:
        for temporary in fresh.values():
            temporary.unlink(missing_ok=True)


def _members(spec: Spec, part: Path, names: list[str]) -> Iterator[tuple[str, _Readable]]:
    """The wanted files in what was transferred, each under the name that *we* expect, as streams."""
    if not spec.archive:
        with part.open("rb") as raw:
            packed = raw.read(2) == b"\x1f\x8b"  # some servers unpack a .gz on the way
            raw.seek(0)
            yield names[0], gzip.GzipFile(fileobj=raw) if packed else raw
        return
    expected = {f"{spec.inside}/{name}" if spec.inside else name: name for name in names}
    with tarfile.open(part, "r:*") as archive:
        for member in archive:
            name = expected.pop(member.name.removeprefix("./"), None) if member.isfile() else None
            stream = archive.extractfile(member) if name else None
            if name and stream:
                yield name, stream


def _copy(stream: _Readable, target: Path) -> str:
    """Write a stream to disk for good, and return its SHA-256."""
    digest, done = hashlib.sha256(), 0
    with target.open("wb") as file:
        while piece := stream.read(CHUNK):
            done += len(piece)
            if done > CEILING:
                raise _Refused(f"sent contents that unpack to more than {CEILING} bytes")
            digest.update(piece)
            file.write(piece)
        file.flush()
        os.fsync(file.fileno())
    return digest.hexdigest()


def _sync_folder(folder: Path) -> None:
    """Make the new names durable; where a folder cannot be opened (Windows), the system does so by itself."""
    with contextlib.suppress(PermissionError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def _say(error: Exception) -> str:
    reason = getattr(error, "reason", None) or error
    return f"{type(error).__name__}: {reason}"
