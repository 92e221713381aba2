"""From "who owns which example" to `Clients`: test dealt like training, validation held out, rows put in order.

Two deals are *systematic samples*: to take m of n rows in a row, evenly, one draws a start k in 0..n-1 and takes the
rows floor((j n + k) / m), j = 0..m-1. Every stretch of s consecutive rows then gives floor(s m / n) or ceil(s m / n)
of them, in exact integers and without a table of clients x classes, which is what keeps a million clients cheap.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import IntEnum

import jax.numpy as jnp
import numpy as np

from federage.core.types import Affine, Clients, Flat
from federage.data.dataset import Dataset, Examples
from federage.data.deals import held_out
from federage.errors import DataError, RecordError

NOBODY = -1
LARGEST = np.iinfo(np.int32).max  # offsets travel as int32


class Draw(IntEnum):
    """What a stream of random numbers is for: each is addressed by (seed, purpose), so none depends on another."""

    OWNERS = 0
    TEST = 1
    VALIDATION = 2
    EXAMPLES = 3


def generator(seed: int, purpose: Draw) -> np.random.Generator:
    """The random numbers of one purpose of one seed."""
    if seed < 0:
        raise RecordError(f"seed={seed} must be a non-negative integer")
    return np.random.default_rng((seed, purpose))


def assemble(
    data: Dataset,
    owner: np.ndarray,
    test_owner: np.ndarray | None,
    clients: int,
    validation: float,
    rare: int | Sequence[int],
    seed: int,
) -> Clients:
    """The federation in which training example j belongs to client owner[j].

    Args:
      data: the dataset.
      owner: the owner of each training example, 0..clients-1.
      test_owner: the owner of each test example, or NOBODY; None deals the test examples like the training examples.
      clients: how many.
      validation: the fraction of each client's training examples to hold out.
      rare: how many last clients, or which, form the rare group.
      seed: of the deals.
    """
    if not 0 <= validation < 1:
        raise RecordError(f"validation={validation} is not a fraction in [0, 1) of each client's training examples")
    mask = rare_mask(rare, clients)
    sizes = np.bincount(owner, minlength=clients)
    if not sizes.all():
        empty = np.flatnonzero(sizes == 0)
        others = f" and {len(empty) - 1} others have" if len(empty) > 1 else " has"
        raise DataError(
            f"{data.name}: expected every client to own training examples, but client {empty[0]}{others} none; "
            f"ask for fewer than {clients} clients, or for a milder partition"
        )
    held = _hold_out(data, owner, held_out(sizes, validation), seed)
    nothing = np.zeros(0, np.int64)
    if data.test is None:
        test = flat(Examples(data.train.x[:0], data.train.y[:0]), nothing, clients, data.classes)
    else:
        whose = _deal_test(data, data.test, owner, clients, seed) if test_owner is None else test_owner
        test = flat(data.test, whose, clients, data.classes)
    return Clients(
        train=flat(data.train, np.where(held, NOBODY, owner), clients, data.classes),
        validation=flat(data.train, np.where(held, owner, NOBODY), clients, data.classes),
        test=test,
        rare=jnp.asarray(mask),
        inputs=Affine(*(jnp.asarray(value, jnp.float32) for value in data.inputs)),
        classes=data.classes,
        name=data.name,
    )


def rare_mask(rare: int | Sequence[int], clients: int) -> np.ndarray:
    """The rare group as a mask: that many last clients, or those with the given ids."""
    mask = np.zeros(clients, bool)
    if isinstance(rare, int | np.integer):
        if not 0 <= rare <= clients:
            raise RecordError(f"rare={rare} must be a number of clients in 0..{clients}, or a list of their ids")
        mask[clients - rare :] = True
        return mask
    ids = np.asarray(rare, np.int64)
    if ids.size and (ids.min() < 0 or ids.max() >= clients or len(np.unique(ids)) != len(ids)):
        raise RecordError(f"rare={list(rare)} must be different client ids in 0..{clients - 1}")
    mask[ids] = True
    return mask


def strata(data: Dataset, examples: Examples) -> np.ndarray:
    """What the deals keep in proportion: the class, or nothing in a regression."""
    return examples.y if data.classes is not None else np.zeros(len(examples.y), np.int64)


def _hold_out(data: Dataset, owner: np.ndarray, counts: np.ndarray, seed: int) -> np.ndarray:
    """A mask of the validation examples: counts[i] of client i, spread evenly over its classes."""
    rng = generator(seed, Draw.VALIDATION)
    order = np.lexsort((rng.random(len(owner)), strata(data, data.train), owner))
    sizes = np.bincount(owner, minlength=len(counts))
    rank = np.arange(len(owner)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    start, n, m = (np.repeat(values, sizes) for values in (rng.integers(0, sizes), sizes, counts))
    mask = np.zeros(len(owner), bool)
    mask[order] = ((rank + 1) * m + start) // n > (rank * m + start) // n
    return mask


def _deal_test(data: Dataset, test: Examples, owner: np.ndarray, clients: int, seed: int) -> np.ndarray:
    """The owners of the test examples: of each class, a client gets the share that it has of the training examples.

    Shares are met to within one example. A test example of a class that nobody trains on goes to NOBODY.
    """
    rng = generator(seed, Draw.TEST)
    classes = data.classes or 1
    kinds, held = strata(data, data.train), strata(data, test)
    # Clients stand in a random order, so that fractions of an example do not always fall to the same ones.
    order = np.lexsort((rng.permutation(clients)[owner], kinds))
    n, m = np.bincount(kinds, minlength=classes), np.bincount(held, minlength=classes)
    rows = np.lexsort((rng.random(len(held)), held))
    rank = np.arange(len(held)) - np.repeat(np.cumsum(m) - m, m)
    start = rng.integers(0, np.maximum(n, 1))
    kind = held[rows]
    known = n[kind] > 0
    place = np.where(known, (np.cumsum(n) - n)[kind] + (rank * n[kind] + start[kind]) // m[kind], 0)
    whose = np.empty(len(held), np.int64)
    whose[rows] = np.where(known, owner[order][place], NOBODY)
    return whose


def flat(examples: Examples, owner: np.ndarray, clients: int, classes: int | None) -> Flat:
    """The examples by client, each client's in the order of the dataset; NOBODY's are left out."""
    rows = np.flatnonzero(owner != NOBODY)
    if len(rows) > LARGEST:
        raise DataError(f"a federation holds at most {LARGEST} examples, but {len(rows)} came; take a part of them")
    rows = rows[np.argsort(owner[rows], kind="stable")]
    lengths = np.bincount(owner[rows], minlength=clients)
    return Flat(
        x=jnp.asarray(examples.x[rows]),
        y=jnp.asarray(examples.y[rows], jnp.float32 if classes is None else jnp.int32),
        offsets=jnp.asarray(np.cumsum(lengths) - lengths, jnp.int32),
        lengths=jnp.asarray(lengths, jnp.int32),
    )
