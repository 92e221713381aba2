"""How examples, seen as rows in a row, are dealt to clients: arrays of owners, in time that grows with the rows."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from federage.errors import DataError, RecordError


def even(n: int, clients: int) -> np.ndarray:
    """The owners of n examples in a row, dealt evenly: sizes differ by at most one."""
    return np.arange(n) * clients // max(n, 1)


def shares_met(shares: np.ndarray, n: int) -> np.ndarray:
    """The owners of n examples in a row, such that each owns its share to within one example."""
    edges = np.cumsum(shares / shares.sum())
    return np.minimum(np.searchsorted(edges, (np.arange(n) + 0.5) / max(n, 1)), len(shares) - 1)


def held_out(sizes: np.ndarray, validation: float) -> np.ndarray:
    """How many of `sizes` examples are held out: the fraction, rounded, but at least one and never the last one."""
    if validation == 0:
        return np.zeros_like(sizes)
    return np.minimum(np.maximum(np.rint(validation * sizes).astype(sizes.dtype), 1), sizes - 1)


def repair(
    name: str, owner: np.ndarray, clients: int, least: int, validation: float, rng: np.random.Generator
) -> np.ndarray:
    """The same owners, except that the largest clients hand over random examples until nobody has less than `least`."""
    if least < 1:
        raise RecordError(f"least={least} must be at least 1: a client without examples cannot train")
    if not 0 <= validation < 1:
        raise RecordError(f"validation={validation} is not a fraction in [0, 1) of each client's training examples")
    sizes = np.arange(least, int(least / (1 - validation)) + 3)
    need = int(sizes[np.argmax(sizes - held_out(sizes, validation) >= least)])
    if len(owner) < need * clients:
        raise DataError(
            f"{name}: {clients} clients with at least {least} training examples (and validation={validation}) "
            f"need {need * clients} examples, but there are {len(owner)}; ask for fewer clients, or a smaller least"
        )
    count = np.bincount(owner, minlength=clients)
    lacking = np.maximum(need - count, 0)
    # Number each client's examples at random. Those with the highest numbers are with the largest clients, and taking
    # them away levels the largest clients down together.
    order = np.lexsort((rng.random(len(owner)), owner))
    rank = np.empty(len(owner), np.int64)
    rank[order] = np.arange(len(owner)) - np.repeat(np.cumsum(count) - count, count)
    given = np.argsort(-rank, kind="stable")[: lacking.sum()]
    repaired = owner.copy()
    repaired[given] = np.repeat(np.arange(clients), lacking)
    return repaired


def holders(
    ids: np.ndarray, kinds: np.ndarray, most: int, who: str, rng: np.random.Generator
) -> Iterator[tuple[int, np.ndarray]]:
    """The clients that hold each class, in random order: min(most, classes) classes a client.

    Client j of a block takes the classes j m .. j m + m - 1 of one random cycle. A block ends where the cycle is back
    at its start, so every class is held equally often in it; the next block has a cycle of its own.
    """
    m, count = min(most, len(kinds)), len(kinds)
    if len(ids) * m < count:
        raise RecordError(
            f"{len(ids)} {who} clients with at most {most} classes each cannot hold {count} classes; "
            f"take more clients, or classes_per_client of at least {-(-count // max(len(ids), 1))}"
        )
    if not count:
        return
    block = count // math.gcd(count, m)
    cycles = rng.permuted(np.tile(np.arange(count), (-(-len(ids) // block), 1)), axis=1)
    turns = np.arange(block)[:, None] * m + np.arange(m)
    held = cycles[:, turns % count].reshape(-1, m)[: len(ids)]  # [clients, m] places in kinds
    for place, kind in enumerate(kinds):
        yield int(kind), rng.permutation(ids[(held == place).any(1)])
