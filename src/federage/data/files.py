"""A downloadable dataset on disk: where its files are looked for, whether they are the right ones, and reading them.

The folder is the one given, else the environment variable FEDERAGE_DATA, else ~/.cache/federage. Under it the files
lie in a folder with the dataset's name, in the folder of the dataset's own archive, or directly; plain or as .gz.
"""

from __future__ import annotations

import gzip
import hashlib
import os
import zlib
from pathlib import Path
from typing import Literal, NamedTuple

from federage.data import specs
from federage.data.dataset import Dataset
from federage.data.formats import Contents
from federage.data.specs import SPECS, Spec
from federage.errors import DamagedFile, MissingData

Folder = str | os.PathLike[str] | None


class FileState(NamedTuple):
    """What `check` found out about one file; `came` is the SHA-256 of what is there, or why it cannot be read."""

    file: str
    state: Literal["good", "missing", "damaged"]
    path: Path | None
    expected: str
    came: str | None


def home(folder: Folder = None) -> Path:
    """The folder that datasets live in."""
    return Path(folder or os.environ.get("FEDERAGE_DATA") or "~/.cache/federage").expanduser()


def read(spec: Spec, folder: Folder = None, verify: bool = True) -> Dataset:
    """The dataset, from its files.

    Args:
      spec: which.
      folder: where to look; see `home`.
      verify: compare the SHA-256 of every file with the canonical one; without it only the formats are checked.
    """
    files = {}
    for name, path in _locate(spec, home(folder)).items():
        files[name] = Contents(path, _contents(path))
        came = hashlib.sha256(files[name].data).hexdigest() if verify else spec.files[name]
        if came != spec.files[name]:
            raise DamagedFile(
                f"{path}: expected {spec.name}'s contents with SHA-256 {spec.files[name]}, but they have {came}"
                f"{_whose(came)}; get them again with: {_command(spec, home(folder))}"
            )
    train, test = spec.read(files)
    return Dataset(spec.name, train, test, spec.classes, specs.standardised(spec.mean, spec.std))


def check(dataset: str | Spec, folder: Folder = None) -> list[FileState]:
    """The state of each file of a dataset: good, missing or damaged.

    The files are those that `read` would take, so a wrong copy is reported even if a good one lies elsewhere.
    """
    spec = specs.find(dataset)
    found = _found(spec, home(folder))
    return [state(spec, name, found.get(name)) for name in spec.files]


def state(spec: Spec, name: str, path: Path | None) -> FileState:
    """The state of one file of a dataset, supposed to be at `path`."""
    expected = spec.files[name]
    if path is None or not path.is_file():
        return FileState(name, "missing", None, expected, None)
    try:
        came = hashlib.sha256(_contents(path)).hexdigest()
    except DamagedFile as error:
        came = str(error)
    return FileState(name, "good" if came == expected else "damaged", path, expected, came)


def copy_in(place: Path, name: str) -> Path | None:
    """The copy of a file that would be read from this place: the plain one, else the .gz, else none."""
    return next((path for path in (place / name, place / f"{name}.gz") if path.is_file()), None)


def _places(spec: Spec, folder: Path) -> list[Path]:
    """Where the files may lie, the dataset's own folder first: names are shared between datasets."""
    return list(dict.fromkeys((folder / spec.name, folder / spec.name / spec.inside, folder / spec.inside, folder)))


def _found(spec: Spec, folder: Path) -> dict[str, Path]:
    """The files by name, from the first place that has all of them, else from the first that has any.

    A dataset is never put together from two places.
    """
    finds = []
    for place in _places(spec, folder):
        copies = {name: copy_in(place, name) for name in spec.files}
        finds.append({name: path for name, path in copies.items() if path is not None})
    return next((find for find in finds if len(find) == len(spec.files)), next(filter(None, finds), {}))


def _locate(spec: Spec, folder: Path) -> dict[str, Path]:
    found = _found(spec, folder)
    if missing := [name for name in spec.files if name not in found]:
        where = next(iter(found.values())).parent if found else f"{folder} (nor in {folder / spec.name})"
        raise MissingData(
            f"{spec.name} is not in {where}: expected the files {', '.join(spec.files)}, plain or as .gz, but "
            f"{', '.join(missing) if found else 'all'} are missing; "
            f"get them with: {_command(spec, folder)}"
        )
    return found


def _contents(path: Path) -> bytes:
    """The decompressed bytes of a file."""
    try:
        data = path.read_bytes()
        return gzip.decompress(data) if path.suffix == ".gz" else data
    except (OSError, EOFError, zlib.error) as error:
        raise DamagedFile(f"{path}: expected a readable file, but: {error}; download it again") from error


def _whose(digest: str) -> str:
    owners = [spec.name for spec in SPECS.values() if digest in spec.files.values()]
    return f", which are {owners[0]}'s" if owners else ""


def _command(spec: Spec, folder: Path) -> str:
    return f"federage data get {spec.name} --to {folder}"
