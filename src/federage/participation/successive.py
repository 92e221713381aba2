"""Successive weighted draws without replacement, inside a compiled program.

The next client is drawn with probability proportional to the prior among those not yet drawn. Two exact ways:

race       Client i arrives at an exponential time of rate w_i; the first M to arrive, in order. O(N).
rejection  Draw from the whole prior and forget repeats: what is left has the right law. O(M log M), whatever N is,
           as long as repeats are rare.
"""

from __future__ import annotations

import math
from typing import Literal

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Int

from federage.core.record import fill, static
from federage.participation import fine
from federage.participation.alias import Alias
from federage.participation.law import record

Method = Literal["race", "rejection"]

RACE_UP_TO = 300
"""Up to as many clients a race is at least as fast as an alias table (measured on a CPU, M = 3)."""


@record
class Successive:
    """Draws `size` distinct clients, in the order of drawing; `prior` is non-negative and sums to 1."""

    clients: int = static()
    size: int = static()
    block: int = static()
    method: Method = static()
    log_prior: Array | None
    alias: Alias | None

    def __init__(self, prior: np.ndarray, size: int, method: Method | None = None):
        taken = np.cumsum(np.sort(prior)[::-1][: size - 1])  # at worst, the mass of those already drawn
        if method is None:
            method = "race" if prior.size <= RACE_UP_TO or taken.max(initial=0) > 0.5 else "rejection"
        with np.errstate(divide="ignore"):
            log_prior = np.log(prior)
        fill(
            self,
            clients=prior.size,
            size=size,
            block=size + spare(taken) if method == "rejection" else 0,
            method=method,
            log_prior=jnp.asarray(log_prior, jnp.float32) if method == "race" else None,
            alias=Alias(prior) if method == "rejection" and prior.min() < prior.max() else None,
        )

    def draw(self, key: Array) -> Int[Array, " size"]:
        return self._race(key) if self.method == "race" else self._rejection(key)

    def _race(self, key: Array) -> Int[Array, " size"]:
        assert self.log_prior is not None
        log_unit_time = jnp.log(-jnp.log1p(-fine.uniform(key, (self.clients,))))
        _, ids = jax.lax.top_k(self.log_prior - log_unit_time, self.size)
        return ids

    def _rejection(self, key: Array) -> Int[Array, " size"]:
        """The first `size` distinct ids of a block of candidates, in order of appearance."""
        if self.alias is None:
            ids = jax.random.randint(key, (self.block,), 0, self.clients)
        else:
            ids = self.alias.draw(key, (self.block,))
        order = jnp.argsort(ids, stable=True)
        ascending = ids[order]
        new = (ascending != jnp.roll(ascending, 1)).at[0].set(True)
        new = jnp.zeros_like(new).at[order].set(new, unique_indices=True)
        place = jnp.where(new, jnp.cumsum(new) - 1, self.size)
        return jnp.zeros(self.size, ids.dtype).at[place].set(ids, mode="drop")


def spare(taken: np.ndarray) -> int:
    """Candidates to draw beyond M, so that a block has M distinct ones but for a chance of 2^-64.

    That is the resolution of its random numbers; a loop for the rest would cost more than all candidates (on a GPU,
    22 microseconds). At worst the repeats are a sum of geometric variables of parameters s_k = `taken`, for which

        P(repeats > r) <= z^{-r} prod_k (1 - s_k) / (1 - s_k z),   1 < z < 1 / max s.

    Rounded up to a power of two, so that laws that differ little share a compiled program.
    """
    if taken.size == 0:
        return 0
    z = np.exp(np.linspace(0, -math.log(taken[-1]), 200)[1:-1, None])
    repeats = (64 * math.log(2) + np.log((1 - taken) / (1 - taken * z)).sum(axis=1)) / np.log(z[:, 0])
    return 1 << (math.ceil(repeats.min()) - 1).bit_length()
