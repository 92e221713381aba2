"""Files that are whole or not there: temporary file, fsync, rename; and one writer a folder."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Generator
from pathlib import Path

from federage.errors import StoreError

try:
    import fcntl
except ImportError:  # Windows: there, nobody keeps two programs out of one folder
    fcntl = None

_TEMPORARY = ".new"


@contextlib.contextmanager
def held(folder: str | os.PathLike[str]) -> Generator[Path]:
    """Make the folder if need be, and keep other programs from writing to it meanwhile.

    What a killed program left half written is cleared away. The lock dies with its program, so it is never stale.
    """
    folder = Path(folder)
    with contextlib.ExitStack() as stack:
        try:
            folder.mkdir(parents=True, exist_ok=True)
            _lock(folder, stack)
            for left in folder.glob(f"**/*{_TEMPORARY}"):
                left.unlink()
            trial = folder / f"trial{_TEMPORARY}"
            trial.touch()
            trial.unlink()
        except OSError as error:
            raise StoreError(
                f"{folder} cannot be written to ({error.strerror or error}); pass a folder that can"
            ) from error
        yield folder


def put(path: Path, data: bytes | bytearray) -> None:
    """Put a file in the place of the one there, if any, all at once: beside it, onto the disk, then renamed."""
    temporary = path.with_name(path.name + _TEMPORARY)
    try:
        with open(temporary, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
        if os.name == "posix":  # the rename itself is on the disk once the folder is
            handle = os.open(path.parent, os.O_RDONLY)
            try:
                os.fsync(handle)
            finally:
                os.close(handle)
    except OSError as error:
        with contextlib.suppress(OSError):
            temporary.unlink()
        raise StoreError(
            f"{path} could not be written ({error.strerror or error}); what was there before is untouched: make room, "
            "go on"
        ) from error


def _lock(folder: Path, stack: contextlib.ExitStack) -> None:
    if fcntl is None:
        return
    handle = os.open(folder, os.O_RDONLY)
    stack.callback(os.close, handle)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise StoreError(f"another program is at work in {folder}; wait for it, or use another folder") from None
    except OSError:  # a file system without locks
        pass
