"""Records: frozen, checked when made, and pytrees.

The same record is the Python value, later the table in a file and the flags of a command, and, being a pytree, a
sweep axis: its numbers are leaves, so records of one kind can be stacked and `vmap`ped over.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable
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
    return pytree(dataclasses.dataclass(frozen=True)(cls))


def pytree(cls: type[T]) -> type[T]:
    """Register a dataclass as a pytree that is rebuilt field by field.

    Not `jax.tree_util.register_dataclass`: that rebuilds a record by calling its constructor, which takes what a person
    writes down, checks it and may build tables of it, and which JAX would call with tracers and placeholders.
    """
    fields = dataclasses.fields(cls)  # pyright: ignore[reportArgumentType]
    sizes = [field.name for field in fields if field.metadata.get("static")]
    leaves = [field.name for field in fields if not field.metadata.get("static")]

    def flatten_with_keys(value: T) -> tuple[list[tuple[Any, Any]], tuple[Any, ...]]:
        children = [(jax.tree_util.GetAttrKey(name), getattr(value, name)) for name in leaves]
        return children, tuple(getattr(value, name) for name in sizes)

    def flatten(value: T) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
        return tuple(getattr(value, name) for name in leaves), tuple(getattr(value, name) for name in sizes)

    def unflatten(metadata: tuple[Any, ...], children: Iterable[Any]) -> T:
        value = object.__new__(cls)
        fill(value, **dict(zip(sizes, metadata, strict=True)), **dict(zip(leaves, children, strict=True)))
        return value

    jax.tree_util.register_pytree_with_keys(cls, flatten_with_keys, unflatten, flatten)
    return cls


def fill(value: Any, **fields: Any) -> None:
    """Fill in the fields of a frozen record, once, from its constructor."""
    for name, field in fields.items():
        object.__setattr__(value, name, field)


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
    require(name, value, lambda v: 0 < v <= 1, "a tail mass in (0, 1]", "for a confidence level c pass alpha = 1 - c")


def count(name: str, value: Any) -> None:
    require(name, value, lambda v: 1 <= v < float("inf") and v == int(v), "a whole number of at least 1")


def fraction(name: str, value: Any) -> None:
    require(name, value, lambda v: 0 <= v <= 1, "a weight in [0, 1]")
