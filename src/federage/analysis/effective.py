r"""Whom does a method descend for? Effective weights of clients at a checkpoint, and the quantile beta runs after.

Under a law with weights p, a local step meets client i with probability p_i and a mini-batch that is uniform over the
size-b subsets of its examples: the loss of the step is drawn from the mixture of the clients' mini-batch losses. Its
value at risk is what beta estimates, and the mean-CVaR is a plain mean under other weights,

.. math::
    q_i = \sum_{k \text{ of client } i} p_{ik} \big( (1 - \gamma) + \gamma \, d_{ik} \big)

with the dual density d of `risk.tail_weights`, and k running over mini-batches. As many as asked are drawn, evaluated
in one compiled program, and each given the weight p_i / draws.

References:
  FedeRage, Section III: "effective availability".
"""

from __future__ import annotations

import dataclasses
import functools
import math
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array
from numpy.typing import ArrayLike

from federage.analysis import risk
from federage.core import devices
from federage.core.foresight import batch_rows
from federage.core.problem import Problem
from federage.core.randomness import Purpose, at, stream
from federage.core.record import fraction, tail_mass
from federage.core.types import PyTree
from federage.errors import RecordError
from federage.participation import checks

_ROUND = 2**31 - 1  # no run reaches it: these mini-batches are not among those a run was trained on
_AT_ONCE = 2**22  # bytes of inputs; a convolution unfolds them to some ten times as much


@dataclasses.dataclass(frozen=True, eq=False)
class Effective:
    """What a checkpoint amounts to, client by client.

    Attributes:
      shares: the clients' effective weights, [clients], which sum to 1; p itself where alpha = 1 or gamma = 0.
      quantile: VaR_alpha of the mini-batch loss under p.
      loss: each client's mean mini-batch loss, [clients]; NaN where none was drawn.
      draws: how many mini-batches of each client were drawn, [clients].
      how: the same in words.
    """

    shares: np.ndarray
    quantile: float
    loss: np.ndarray
    draws: np.ndarray
    how: str


def effective_weights(
    problem: Problem,
    theta: PyTree,
    alpha: float,
    gamma: float,
    weights: ArrayLike,
    *,
    draws: int = 64,
    budget: int = 2**18,
    seed: int = 0,
) -> Effective:
    """Effective weights and the quantile at theta, by drawing mini-batches as the engine draws them.

    A mini-batch depends on (seed, client, number) alone: every method of a seed is measured on the same ones. A client
    with p = 0 needs none, and has no share.

    Where `draws` mini-batches of each client would exceed the budget, each gets as many as fit. Where not even one of
    each fits, clients are drawn too, by a systematic sample of p: then shares speak for groups of clients, but not for
    single ones, and those that were not drawn have none.

    Args:
      problem: whose model, data and batch size.
      theta: one run's model, such as `jax.tree.map(lambda a: a[seed], result.last.theta)`.
      alpha: tail mass in (0, 1].
      gamma: weight of the CVaR in [0, 1].
      weights: p, such as `problem.law.weights()`.
      draws: mini-batches of each client.
      budget: the most examples to evaluate.
      seed: of the draws.
    """
    tail_mass("alpha", alpha)
    fraction("gamma", gamma)
    _check_theta(problem, theta)
    p = checks.masses("weights", weights, len(problem.clients))
    seed = checks.whole("seed", seed, least=0)
    most = checks.whole("budget", budget, least=problem.batch) // problem.batch
    counts, each, how = _plan(p, checks.whole("draws", draws), most, seed)
    clients = np.repeat(np.arange(len(p)), counts)
    losses = _evaluate(problem, theta, seed, clients, counts)
    outcomes = each[clients]
    effective = risk.tail_weights(losses, alpha, gamma, outcomes)
    neutral = alpha == 1 or gamma == 0
    with np.errstate(invalid="ignore"):  # 0 / 0 where nothing was drawn
        loss = np.bincount(clients, losses, len(p)) / counts
    return Effective(
        shares=p if neutral else np.bincount(clients, effective, len(p)),
        quantile=risk.var(losses, alpha, outcomes),
        loss=loss,
        draws=counts,
        how=how,
    )


def _plan(p: np.ndarray, draws: int, most: int, seed: int) -> tuple[np.ndarray, np.ndarray, str]:
    """How many mini-batches of each client, at most `most` in all; the weight of each; and both in words."""
    likely = int(np.count_nonzero(p))
    if likely <= most:
        number = min(draws, most // likely)
        how = f"{number:,} mini-batches of each client" + (", as many as the budget allows" if number < draws else "")
        return np.where(p > 0, number, 0), p / number, how
    ends = np.cumsum(p)
    ends *= most / ends[-1]
    # One start, then every most-th part of p: client i is drawn most * p_i times, rounded up or down.
    counts = np.diff(np.floor(ends + np.random.default_rng(seed).random()), prepend=0).astype(np.int64)
    how = f"{most:,} mini-batches, as many as the budget allows, of clients drawn by their weights"
    return counts, np.full(len(p), 1 / most), how


def _evaluate(problem: Problem, theta: PyTree, seed: int, clients: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """The mean loss of each mini-batch, in pieces that the last one fills up."""
    total = len(clients)
    numbers = np.arange(total) - np.repeat(np.cumsum(counts) - counts, counts)
    inputs = 4 * math.prod(problem.clients.train.x.shape[1:]) * problem.batch
    pieces = math.ceil(total / max(1, _AT_ONCE // inputs))
    width = math.ceil(total / pieces)
    places = np.minimum(np.arange(pieces * width), total - 1).reshape(pieces, width)
    evaluate = _compiled()
    found = evaluate(
        problem, theta, np.uint32(seed), clients[places].astype(np.int32), numbers[places].astype(np.int32)
    )
    losses = np.asarray(found, np.float64).ravel()[:total]
    if not np.isfinite(losses).all():
        first = int(np.argmin(np.isfinite(losses)))
        raise RecordError(
            f"theta takes finite losses, but gives client {clients[first]} a mini-batch loss of {losses[first]}; "
            "leave out runs that became non-finite"
        )
    return losses


@functools.cache
def _compiled() -> Any:
    return jax.jit(_losses, compiler_options=devices.compiler_options())


def _losses(problem: Problem, theta: PyTree, seed: Array, clients: Array, numbers: Array) -> Array:
    """The mean losses of mini-batches, [pieces, width], a piece after the other."""
    key = at(stream(seed, Purpose.BATCHES), _ROUND)

    def rows(client: Array, number: Array) -> Array:
        return batch_rows(problem, client, at(key, client, number))

    def piece(which: tuple[Array, Array]) -> Array:
        drawn = jax.vmap(rows)(*which)
        losses = problem.losses(theta, problem.inputs(problem.gather(drawn.ravel())))
        return jnp.mean(losses.reshape(drawn.shape), axis=1)

    with jax.default_matmul_precision(problem.precision):
        return jax.lax.map(piece, (clients, numbers))


def _check_theta(problem: Problem, theta: PyTree) -> None:
    """Refuse the weights of several runs at once, which is what a result holds."""
    expected = [leaf.shape for leaf in jax.tree.leaves(jax.eval_shape(problem.init, jax.random.key(0)))]
    came = [np.shape(leaf) for leaf in jax.tree.leaves(theta)]
    if came != expected:
        raise RecordError(
            f"theta takes the arrays of one {problem.model.name}, of shapes {expected}, but {came} came; "
            "of a result's runs pass one"
        )
