"""Datasets of the Hugging Face Hub, and any folder that its library `datasets` reads (the extra `hf`).

Only data are read: the library runs no code that a dataset brings.
"""

from __future__ import annotations

import contextlib
import math
import os
import re
import textwrap
from collections.abc import Generator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from federage.core.types import Affine
from federage.data.dataset import Dataset
from federage.data.specs import standardised
from federage.errors import DamagedFile, DataError, MissingData, RecordError
from federage.extras import extra

NUMBER = re.compile(r"bool|u?int\d+|float\d+")
EIGHT_BIT = {"L": "L", "LA": "LA", "RGB": "RGB", "RGBA": "RGBA", "CMYK": "CMYK", "1": "L", "P": "RGB", "PA": "RGBA"}
"""What Pillow calls the images whose channels are bytes, or can be made so without loss."""


class Split(NamedTuple):
    """Some examples of a dataset, and what messages call them."""

    rows: Any  # a datasets.Dataset
    what: str


def read(
    path: str | os.PathLike[str],
    *,
    split: str = "train",
    test_split: str | None = None,
    inputs: Sequence[str] | None = None,
    label: str = "label",
    group: str | None = None,
    name: str | None = None,
    config: str | None = None,
) -> Dataset:
    """A dataset by its name on the Hugging Face Hub, or from a folder or file of this machine.

    Images stay unsigned bytes, and a model's inputs are (pixel / 255 - mean) / std with the mean and standard deviation
    of each channel over the training images. Numbers and lists of numbers become float32 and reach the model as they
    are; several columns are laid side by side.

    Args:
      path: "ylecun/mnist", say; or a folder of .parquet, .csv, .json or image files, or one such file; or what
        `datasets.Dataset.save_to_disk` has written.
      split: the training examples, by the library's rules: "train", "train[:80%]", "train+validation".
      test_split: the test examples likewise. Unless given, "test" where there is such a split; "" for none.
      inputs: the columns of the inputs: one of images, or any of numbers. All but `label` and `group` unless given.
      label: the column of the labels. Named classes (`ClassLabel`) say how many there are; integers are classes, as
        many as the largest says; other numbers are a regression.
      group: the column of the natural groups, for `partition.by_group`; ids may be words.
      name: what tables and messages call it; the last part of the path unless given.
      config: which of the dataset's configurations, if it has several.
    """
    hf = _library()
    place = str(path)
    splits = _load(hf, place, config)
    train = _choose(hf, splits, split, place, "split")
    wanted = ("test" if "test" in splits else "") if test_split is None else test_split
    held = _choose(hf, splits, wanted, place, "test_split") if wanted else None
    columns = _inputs(train, inputs, label, group)
    kinds = {column: train.rows.features[column] for column in (*columns, label, *([group] if group else []))}
    if held is not None and (odd := [c for c, kind in kinds.items() if held.rows.features.get(c) != kind]):
        raise DamagedFile(
            f"{held.what}: expected the columns of {train.what}, but {odd[0]!r} is {held.rows.features.get(odd[0])} "
            f"and not {kinds[odd[0]]}; give both splits the same columns"
        )
    x = _values(hf, train, columns)
    return Dataset.from_arrays(
        x,
        _labels(hf, train, label),
        None if held is None else (_values(hf, held, columns), _labels(hf, held, label)),
        None if group is None else _ids(hf, train, group),
        None if group is None or held is None else _ids(hf, held, group),
        classes=kinds[label].num_classes if isinstance(kinds[label], hf.ClassLabel) else "infer",
        inputs=_standardised(x) if isinstance(kinds[columns[0]], hf.Image) else None,
        name=name or _name(Path(place).expanduser()),
    )


def _name(path: Path) -> str:
    return path.stem if path.is_file() else path.resolve().name


def _library() -> Any:
    with extra("hf", "a Hugging Face dataset"):
        import datasets
    return datasets


