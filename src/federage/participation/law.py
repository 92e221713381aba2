"""What a participation law is, and how its record becomes a pytree.

A law R(S) says how likely exactly the clients S are to get through in one round. The server and the clients do not
know it; the engine draws from it, and the analysis asks for two numbers a client:

    pi_i = P(i in S)                               the inclusion probability
    p_i  = sum_S R(S) 1{i in S} / |S|              the weight that plain averaging really gives client i

Always R(empty) = 0, so sum p_i = 1. With a fixed size M, p_i = pi_i / M.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from typing import Any, Protocol, TypeVar, dataclass_transform, runtime_checkable

import jax
from jaxtyping import Array

from federage.core.types import Cohort, Marginals, PyTree

T = TypeVar("T")


@runtime_checkable
class Law(Protocol):
    """A participation law: any pytree with these members (`check_law` says whether they keep their word).

    Sizes are static, so that a law can be an argument of a compiled program; arrays are leaves.
    """

    @property
    def clients(self) -> int:
        """N."""
        ...

    @property
    def capacity(self) -> int:
        """The most arrivals one round can have."""
        ...

    @property
    def typical(self) -> int:
        """About how many arrive: M for a fixed size, E|S| rounded otherwise."""
        ...

    def init(self, key: Array) -> PyTree:
        """What the law remembers before the first round; () when rounds are independent."""
        ...

    def draw(self, state: PyTree, key: Array, round: Array | int) -> tuple[PyTree, Cohort]:
        """The arrivals of one round, never none; `key` is already addressed by (seed, round)."""
        ...

    def inclusion(self) -> Marginals:
        """pi_i = P(i in S), on the host."""
        ...

    def weights(self) -> Marginals:
        """p_i = sum_S R(S) 1{i in S} / |S|, on the host; sums to 1."""
        ...


def static() -> Any:
    """A field that shapes the compiled program: a size or a name. All others are leaves: arrays, or trees of them."""
    return dataclasses.field(metadata={"static": True})


def assemble(law: Any, **fields: Any) -> None:
    """Fill in the fields of a frozen record, once, from its constructor."""
    for name, value in fields.items():
        object.__setattr__(law, name, value)


@dataclass_transform(frozen_default=True, eq_default=False, field_specifiers=(static,))
def record(cls: type[T]) -> type[T]:
    """Make a class with a constructor of its own a frozen dataclass and a pytree.

    Not `jax.tree_util.register_dataclass`: that rebuilds a record by calling its constructor, and a law's constructor
    takes what a person writes down, checks it and builds tables. Here a record is rebuilt field by field.
    """
    cls = dataclasses.dataclass(frozen=True, eq=False, init=False, repr=False)(cls)
    fields = dataclasses.fields(cls)  # pyright: ignore[reportArgumentType]
    sizes = [field.name for field in fields if field.metadata.get("static")]
    leaves = [field.name for field in fields if not field.metadata.get("static")]

    def values(law: T, names: list[str]) -> tuple[Any, ...]:
        return tuple(getattr(law, name) for name in names)

    def flatten(law: T) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
        return values(law, leaves), values(law, sizes)

    def flatten_with_keys(law: T) -> tuple[list[tuple[Any, Any]], tuple[Any, ...]]:
        keys = map(jax.tree_util.GetAttrKey, leaves)
        return list(zip(keys, values(law, leaves), strict=True)), values(law, sizes)

    def unflatten(metadata: tuple[Any, ...], children: Iterable[Any]) -> T:
        law = object.__new__(cls)
        assemble(law, **dict(zip(sizes, metadata, strict=True)), **dict(zip(leaves, children, strict=True)))
        return law

    def describe(self: T) -> str:
        return f"{cls.__name__}({', '.join(f'{name}={getattr(self, name)!r}' for name in sizes)})"

    cls.__repr__ = describe
    jax.tree_util.register_pytree_with_keys(cls, flatten_with_keys, unflatten, flatten)
    return cls
