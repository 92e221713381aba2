"""Marginals of any law by its own draws, with a standard error."""

from __future__ import annotations

import functools

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from federage.core.randomness import at
from federage.core.types import Marginals, PyTree
from federage.participation.law import Law

RUNS = 64
"""Independent runs of which the standard error is taken; it is itself known to 9 %."""

HORIZON = 1 << 20
"""Runs start at rounds spread over so many, so that a law with a period is met in all its phases."""


@functools.partial(jax.jit, static_argnames="rounds")
def run(law: Law, key: Array, rounds: int) -> tuple[Float[Array, " clients"], Float[Array, " clients"]]:
    """How often each client arrived in some consecutive rounds, and the sum of its shares 1/|S|."""
    first = jax.random.randint(at(key, 0), (), 0, HORIZON)
    key_init, key_rounds = at(key, 1), at(key, 2)

    def play(carry: tuple[PyTree, Array, Array], round: Array) -> tuple[tuple[PyTree, Array, Array], None]:
        state, counts, shares = carry
        state, cohort = law.draw(state, at(key_rounds, round), round)
        counts = counts.at[cohort.ids].add(1.0, mode="drop")
        shares = shares.at[cohort.ids].add(1.0 / cohort.count, mode="drop")
        return (state, counts, shares), None

    nothing = jnp.zeros(law.clients)
    start = law.init(key_init), nothing, nothing
    (_, counts, shares), _ = jax.lax.scan(play, start, first + jnp.arange(rounds))
    return counts, shares


def monte_carlo(law: Law, draws: int = 100_000, seed: int = 0) -> tuple[Marginals, Marginals]:
    """Estimates of (inclusion, weights).

    Rounds of one run may depend on each other; runs do not. So the error is the spread of the runs' means, though
    never less than one draw's worth: a client that was not met in n draws is not known better than to 1/n.
    """
    rounds = -(-draws // RUNS)
    runs = [run(law, at(jax.random.key(seed), number), rounds) for number in range(RUNS)]
    how = f"Monte Carlo, {RUNS * rounds:,} draws"

    def summary(sums: tuple[Array, ...]) -> Marginals:
        means = np.stack([np.asarray(one, np.float64) for one in sums]) / rounds
        error = means.std(axis=0, ddof=1) / np.sqrt(RUNS)
        return Marginals(means.mean(axis=0), how, np.maximum(error, 1 / (RUNS * rounds)))

    counts, shares = zip(*runs, strict=True)
    return summary(counts), summary(shares)