@contextlib.contextmanager
def _reading(what: str, expected: str) -> Generator[None]:
    """In one sentence whatever the library trips over: it reads dozens of formats, each with errors of its own."""
    try:
        yield
    except Exception as error:
        why = textwrap.shorten(f"{type(error.__cause__ or error).__name__}: {error.__cause__ or error}", 300)
        absent = isinstance(error, FileNotFoundError | ConnectionError)
        raise (MissingData if absent else DamagedFile)(f"{what}: expected {expected}, but: {why}") from error


def _load(hf: Any, place: str, config: str | None) -> dict[str, Any]:
    """All splits by name; without names, they are one: "train"."""
    local = Path(place).expanduser()
    saved = any((local / mark).is_file() for mark in ("state.json", "dataset_dict.json"))
    if config is not None and saved:
        raise RecordError(f"config={config!r} does not fit {place}: what save_to_disk writes has none; leave it out")
    with _reading(place, "a folder of data, or the name of a dataset on the Hugging Face Hub"):
        if saved:
            found = hf.load_from_disk(str(local))
            return dict(found) if isinstance(found, dict) else {str(found.split or "train"): found}
        if local.is_file():
            return dict(hf.load_dataset(str(local.parent), config, data_files=local.name))
        return dict(hf.load_dataset(str(local) if local.is_dir() else place, config))


def _choose(hf: Any, splits: dict[str, Any], wanted: str, place: str, key: str) -> Split:
    sizes = {name: len(rows) for name, rows in splits.items()}
    try:
        parts = hf.ReadInstruction.from_spec(wanted).to_absolute(sizes)
    except (ValueError, AssertionError) as error:
        raise DataError(
            f"{place}: expected {key}={wanted!r} to name some of its splits, {', '.join(sizes)}, but: {error}; "
            "name another"
        ) from None
    rows = hf.concatenate_datasets([splits[part.splitname].select(range(part.from_, part.to)) for part in parts])
    if not len(rows):
        raise DataError(f"{place}, split {wanted!r}: expected at least one example, but there is none; name another")
    return Split(rows, f"{place}, split {wanted!r}")


def _inputs(split: Split, inputs: Sequence[str] | None, label: str, group: str | None) -> list[str]:
    """The columns of the inputs; every column that is named must be there."""
    known = split.rows.column_names
    given = [inputs] if isinstance(inputs, str) else inputs
    for key, column in (("label", label), ("group", group), *(("inputs", column) for column in given or ())):
        if column is not None and column not in known:
            raise DamagedFile(
                f"{split.what}: expected a column {column!r}, but the columns are {known}; name another with {key}"
            )
    columns = [column for column in known if column not in (label, group)] if given is None else list(given)
    if not columns or label in columns:
        raise DataError(
            f"{split.what}: expected inputs beside the label {label!r}, but they are {columns}; name others"
        )
    return columns


def _values(hf: Any, split: Split, columns: list[str]) -> np.ndarray:
    """The inputs: one column of images, or numbers side by side."""
    kinds = [split.rows.features[column] for column in columns]
    if len(columns) == 1 and isinstance(kinds[0], hf.Image):
        return _images(hf, split, columns[0])
    for column, kind in zip(columns, kinds, strict=True):
        if not _numeric(hf, kind):
            raise DataError(
                f"{split.what}: expected inputs of numbers, or one column of images, but the columns are {columns} and "
                f"{column!r} is {kind}; name those to use with inputs"
            )
    parts = [_floats(_numbers(split, column)) for column in columns]
    if len(parts) == 1 and parts[0].ndim > 1:
        return parts[0]
    return np.hstack([part.reshape(len(part), -1) for part in parts])


def _numeric(hf: Any, kind: Any) -> bool:
    """Whether a column holds numbers, or lists of them however deep."""
    if isinstance(kind, hf.List | hf.LargeList):
        return _numeric(hf, kind.feature)
    plain = isinstance(kind, hf.Value | hf.Array2D | hf.Array3D | hf.Array4D | hf.Array5D)
    return plain and NUMBER.fullmatch(kind.dtype) is not None


def _floats(values: np.ndarray) -> np.ndarray:
    return values if values.dtype.kind == "f" else values.astype(np.float32)


