"""Records: frozen, checked when made, and pytrees.

The same record is the Python value, later the table in a file and the flags of a command, and, being a pytree, a
sweep axis: its numbers are leaves, so records of one kind can be stacked and `vmap`ped over.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any, TypeVar, dataclass_transform

import jax
import numpy as np

from federage.errors import RecordError

T = TypeVar("T")


def static(default: Any = dataclasses.MISSING, **options: Any) -> Any:
    """A field that is part of the program, not of its data: it cannot be swept."""
    return dataclasses.field(default=default, metadata={"static": True}, **options)


@dataclass_transform(frozen_default=True, field_specifiers=(dataclasses.field, static))
def record(cls: type[T]) -> type[T]:
    """Make a class a frozen dataclass and a pytree; fields declared with `static()` belong to its structure."""
    return jax.tree_util.register_dataclass(dataclasses.dataclass(frozen=True)(cls))


def number(value: Any) -> bool:
    """Whether a field holds a plain number, and not a stack of them or a tracer inside a program."""
    return isinstance(value, (int, float, np.integer, np.floating)) and not isinstance(value, bool)


def require(name: str, value: Any, holds: Callable[[float], bool], domain: str, remedy: str = "") -> None:
    """Refuse a plain number outside its domain; arrays and tracers pass (they were checked as numbers)."""
    if isinstance(value, (str, bool)) or value is None:
        raise RecordError(f"{name}={value!r} is not a number; pass {domain}")
    if number(value) and not holds(float(value)):
        raise RecordError(f"{name}={value} is not {domain}" + (f"; {remedy}" if remedy else ""))


def positive(name: str, value: Any) -> None:
    require(name, value, lambda v: 0 < v < float("inf"), "a positive, finite number")


def non_negative(name: str, value: Any) -> None:
    require(name, value, lambda v: 0 <= v < float("inf"), "a finite number of at least 0")


def tail_mass(name: str, value: Any) -> None:
    require(
        name, value, lambda v: 0 < v <= 1, "a tail mass in (0, 1]", "for a confidence level c pass alpha = 1 - c"
    )


def fraction(name: str, value: Any) -> None:
    require(name, value, lambda v: 0 <= v <= 1, "a weight in [0, 1]")
