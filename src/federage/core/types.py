"""The things that travel.

Data flows one way: `Clients` and a law's `Cohort` go into the local work, a `Report` comes out of it,
the server turns reports into the next `Vars`.
"""

from __future__ import annotations

import dataclasses
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Int

PyTree = Any


class Vars(NamedTuple):
    """What is broadcast, trained, averaged and projected: the model and the risk's own scalars, v = (theta, dual).

    With beta beside theta, FedeRage is FedAvg on v with another loss (READING, fact 1), so nothing
    that handles `Vars` needs a line of its own for beta.
    """

    theta: PyTree
    dual: PyTree


class Flat(NamedTuple):
    """The examples of all clients end to end: client i owns rows offsets[i] : offsets[i] + lengths[i]."""

    x: Array  # [rows, ...]
    y: Array  # [rows, ...]
    offsets: Int[Array, " clients"]
    lengths: Int[Array, " clients"]


class Affine(NamedTuple):
    """How stored inputs become a model's inputs: float32(x) * scale + shift.

    Images stay uint8 in memory, on every device, and are mapped after the mini-batch is gathered.
    """

    scale: Array | float = 1.0
    shift: Array | float = 0.0

    def __call__(self, x: Array) -> Array:
        return x.astype(jnp.float32) * self.scale + self.shift


@jax.tree_util.register_dataclass
@dataclasses.dataclass(frozen=True, eq=False)
class Clients:
    """A federation's data: every client's training, validation and test examples.

    `rare` marks the clients of the rare group, whose accuracy every look reports (all False: no such group).
    """

    train: Flat
    validation: Flat
    test: Flat
    rare: Bool[Array, " clients"]
    inputs: Affine
    classes: int | None = dataclasses.field(default=None, metadata={"static": True})
    name: str = dataclasses.field(default="arrays", metadata={"static": True})

    def __len__(self) -> int:
        return self.train.lengths.shape[0]


class Cohort(NamedTuple):
    """Who got through in one round: ids[:count] in ascending order, then padding with the id N (nobody)."""

    ids: Int[Array, " capacity"]
    count: Int[Array, ""]  # pyright: ignore[reportIncompatibleMethodOverride]


@dataclasses.dataclass(frozen=True, eq=False)
class Marginals:
    """One number a client, with how it was come by.

    `error` is None for an exact value (float64 rounding aside), else the standard error of each entry.
    """

    values: np.ndarray
    how: str
    error: np.ndarray | None = None

    @property
    def exact(self) -> bool:
        return self.error is None

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        return np.array(self.values, dtype=dtype, copy=True if copy is None else copy)
