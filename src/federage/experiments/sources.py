"""Where an experiment's data come from, by name: datasets of the library, a user's own files, a made federation."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable

import numpy as np

from federage.core.types import Clients
from federage.data import DATASETS, Dataset, load, synthetic
from federage.data.hub import read as read_hub
from federage.errors import DataError


def csv(
    path: str | os.PathLike[str],
    label: str,
    *,
    test: str | os.PathLike[str] | None = None,
    group: str | None = None,
    classes: int | None = None,
    regression: bool = False,
    hold_out: float = 0.2,
    standardise: bool = True,
    name: str | None = None,
) -> Dataset:
    """A comma-separated file whose first line names the columns: `label`, as wanted `group`, and inputs.

    Without a `test` file, `hold_out` of the rows are kept for test, evenly over groups or classes. Inputs are scaled to
    mean 0 and variance 1 by the training rows, unless `standardise` is false.
    """
    known = None if regression else "infer" if classes is None else classes
    return _ready(
        Dataset.from_csv(path, label, test, group=group, classes=known, name=name), hold_out, standardise, str(path)
    )


def npz(
    path: str | os.PathLike[str],
    *,
    classes: int | None = None,
    regression: bool = False,
    hold_out: float = 0.2,
    standardise: bool = True,
    name: str | None = None,
) -> Dataset:
    """An .npz file with the arrays x and y, and as wanted x_test, y_test, groups, groups_test; otherwise as `csv`."""
    known = None if regression else "infer" if classes is None else classes
    return _ready(Dataset.from_npz(path, classes=known, name=name), hold_out, standardise, str(path))


def hf(
    hub: str | None = None,
    path: str | os.PathLike[str] | None = None,
    *,
    split: str = "train",
    test_split: str | None = None,
    inputs: list[str] | None = None,
    label: str = "label",
    group: str | None = None,
    config: str | None = None,
    hold_out: float = 0.2,
    name: str | None = None,
) -> Dataset:
    """A dataset by its name on the Hugging Face Hub (`hub`), or by the path of a folder or file on this machine."""
    if (hub is None) == (path is None):
        raise DataError("give one of hub, such as 'ylecun/mnist', and path, a folder of this machine")
    place = str(hub if path is None else path)
    data = read_hub(
        place, split=split, test_split=test_split, inputs=inputs, label=label, group=group, name=name, config=config
    )
    return _ready(data, hold_out, data.train.x.dtype != np.uint8, place)


def _ready(data: Dataset, hold_out: float, standardise: bool, path: str) -> Dataset:
    if data.test is None:
        if hold_out == 0:
            raise DataError(f"{path}: expected test examples, but there are none; give test, or hold_out = 0.2")
        data = data.with_held_out_test(hold_out)
    return data.standardised() if standardise else data


SOURCES: dict[str, Callable[..., Dataset | Clients]] = {
    **{name: functools.partial(load, name) for name in DATASETS},
    "csv": csv,
    "npz": npz,
    "hf": hf,
    "motivating_example": synthetic.motivating_example,
}
"""By name. What gives `Clients` rather than a `Dataset` needs no partition."""
