"""Randomness is addressed, never threaded.

A draw depends on where it stands (seed, purpose, round, client), not on what was drawn before it: every algorithm
of a seed meets the same arrivals and the same mini-batches, and no number depends on chunking, on how many runs
are batched, nor on which clients are computed.
"""

from __future__ import annotations

from enum import IntEnum

import jax
from jaxtyping import Array


class Purpose(IntEnum):
    """What a stream of random numbers is for; the order is part of the numerics."""

    WEIGHTS = 0
    ARRIVALS = 1
    BATCHES = 2
    NOISE = 3
    LAW = 4


def stream(seed: Array | int, purpose: Purpose) -> Array:
    """The key of one purpose of one seed."""
    return jax.random.fold_in(jax.random.key(seed), int(purpose))


def at(key: Array, *address: Array | int) -> Array:
    """The key at an address below `key`, such as (round, client) below the mini-batches' key."""
    for part in address:
        key = jax.random.fold_in(key, part)
    return key
