"""Alias tables: one index drawn from N probabilities in O(1), whatever N is.

N buckets of width 1/N; bucket i belongs to i below its threshold and to one other index above it (Walker 1977).
An inverse cumulative sum in float32 would instead lose whole clients at N = 1,000,000.
"""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from federage.core.record import fill
from federage.participation import fine
from federage.participation.law import record


@record
class Alias:
    """The table of a probability vector, built in float64 on the host without a loop.

    Scale the probabilities to mean 1. Buckets with s_i < 1 lack 1 - s_i; buckets with s_j >= 1 have s_j - 1 to give.
    Serve the lacking ones in order from the giving ones in order; with D_i the lack up to and including i and E_j the
    gift up to and including j,

        i is topped up by the first j with E_j >= D_{i-1};
        j gives until D_i > E_j, is then left with 1 + E_j - D_i <= 1, and is itself topped up by j + 1.

    An index of probability 0 has threshold 0 and tops up nobody: it is never drawn.
    """

    threshold: Float[Array, " n"]
    other: Int[Array, " n"]

    def __init__(self, probabilities: np.ndarray):
        scaled = probabilities * (probabilities.size / probabilities.sum())
        gives = scaled >= 1
        gives[np.argmax(scaled)] = True  # all equal, but for rounding
        givers, takers = np.flatnonzero(gives), np.flatnonzero(~gives)

        threshold, other = scaled.copy(), np.arange(scaled.size)
        gift, lack = np.cumsum(scaled[givers] - 1), np.cumsum(1 - scaled[takers])
        before = np.concatenate([[0.0], lack])[:-1]
        last = givers.size - 1
        other[takers] = givers[np.minimum(np.searchsorted(gift, before), last)]

        exhausting = np.searchsorted(lack, gift, side="right")
        left = np.append(lack, -np.inf)[exhausting]
        threshold[givers] = np.where(exhausting < takers.size, 1 + gift - left, 1.0)
        threshold[givers[last]] = 1.0  # nobody is left to top it up, nor need they
        other[givers[:-1]] = givers[1:]

        fill(
            self,
            threshold=jnp.asarray(np.clip(threshold, 0, 1), jnp.float32),
            other=jnp.asarray(other, jnp.int32),
        )

    def draw(self, key: Array, shape: tuple[int, ...] = ()) -> Int[Array, " *shape"]:
        """Independent indices."""
        key_bucket, key_side = jax.random.split(key)
        bucket = jax.random.randint(key_bucket, shape, 0, self.threshold.shape[0])
        stays = fine.uniform(key_side, shape) < self.threshold[bucket]
        return jnp.where(stays, bucket, self.other[bucket])
