"""Datasets, and who owns which part of them.

`load` gives a `Dataset` by name, `Dataset.from_arrays` one of your own, `partition` makes `Clients` of either, and
`synthetic` makes `Clients` whose best model is known. `get` downloads what `load` reads, `check` looks at what is
there.

>>> from federage.data import load, partition
>>> clients = partition.by_class(load("digits"), clients=10, classes_per_client=2)
>>> len(clients)
10
"""

from __future__ import annotations

import functools
from collections.abc import Callable

from federage.core.types import Affine
from federage.data import files, hub, partition, synthetic
from federage.data.dataset import Dataset, Examples, Groups
from federage.data.digits import digits
from federage.data.download import get
from federage.data.files import FileState, Folder, check, home
from federage.data.specs import SPECS, Spec, unknown

__all__ = [
    "DATASETS",
    "SPECS",
    "Affine",
    "Dataset",
    "Examples",
    "FileState",
    "Groups",
    "Spec",
    "check",
    "get",
    "home",
    "hub",
    "load",
    "partition",
    "synthetic",
]

DATASETS: dict[str, Callable[[Folder], Dataset]] = {
    "digits": lambda folder: digits(),
    **{name: functools.partial(files.read, spec) for name, spec in SPECS.items()},
}
"""How each dataset is loaded, by name; an entry of your own makes `load`, and whatever goes by names, know it."""


def load(name: str, folder: Folder = None) -> Dataset:
    """A dataset by name: "digits" is inside the package, the others are read from files and their digests checked.

    The folder is the one given, else the environment variable FEDERAGE_DATA, else ~/.cache/federage.

    >>> load("digits").train.x.shape
    (1442, 8, 8, 1)
    """
    if name not in DATASETS:
        raise unknown(name, DATASETS)
    return DATASETS[name](folder)
