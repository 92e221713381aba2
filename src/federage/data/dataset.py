"""A dataset: examples for training and test, before anybody said which client owns which.

Everything is NumPy here; `federage.data.partition` turns a `Dataset` into the `Clients` that the engine trains on.
A `Dataset` is checked when it is made, so no partition has to look twice.
"""

from __future__ import annotations

import dataclasses
import os
from pathlib import Path
from typing import Literal, NamedTuple, Self

import jax.numpy as jnp
import numpy as np
from numpy.typing import ArrayLike

from federage.core.types import Affine
from federage.data import tables
from federage.errors import DamagedFile, DataError, RecordError

Classes = int | Literal["infer"] | None


class Examples(NamedTuple):
    """Inputs and labels, row by row."""

    x: np.ndarray  # [rows, ...], any numeric dtype
    y: np.ndarray  # [rows] integers 0..classes-1, or [rows, ...] numbers to regress on


class Groups(NamedTuple):
    """Where each example naturally comes from (a writer, a hospital, a user): any ids that can be sorted."""

    train: np.ndarray
    test: np.ndarray | None = None


@dataclasses.dataclass(frozen=True, eq=False)
class Dataset:
    """Examples, how many classes they have (None: a regression), and how stored inputs become a model's inputs."""

    name: str
    train: Examples
    test: Examples | None = None
    classes: int | None = None
    inputs: Affine = dataclasses.field(default_factory=Affine)
    groups: Groups | None = None

    def __post_init__(self) -> None:
        _check_examples(self.train, self.classes, f"{self.name}: the training examples")
        if self.test is not None:
            _check_examples(self.test, self.classes, f"{self.name}: the test examples")
            if self.test.x.shape[1:] != self.train.x.shape[1:] or self.test.y.shape[1:] != self.train.y.shape[1:]:
                raise DataError(
                    f"{self.name}: test examples must look like training examples, {_looks(self.train)}, "
                    f"but they are {_looks(self.test)}; shape both alike"
                )
        if self.groups is not None:
            _check_groups(self.groups.train, self.train, f"{self.name}: the training examples")
            if self.groups.test is not None:
                _check_groups(self.groups.test, self.test, f"{self.name}: the test examples")
        _check_inputs(self.inputs, self.train.x.shape[1:], self.name)

    @classmethod
    def from_arrays(
        cls,
        x: ArrayLike,
        y: ArrayLike,
        test: tuple[ArrayLike, ArrayLike] | None = None,
        groups: ArrayLike | None = None,
        test_groups: ArrayLike | None = None,
        *,
        classes: Classes = "infer",
        inputs: Affine | None = None,
        name: str = "arrays",
    ) -> Self:
        """A dataset of any arrays.

        Args:
          x: inputs, one row an example. Small dtypes (uint8 images) are kept; float64 becomes float32 and int64
            becomes int32, which is what JAX would make of them.
          y: labels 0..classes-1, or the numbers to regress on.
          test: (x, y) of the test examples, if there are any.
          groups: the natural group of each training example, for `partition.by_group`.
          test_groups: the same for the test examples.
          classes: how many; None for a regression; "infer": integer labels are classes, as many as the largest label
            says, and other numbers are a regression.
          inputs: how stored inputs become a model's inputs; the identity unless given.
          name: what tables and messages call it.

        >>> Dataset.from_arrays([[0.0], [1.0], [2.0]], [0, 1, 1]).classes
        2
        """
        train = Examples(_inputs(x, name), np.asarray(y))
        held = None if test is None else Examples(_inputs(test[0], name), np.asarray(test[1]))
        count = _classes(classes, [part.y for part in (train, held) if part is not None])
        if groups is None and test_groups is not None:
            raise DataError(f"{name}: test_groups came without groups; give the groups of the training examples too")
        return cls(
            name=name,
            train=Examples(train.x, _labels(train.y, count, name)),
            test=None if held is None else Examples(held.x, _labels(held.y, count, name)),
            classes=count,
            inputs=Affine() if inputs is None else inputs,
            groups=None
            if groups is None
            else Groups(np.asarray(groups), None if test_groups is None else np.asarray(test_groups)),
        )

    @classmethod
    def from_csv(
        cls,
        path: str | os.PathLike[str],
        label: str,
        test: str | os.PathLike[str] | None = None,
        *,
        group: str | None = None,
        classes: Classes = "infer",
        inputs: Affine | None = None,
        name: str | None = None,
    ) -> Self:
        """A dataset of a comma-separated file whose first line names the columns.

        `label` is the column of the labels and `group` that of the natural groups; both may be words, and labels that
        are words are classes in their alphabetical order. Every other column is an input and must hold numbers. `test`
        is a second file with the same columns.
        """
        train = tables.read_csv(Path(path), label, group)
        held = None if test is None else tables.read_csv(Path(test), label, group)
        if held is not None and held.columns != train.columns:
            raise DamagedFile(f"{test}: expected the columns of {path}, {train.columns}, but it has {held.columns}")
        names = np.unique(train.y) if train.y.dtype.kind == "U" else None
        return cls.from_arrays(
            train.x,
            _numbered(train.y, names, str(path)),
            None if held is None else (held.x, _numbered(held.y, names, str(test))),
            train.groups,
            None if held is None else held.groups,
            classes=classes,
            inputs=inputs,
            name=name or Path(path).stem,
        )

    @classmethod
    def from_npz(
        cls,
        path: str | os.PathLike[str],
        *,
        classes: Classes = "infer",
        inputs: Affine | None = None,
        name: str | None = None,
    ) -> Self:
        """A dataset of an .npz file with the arrays x and y, and as wanted x_test, y_test, groups, groups_test.

        Arrays of Python objects are refused: reading them would run whatever code the file brings.
        """
        arrays = tables.read_npz(Path(path))
        expected = {"x", "y"} | ({"x_test", "y_test"} if arrays.keys() & {"x_test", "y_test"} else set())
        if missing := sorted(expected - arrays.keys()):
            raise DamagedFile(f"{path}: expected the arrays {sorted(expected)}, but {missing} are not in it")
        return cls.from_arrays(
            arrays["x"],
            arrays["y"],
            (arrays["x_test"], arrays["y_test"]) if "x_test" in arrays else None,
            arrays.get("groups"),
            arrays.get("groups_test"),
            classes=classes,
            inputs=inputs,
            name=name or Path(path).stem,
        )

    def with_held_out_test(self, fraction: float, seed: int = 0) -> Self:
        """The same dataset with some of its training examples kept for test.

        Of each natural group, or else of each class, round(fraction * n) examples, though at least one if there are
        two, drawn at random.

        >>> data = Dataset.from_arrays([[0.0], [1.0], [2.0], [3.0]], [0, 0, 1, 1]).with_held_out_test(0.5)
        >>> data.train.y.tolist(), data.test.y.tolist()
        ([0, 1], [0, 1])
        """
        if not 0 < fraction < 1:
            raise RecordError(f"hold_out={fraction} is not a fraction in (0, 1) of the examples")
        strata = self.groups.train if self.groups else self.train.y if self.classes else np.zeros(len(self.train.y))
        rng, held = np.random.default_rng(seed), np.zeros(len(strata), bool)
        for stratum in np.unique(strata):
            rows = np.flatnonzero(strata == stratum)
            count = min(max(1, round(fraction * len(rows))), len(rows) - 1)
            held[rng.permutation(rows)[:count]] = True
        groups = None if self.groups is None else Groups(self.groups.train[~held], self.groups.train[held])
        train, test = (Examples(self.train.x[rows], self.train.y[rows]) for rows in (~held, held))
        return dataclasses.replace(self, train=train, test=test, groups=groups)

    def standardised(self) -> Self:
        """The same dataset, whose inputs have mean 0 and variance 1 over the training examples; constants become 0."""
        mean, std = (f(self.train.x, axis=0, dtype=np.float64) for f in (np.mean, np.std))
        scale = np.where(std > 0, 1 / np.where(std > 0, std, 1), 1)
        inputs = Affine(jnp.asarray(scale, jnp.float32), jnp.asarray(-mean * scale, jnp.float32))
        return dataclasses.replace(self, inputs=inputs)


