"""What a run meets: the arrivals and the mini-batches of a seed, drawn outside of it by their addresses.

Whoever transcribes a method (in plain NumPy, say) feeds the transcription these.
"""

from __future__ import annotations

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Int

from federage.core import batches
from federage.core.problem import Problem
from federage.core.randomness import Purpose, at, stream
from federage.core.types import Cohort, PyTree
from federage.participation.law import Law


def arrivals(law: Law, seed: int, rounds: int) -> list[list[int]]:
    """Who gets through in rounds 0, 1, ..., rounds - 1 of a run of this seed."""
    cohorts = _cohorts(law, seed, rounds)
    return [ids[:count].tolist() for ids, count in zip(*map(np.asarray, cohorts), strict=True)]


@partial(jax.jit, static_argnames="rounds")
def _cohorts(law: Law, seed: Array | int, rounds: int) -> Cohort:
    def once(state: PyTree, t: Array) -> tuple[PyTree, Cohort]:
        return law.draw(state, at(stream(seed, Purpose.ARRIVALS), t), t)

    return jax.lax.scan(once, law.init(stream(seed, Purpose.LAW)), jnp.arange(rounds))[1]


def rows(problem: Problem, seed: int, rounds: int) -> list[list[np.ndarray]]:
    """The training rows of every mini-batch, by round and client, each of shape [K of this client, b]."""
    lengths = problem.clients.train.lengths
    steps = np.broadcast_to(problem.local_steps or np.asarray(problem.steps_each), lengths.shape)
    drawn = np.asarray(_drawn(lengths, seed, rounds, int(steps.max()), problem.batch))
    drawn = drawn + np.asarray(problem.clients.train.offsets)[:, None, None]
    return [[drawn[t, i, : steps[i]] for i in range(len(steps))] for t in range(rounds)]


@partial(jax.jit, static_argnums=(2, 3, 4))
def _drawn(lengths: Array, seed: Array | int, rounds: int, steps: int, batch: int) -> Int[Array, "rounds clients _ _"]:
    key = stream(seed, Purpose.BATCHES)

    def one(t: Array, i: Array, k: Array) -> Array:
        return batches.draw(at(key, t, i, k), lengths[i], batch)

    for axes in ((None, None, 0), (None, 0, None), (0, None, None)):
        one = jax.vmap(one, axes)
    return one(jnp.arange(rounds), jnp.arange(lengths.shape[0]), jnp.arange(steps))
