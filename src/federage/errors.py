"""What can go wrong, as a small tree.

    FederageError
    ├── RecordError          a value of a record lies outside its domain
    ├── DataError            data that no federation can be made of
    │   ├── MissingData      a dataset is not where it was looked for
    │   └── DamagedFile      a file is truncated, altered or not what its name says
    ├── DownloadError        a mirror did not deliver
    ├── CheckpointError      a run's folder cannot be continued from
    │   └── CheckpointMismatch   it belongs to another experiment
    └── KnowledgeError       a method reads what it has not declared

Every message says what was expected, what came, and what to do, in one sentence.
"""


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


class CheckpointError(FederageError):
    """A run's folder cannot be continued from."""


class CheckpointMismatch(CheckpointError):
    """The checkpoint belongs to another experiment."""


class KnowledgeError(FederageError, AttributeError):
    """A method reads what it has not declared (`reads`)."""
