"""What a client descends: the mean of its mini-batch losses, or a functional that also looks at their tail."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp
from jaxtyping import Array, Float

from federage.core.algorithm import Batch, Losses, Risk, Step
from federage.core.record import fraction, tail_mass
from federage.core.types import PyTree


def kappa(alpha: Any, gamma: Any) -> Any:
    r"""The price of risk aversion: the largest weight that a mini-batch can have under the mean-CVaR.

    .. math::
        \kappa = (1 - \gamma) + \frac{\gamma}{\alpha}

    >>> kappa(alpha=0.25, gamma=0.5)
    2.5

    Args:
      alpha: tail mass in (0, 1]; a number, or an array of them.
      gamma: weight of the CVaR in [0, 1].

    References:
      FedeRage, Theorem 2.
    """
    tail_mass("alpha", alpha)
    fraction("gamma", gamma)
    return (1 - gamma) + gamma / alpha


def mean() -> Risk:
    """The risk-neutral objective, E f(theta; xi)."""

    def objective(losses: Losses, theta: PyTree, dual: PyTree, batch: Batch) -> tuple[Float[Array, ""], Step]:
        f = jnp.mean(losses(theta, batch))
        return f, Step(loss=f, tail=jnp.zeros(()))

    return Risk(init=lambda: (), objective=objective)


def mean_cvar(alpha: float | Array, gamma: float | Array) -> Risk:
    r"""The mean-CVaR of the mini-batch loss, by its variational form, jointly in theta and beta.

    .. math::
        g(\theta, \beta; \xi) = (1 - \gamma) f(\theta; \xi)
            + \gamma \Big( \beta + \frac{1}{\alpha} (f(\theta; \xi) - \beta)_+ \Big)

    Its gradient is exactly Algorithm 2's pair, with w = (1 - gamma) + (gamma / alpha) 1{f >= beta}:

        in theta:  w grad f
        in beta:   gamma (1 - 1{f >= beta} / alpha) = 1 - w

    The positive part is written `where(f >= beta, f - beta, 0)`, whose slope at the tie f = beta is 1: a tie is an
    exceedance, as in the paper (`jnp.maximum` gives 1/2 there, `relu` 0; at beta = 0 with a zero loss the tie is real).

    Args:
      alpha: tail mass in (0, 1]: 1 is the mean, towards 0 the worst case. Not a confidence level.
      gamma: weight of the CVaR in [0, 1]; 0 is the risk-neutral objective.

    References:
      FedeRage, eq. (fag) and Algorithm 2, lines 10-12; Rockafellar & Uryasev, J. Risk 2 (2000).
    """

    def objective(losses: Losses, theta: PyTree, beta: Array, batch: Batch) -> tuple[Float[Array, ""], Step]:
        f = jnp.mean(losses(theta, batch))
        tail = f >= beta
        excess = jnp.where(tail, f - beta, 0)
        g = (1 - gamma) * f + gamma * (beta + excess / alpha)
        return g, Step(loss=f, tail=tail.astype(f.dtype))

    return Risk(init=lambda: jnp.zeros(()), objective=objective)