def _stored(split: Split, column: str) -> Any:
    """A column as one Arrow array without gaps."""
    what = f"{split.what}, column {column!r}"
    with _reading(what, "readable values"):
        array = split.rows.select_columns([column]).with_format("arrow")[:].column(column).combine_chunks()
    array = getattr(array, "storage", array)  # what an extension type, such as Array2D, is stored as
    _check_full(array, what)
    return array


def _check_full(array: Any, what: str, of: int = 1) -> None:
    """No nulls, in an array with `of` entries an example."""
    if array.null_count:
        row = int(np.flatnonzero(array.is_null())[0]) // of
        raise DataError(f"{what}: expected a value for every example, but in row {row} one is missing; fill or drop it")


def _numbers(split: Split, column: str) -> np.ndarray:
    """Numbers, or lists of numbers that are equally long for all examples: [rows, ...]."""
    what = f"{split.what}, column {column!r}"
    array, shape = _stored(split, column), [len(split.rows)]
    while hasattr(array, "value_lengths"):
        lengths = sorted(array.value_lengths().unique().to_pylist())
        if len(lengths) != 1 or lengths == [0]:
            raise DataError(f"{what}: expected lists of one length, but they are {lengths} long; pad or cut them first")
        array = array.flatten()
        shape += lengths
        _check_full(array, what, math.prod(shape[1:]))
    return array.to_numpy(zero_copy_only=False).reshape(shape)


def _labels(hf: Any, split: Split, label: str) -> np.ndarray:
    kind = split.rows.features[label]
    if isinstance(kind, hf.ClassLabel):
        y = _numbers(split, label)
        if y.min() < 0:  # how the library writes that a label is withheld
            raise DataError(f"{split.what}: expected a label for every example, but some have none; name another split")
        return y
    if not _numeric(hf, kind):
        raise DataError(f"{split.what}: expected labels of numbers, but {label!r} is {kind}; encode them first")
    return _numbers(split, label)


def _ids(hf: Any, split: Split, group: str) -> np.ndarray:
    kind = split.rows.features[group]
    if not isinstance(kind, hf.Value | hf.ClassLabel):
        raise DataError(f"{split.what}: expected group ids of words or numbers, but {group!r} is {kind}; name another")
    return np.array(_stored(split, group).to_pylist())


def _images(hf: Any, split: Split, column: str) -> np.ndarray:
    """Images of one shape: [rows, height, width, channels] unsigned bytes."""
    what = f"{split.what}, column {column!r}"
    images = np.zeros((0, 0, 0, 0), np.uint8)
    with _reading(what, "readable images"):
        pictures = iter(split.rows.cast_column(column, hf.Image(mode=split.rows.features[column].mode))[column])
    for row in range(len(split.rows)):
        with _reading(f"{what}, row {row}", "a readable image"):
            picture = next(pictures)
        if picture is None or picture.mode not in EIGHT_BIT:
            came = "there is none" if picture is None else f"its mode is {picture.mode}"
            raise DataError(f"{what}, row {row}: expected an image of 8 bits a channel, but {came}; convert it first")
        pixels = np.asarray(picture.convert(EIGHT_BIT[picture.mode]))
        pixels = pixels.reshape(*pixels.shape[:2], -1)  # grey images have a channel too
        if row == 0:
            images = np.zeros((len(split.rows), *pixels.shape), np.uint8)
        if pixels.shape != images.shape[1:]:
            raise DataError(
                f"{what}, row {row}: expected images of one shape, {images.shape[1:]} as in row 0, but this one is "
                f"{pixels.shape}; resize or convert them first"
            )
        images[row] = pixels
    return images


def _standardised(images: np.ndarray) -> Affine:
    """The map (pixel / 255 - mean) / std, channel by channel, from how often each byte occurs."""
    channels = images.shape[-1]
    counts = np.zeros((channels, 256), np.int64)
    for image in images:
        counts += [np.bincount(image[..., channel].ravel(), minlength=256) for channel in range(channels)]
    shares, shades = counts / counts.sum(1, keepdims=True), np.arange(256) / 255
    mean = shares @ shades
    std = np.sqrt((shares * (shades - mean[:, None]) ** 2).sum(1))
    return standardised(tuple(mean), tuple(np.where(std > 0, std, 1.0)))  # a constant channel is only centred
