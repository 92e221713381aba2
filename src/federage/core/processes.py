"""Several processes: who plays which runs, and how every process comes by all results.

Runs never speak to each other, so they are what is split. Each process runs the same script; it plays its share of the
groups of runs (`share`), and what they come to is brought together after each leg (`gather`). These meetings happen in
the same order everywhere, and every process plays equally many groups of one width, so that all compile the same
programs and bring the same shapes: one for which no group is left plays the last one too, and that copy is dropped.

What the numbers depend on: on a CPU, groups are cut without regard to the number of processes, so that several give the
bits of one with as many cores as process 0. On accelerators runs are split over processes first, then over each one's
devices: a device plays as many runs as it would if one process held all devices.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeVar

import jax
import numpy as np
from jax.experimental import multihost_utils

from federage.core import devices

T = TypeVar("T")

_PIECE = 2**26  # bytes brought together at once, so that a device need not hold the states of all runs


def share(items: Sequence[T]) -> list[T]:
    """This process's items, where processes take them in turn; the last item fills up the last turn."""
    index, count = devices.process()
    turns = -(-len(items) // count)
    return [items[min(k, len(items) - 1)] for k in range(index, turns * count, count)]


def gather(parts: list[Any]) -> list[Any]:
    """What came of each item that was shared, on every process and in the items' order; what filled up comes last.

    Args:
      parts: what came of this process's items: trees of NumPy arrays, of the same shapes everywhere. They travel as
        bytes, so that nothing is rounded and all of a tree's leaves go at once.
    """
    if jax.process_count() == 1:
        return parts
    leaves, structure = jax.tree.flatten(parts)
    mine = np.concatenate([np.ascontiguousarray(a).reshape(-1).view(np.uint8) for a in leaves])
    pieces = [multihost_utils.process_allgather(mine[k : k + _PIECE]) for k in range(0, mine.size, _PIECE)]
    of_each = [_unpacked(row, leaves, structure) for row in np.concatenate(pieces, axis=1)]
    return [part for turn in zip(*of_each, strict=True) for part in turn]


def words(number: int) -> list[int]:
    """The number that each process says, in their order: a meeting at which all wait for the last to come."""
    return [int(said) for said in gather([np.asarray(number)])]


def _unpacked(row: np.ndarray, like: list[np.ndarray], structure: Any) -> Any:
    ends = np.cumsum([a.nbytes for a in like])[:-1]
    parts = zip(np.split(row, ends), like, strict=True)
    return jax.tree.unflatten(structure, [part.view(a.dtype).reshape(a.shape) for part, a in parts])