def _numbered(y: np.ndarray, names: np.ndarray | None, path: str) -> np.ndarray:
    """Labels that are words, as the places of the words among the names of the classes."""
    if names is None:
        if y.dtype.kind == "U":
            raise DamagedFile(f"{path}: expected numbers as labels, as among the training examples, but {y[0]!r} came")
        return y
    if strangers := sorted(set(y.tolist()) - set(names.tolist())):
        raise DamagedFile(f"{path}: expected labels among {', '.join(names)}, but {strangers[0]!r} came")
    return np.searchsorted(names, y)


def _inputs(x: ArrayLike, name: str) -> np.ndarray:
    """The inputs in a dtype that JAX keeps as it is."""
    array = np.asarray(x)
    if array.dtype.kind not in "biuf":
        raise DataError(f"{name}: inputs must be numbers, but their dtype is {array.dtype}; encode them first")
    if array.dtype.itemsize <= 4:
        return array
    if array.dtype.kind == "f":
        with np.errstate(over="ignore"):  # what float32 cannot hold becomes inf, and the check of the dataset sees it
            return array.astype(np.float32)
    if array.size and (array.min() < np.iinfo(np.int32).min or array.max() > np.iinfo(np.int32).max):
        raise DataError(f"{name}: integer inputs must fit 32 bits, but reach {array.max()}; scale them, or pass floats")
    return array.astype(np.int32)


