"""What can go wrong, as a small tree.

    FederageError
    ├── RecordError          a value of a record lies outside its domain
    ├── DataError            data that no federation can be made of
    │   ├── MissingData      a dataset is not where it was looked for
    │   └── DamagedFile      a file is truncated, altered or not what its name says
    ├── DownloadError        a mirror did not deliver
    ├── ExperimentError      an experiment's file, or a flag in its place, says what cannot be done
    ├── StoreError           a folder of runs cannot be read or written
    │   └── CheckpointError      a run cannot be continued from it
    │       └── CheckpointMismatch   it belongs to another experiment
    ├── ProcessError         several processes could not be made one run
    ├── MissingExtra         an optional package is not installed
    └── KnowledgeError       a method reads what it has not declared

Every message says what was expected, what came, and what to do, in one sentence.
"""

import difflib
from collections.abc import Iterable


class FederageError(Exception):
    """Root of everything that `federage` raises on purpose."""


class RecordError(FederageError, ValueError):
    """A value of a record lies outside its domain."""


class DataError(FederageError, ValueError):
    """Data that no federation can be made of: an empty client, labels that do not fit, b > n_i."""


class MissingData(DataError):
    """A dataset is not where it was looked for."""


class DamagedFile(DataError):
    """A file is truncated, altered, or not what its name says."""


class DownloadError(FederageError, OSError):
    """A mirror did not deliver."""


class ExperimentError(FederageError, ValueError):
    """An experiment's file, or a flag in its place, says what cannot be done: names the file, the table and the key."""


class StoreError(FederageError):
    """A folder of runs cannot be read or written."""


class CheckpointError(StoreError):
    """A run's folder cannot be continued from."""


class CheckpointMismatch(CheckpointError):
    """The checkpoint belongs to another experiment."""


class ProcessError(FederageError, RuntimeError):
    """Several processes could not be made one run."""


class MissingExtra(FederageError, ImportError):
    """An optional package is not installed; the message names the extra."""


class KnowledgeError(FederageError, AttributeError):
    """A method reads what it has not declared (`reads`)."""


def unknown(kind: str, came: str, known: Iterable[str], expected: str = "expected one of") -> str:
    """The complaint about an unknown word, with the nearest known one."""
    known = list(known)
    near = difflib.get_close_matches(came.lower().replace("-", "_"), known, n=1, cutoff=0.5)
    hint = f"; did you mean {near[0]}?" if near else ""
    return f"unknown {kind} {came!r}, {expected} {', '.join(known) or 'nothing'}{hint}"
