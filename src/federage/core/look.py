"""A look: what a reader sees of a run every so many rounds. Looks are written, never read, by the engine."""

from __future__ import annotations

import math
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from federage.core.problem import Problem
from federage.core.round import Work
from federage.core.types import PyTree, Vars

_EVALUATED_AT_ONCE = 250  # examples: convolutions of a whole test set under many batched runs would not fit


class Look(NamedTuple):
    """Measured on the problem's `look_at` split, at one checkpoint.

    Accuracies are NaN where they are not defined: for a client without examples, a rare group without clients, a
    problem without labels.

    Attributes:
      accuracy, loss: over all examples.
      by_client: each client's accuracy on its own examples.
      worst: the least of them; worst_tenth: the mean of the ceil(10 %) least; rare: over the rare clients' examples.
      dual: the risk's scalars at the checkpoint (FedeRage: beta).
    """

    accuracy: Float[Array, ""]
    loss: Float[Array, ""]
    by_client: Float[Array, " clients"]
    worst: Float[Array, ""]
    worst_tenth: Float[Array, ""]
    rare: Float[Array, ""]
    dual: PyTree


class Leg(NamedTuple):
    """How the local work since the last look went.

    Attributes:
      round: rounds played.
      arrivals: mean number a round.
      train_loss: mean mini-batch loss of the arrivals' local steps.
      tail: share of their steps whose loss was at or above beta (0 where the risk has no tail).
      finite: whether the checkpoint is.
    """

    round: Array
    arrivals: Array
    train_loss: Array
    tail: Array
    finite: Array


def look(problem: Problem, v: Vars) -> Look:
    """Measure a checkpoint."""
    split = problem.looked_at
    if split.x.shape[0] == 0:
        return _nothing_seen(len(problem.clients), v)
    score, loss = _evaluate(problem, v.theta)
    ends = split.offsets + split.lengths
    by_client = _segment_means(score, split.offsets, ends)
    rare = problem.clients.rare
    weight = jnp.where(rare, split.lengths, 0)
    return Look(
        accuracy=jnp.mean(score),
        loss=jnp.mean(loss),
        by_client=by_client,
        worst=jnp.nanmin(by_client),
        worst_tenth=_mean_of_least_tenth(by_client),
        rare=jnp.sum(jnp.where(weight > 0, by_client * weight, 0)) / jnp.sum(weight),
        dual=v.dual,
    )


def _nothing_seen(clients: int, v: Vars) -> Look:
    """The look at a split without examples: what cannot be known must not cost a sort of a million clients either."""
    unknown = jnp.asarray(jnp.nan)
    return Look(unknown, unknown, jnp.full(clients, jnp.nan), unknown, unknown, unknown, v.dual)


def leg(state_round: Array, works: Work, v: Vars) -> Leg:
    """Sum up the rounds since the last look; `works` has a leading axis of rounds."""
    arrivals = jnp.sum(works.arrivals)
    finite = jnp.all(jnp.stack([jnp.all(jnp.isfinite(leaf)) for leaf in jax.tree.leaves(v)]))
    return Leg(
        round=state_round,
        arrivals=jnp.mean(works.arrivals),
        train_loss=jnp.sum(works.step.loss) / arrivals,
        tail=jnp.sum(works.step.tail) / arrivals,
        finite=finite,
    )


def _evaluate(problem: Problem, theta: PyTree) -> tuple[Array, Array]:
    """Score and loss of every example, in pieces."""
    split = problem.looked_at
    rows = split.x.shape[0]
    pieces = max(1, math.ceil(rows / _EVALUATED_AT_ONCE))
    size = math.ceil(rows / pieces)

    def piece(start: Array) -> tuple[Array, Array]:
        x, y = (jax.lax.dynamic_slice_in_dim(a, start, size) for a in (split.x, split.y))
        batch = problem.inputs((x, y))
        outputs = problem.model.apply(theta, batch[0])
        return problem.model.score(outputs, batch[1]), problem.model.loss(outputs, batch[1])

    # The last piece would overrun the end: it starts earlier and repeats examples, each of which is written once.
    starts = jnp.minimum(jnp.arange(pieces) * size, rows - size)
    places = starts[:, None] + jnp.arange(size)
    return jax.tree.map(lambda a: jnp.zeros(rows).at[places].set(a), jax.lax.map(piece, starts))


def _segment_means(values: Array, starts: Array, ends: Array) -> Array:
    """Means over consecutive stretches.

    Scores are 0 or 1, so the running sum in float32 is exact up to 2^24 examples.
    """
    running = jnp.concatenate([jnp.zeros(1), jnp.cumsum(values)])
    return (running[ends] - running[starts]) / (ends - starts)


def _mean_of_least_tenth(by_client: Array) -> Array:
    """Over the ceil(10 %) worst of the clients that have examples; sorting puts NaN last."""
    known = jnp.sum(~jnp.isnan(by_client))
    count = (known + 9) // 10
    ordered = jnp.sort(by_client)
    return jnp.sum(jnp.where(jnp.arange(ordered.shape[0]) < count, ordered, 0)) / count