def _classes(classes: Classes, labels: list[np.ndarray]) -> int | None:
    if classes != "infer":
        if classes is not None and classes < 1:
            raise RecordError(f"classes={classes} must be at least 1; pass None for a regression")
        return classes
    if any(part.dtype.kind not in "iub" for part in labels):
        return None
    return max((int(part.max()) for part in labels if part.size), default=0) + 1


def _labels(y: np.ndarray, classes: int | None, name: str) -> np.ndarray:
    """Class labels as integers (whole floats are accepted: spreadsheets write them), others as float32."""
    if y.dtype.kind not in "biuf":
        raise DataError(f"{name}: labels must be numbers, but their dtype is {y.dtype}; number the classes from 0")
    if classes is None:
        with np.errstate(over="ignore"):
            return y.astype(np.float32)
    if y.dtype.kind == "f" and not np.array_equal(y, np.trunc(y)):
        raise DataError(f"{name}: labels of {classes} classes must be whole numbers; pass classes=None to regress")
    return y.astype(np.int64)


def _check_examples(examples: Examples, classes: int | None, what: str) -> None:
    x, y = examples
    if x.ndim < 1 or y.ndim < 1 or len(x) != len(y):
        raise DataError(f"{what}: expected as many labels as inputs, but x is {x.shape} and y is {y.shape}")
    if len(x) == 0:
        raise DataError(f"{what}: expected at least one, but there is none")
    if x.dtype.kind == "f" and not np.isfinite(x).all():
        bad = int(np.flatnonzero(~np.isfinite(x).reshape(len(x), -1).all(1))[0])
        raise DataError(f"{what}: inputs must be finite in float32, but row {bad} is not; clean or rescale it")
    if classes is None:
        if y.dtype.kind == "f" and not np.isfinite(y).all():
            raise DataError(f"{what}: labels must be finite, but {y[~np.isfinite(y)].flat[0]} is among them")
        return
    if y.ndim != 1 or y.dtype.kind not in "iu":
        raise DataError(f"{what}: labels of classes must be one integer a row, but y is {y.dtype} {y.shape}")
    if y.min() < 0 or y.max() >= classes:
        hint = "; for labels -1 and +1 pass (y + 1) // 2" if y.min() == -1 else "; number the classes from 0"
        raise DataError(f"{what}: labels must lie in 0..{classes - 1}, but span {y.min()}..{y.max()}{hint}")


def _check_groups(groups: np.ndarray, examples: Examples | None, what: str) -> None:
    rows = 0 if examples is None else len(examples.y)
    if groups.shape != (rows,):
        raise DataError(f"{what}: expected one group id each, {rows} in all, but the groups are {groups.shape}")


def _check_inputs(inputs: Affine, shape: tuple[int, ...], name: str) -> None:
    for part, value in zip(inputs._fields, inputs, strict=True):
        try:
            fits = np.broadcast_shapes(np.shape(value), shape) == shape
        except ValueError:
            fits = False
        if not fits or not np.isfinite(np.asarray(value)).all():
            raise DataError(
                f"{name}: the {part} of the inputs must be finite and broadcast to an example of shape {shape}, "
                f"but it is {value!r}"
            )


def _looks(examples: Examples) -> str:
    return f"x {examples.x.shape[1:]} and y {examples.y.shape[1:]}"
