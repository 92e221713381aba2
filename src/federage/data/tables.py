"""A user's own files, .csv and .npz: read into arrays, with the place of every fault named."""

from __future__ import annotations

import csv
import zipfile
from pathlib import Path
from typing import NamedTuple

import numpy as np

from federage.errors import DamagedFile, MissingData


class Table(NamedTuple):
    """A .csv file: the names of its columns, the inputs, the labels (numbers or words), the natural groups if any."""

    columns: list[str]
    x: np.ndarray
    y: np.ndarray
    groups: np.ndarray | None


def read_csv(path: Path, label: str, group: str | None) -> Table:
    """A .csv file whose first line names the columns; all columns but `label` and `group` are inputs."""
    try:
        with path.open(newline="", encoding="utf-8-sig") as file:
            head, *rows = [row for row in csv.reader(file) if row] or [[]]
    except FileNotFoundError:
        raise MissingData(f"{path}: no such file; name a .csv file whose first line names the columns") from None
    except (UnicodeDecodeError, csv.Error) as error:
        raise DamagedFile(f"{path}: expected comma-separated text in UTF-8, but: {error}") from error
    columns = [column.strip() for column in head]
    for wanted in (label, group):
        if wanted is not None and columns.count(wanted) != 1:
            raise DamagedFile(f"{path}: expected one column {wanted!r}, but the columns are {columns}")
    if not rows:
        raise DamagedFile(f"{path}: expected at least one example below the names of the columns, but there is none")
    for number, row in enumerate(rows, 1):
        if len(row) != len(columns):
            raise DamagedFile(f"{path}, example {number}: expected {len(columns)} values, but got {len(row)}")
    texts = [[text.strip() for text in column] for column in zip(*rows, strict=True)]
    inputs = [
        _numbers(column, f"{path}, column {name!r}")
        for name, column in zip(columns, texts, strict=True)
        if name not in (label, group)
    ]
    if not inputs:
        raise DamagedFile(f"{path}: expected at least one column of inputs beside {label!r}, but there is none")
    y = _labels(texts[columns.index(label)], f"{path}, column {label!r}")
    groups = None if group is None else np.array(texts[columns.index(group)])
    return Table(columns, np.stack(inputs, 1), y, groups)


def read_npz(path: Path) -> dict[str, np.ndarray]:
    """All arrays of an .npz file; arrays of Python objects are refused, for reading them would run the file's code."""
    try:
        with np.load(path, allow_pickle=False) as arrays:
            return {key: arrays[key] for key in arrays.files}
    except FileNotFoundError:
        raise MissingData(f"{path}: no such file; name an .npz file with the arrays x and y") from None
    except (ValueError, EOFError, OSError, AttributeError, zipfile.BadZipFile) as error:
        raise DamagedFile(f"{path}: expected an .npz file of plain arrays, but: {error}") from error


def _labels(texts: list[str], what: str) -> np.ndarray:
    """Words where none is a number; else numbers, and integers where all are written so: 3 is a class, 3.0 a number."""
    if not any(_is_number(text) for text in texts):
        return np.array(texts)
    y = _numbers(texts, what)
    return y.astype(np.int64) if all(text.removeprefix("-").isdecimal() for text in texts) else y


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _numbers(texts: list[str], what: str) -> np.ndarray:
    try:
        return np.array([float(text) for text in texts])
    except ValueError as error:
        raise DamagedFile(f"{what}: expected numbers, but: {error}; encode words as numbers first") from None
