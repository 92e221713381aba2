"""Foresight: what is known of rounds before they are played.

Who gets through, and which examples a mini-batch takes, depend on the seed and the round, never on what was learnt. So
both are drawn for a block of rounds at once: a few wide operations in place of many narrow ones in every round, which
are a fifth of a tiny model's time (`benchmarks/README.md`). What is drawn does not depend on the block.
"""

from __future__ import annotations

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Int

from federage.core import batches
from federage.core.problem import Problem
from federage.core.randomness import Purpose, at, stream
from federage.core.types import Cohort, PyTree

_LAW_BYTES = 2**26  # a run: the law may look at every client for every round of a block
_ROWS_BYTES = 2**24  # a run: finding repeats compares the b examples of a mini-batch pair by pair


class Foreseen(NamedTuple):
    """A round's draws.

    Attributes:
      cohort: who gets through.
      rows: the training rows of their mini-batches, [arrivals, steps, batch]; None where too little is fixed to say
        (rounds of any size, clients that differ in their number of steps): these are drawn when they are needed.
    """

    cohort: Cohort
    rows: Int[Array, "arrivals steps batch"] | None


def foresee(problem: Problem, seed: Array, law: PyTree, first: Array, rounds: int) -> tuple[PyTree, Foreseen]:
    """The law's new state, and the draws of `rounds` rounds from round `first` on, along a leading axis."""
    arrivals, mini_batches = stream(seed, Purpose.ARRIVALS), stream(seed, Purpose.BATCHES)
    numbers = first + jnp.arange(rounds)

    def admit(law: PyTree, number: Array) -> tuple[PyTree, Cohort]:
        return problem.law.draw(law, at(arrivals, number), number)

    def rows(number: Array, cohort: Cohort) -> Array:
        return jax.vmap(lambda client: client_rows(problem, client, at(mini_batches, number, client)))(
            seats(problem, cohort.ids)
        )

    if jax.tree.leaves(law):
        law, cohorts = jax.lax.scan(admit, law, numbers)
    else:
        cohorts = jax.vmap(lambda number: admit(law, number)[1])(numbers)
    return law, Foreseen(cohorts, jax.vmap(rows)(numbers, cohorts) if _fixed(problem) else None)


def seats(problem: Problem, ids: Int[Array, " capacity"]) -> Int[Array, " seats"]:
    """The cohort's ids, filled up with nobody to whole chunks."""
    width = problem.arrivals_at_once
    return jnp.concatenate([ids, jnp.full(-ids.shape[0] % width, len(problem.clients), ids.dtype)])


def client_rows(problem: Problem, client: Array, key: Array) -> Int[Array, "steps batch"]:
    """The training rows of all mini-batches of one client in one round; `key` is addressed by (seed, round, client)."""
    return jax.vmap(lambda step: batch_rows(problem, client, at(key, step)))(jnp.arange(problem.local_steps))


def batch_rows(problem: Problem, client: Array, key: Array) -> Int[Array, " batch"]:
    """The training rows of one mini-batch."""
    train = problem.clients.train
    return train.offsets[client] + batches.draw(key, train.lengths[client], problem.batch)


def block(problem: Problem, rounds: int) -> int:
    """How many rounds to look ahead: the largest divisor of `rounds` whose draws stay small."""
    most = _LAW_BYTES // (4 * problem.law.clients)
    if _fixed(problem):
        most = min(most, _ROWS_BYTES // (problem.arrivals_at_once * problem.local_steps * problem.batch**2))
    return max(d for d in range(1, rounds + 1) if rounds % d == 0 and d <= max(1, most))


def _fixed(problem: Problem) -> bool:
    """Whether every round has one chunk of arrivals, each with the same number of steps."""
    return problem.steps_each is None and problem.law.capacity <= problem.arrivals_at_once
