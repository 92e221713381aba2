"""What a participation law is, and how its record becomes a pytree.

A law R(S) says how likely exactly the clients S are to get through in one round. The server and the clients do not
know it; the engine draws from it, and the analysis asks for two numbers a client:

    pi_i = P(i in S)                               the inclusion probability
    p_i  = sum_S R(S) 1{i in S} / |S|              the weight that plain averaging really gives client i

Always R(empty) = 0, so sum p_i = 1. With a fixed size M, p_i = pi_i / M.
"""

from __future__ import annotations

import dataclasses
from typing import Protocol, TypeVar, dataclass_transform, runtime_checkable

from jaxtyping import Array

from federage.core.record import pytree, static
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


@dataclass_transform(frozen_default=True, eq_default=False, field_specifiers=(static,))
def record(cls: type[T]) -> type[T]:
    """A record with a constructor of its own: a law is written down in one way and kept in another (tables, sizes)."""
    cls = dataclasses.dataclass(frozen=True, eq=False, init=False, repr=False)(cls)
    sizes = [field.name for field in dataclasses.fields(cls) if field.metadata.get("static")]  # pyright: ignore[reportArgumentType]

    def describe(self: T) -> str:
        return f"{cls.__name__}({', '.join(f'{name}={getattr(self, name)!r}' for name in sizes)})"

    cls.__repr__ = describe
    return pytree(cls)
