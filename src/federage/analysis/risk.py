"""Exact risk of a weighted discrete distribution: its tail, its atoms, and the weights that risk aversion gives them.

A distribution is a list of losses and one of weights: f = losses[k] with probability weights[k] / sum(weights), equal
weights unless given. All is computed in float64, on the host. `parts.mean_cvar` is what a client descends; here is what
that amounts to. `alpha` is the tail mass in (0, 1], 1 for the mean and towards 0 the worst case, not a confidence
level; `gamma` is the weight of the CVaR.

References:
  Rockafellar & Uryasev, Optimization of conditional value-at-risk, J. Risk 2 (2000).
  Rockafellar & Uryasev, Conditional value-at-risk for general loss distributions, J. Banking & Finance 26 (2002).
  FedeRage, Sections II and III.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from federage.core.record import fraction, tail_mass
from federage.errors import RecordError
from federage.participation import checks
from federage.parts.risk import kappa

__all__ = ["cvar", "kappa", "mean_cvar", "tail_weights", "var", "variational"]


def var(losses: ArrayLike, alpha: float, weights: ArrayLike | None = None) -> float:
    r"""The value at risk: the least loss that is exceeded with probability at most alpha.

    .. math::
        \mathrm{VaR}^\alpha(f) = \min \{ \beta \in \operatorname{supp} f : P(f > \beta) \le \alpha \}

    The variational form is least on a whole interval [VaR, VaR+] where P(f > VaR) = alpha exactly: VaR+ is the next
    larger loss. Its *lower* end is returned, as everywhere in the literature. With alpha = 1 the interval has no lower
    end, since every beta up to the smallest loss will do: then the smallest loss is returned. Probabilities that differ
    from alpha by no more than the rounding of their sum count as equal.

    >>> var([1, 2, 3, 4], alpha=0.5)
    2.0

    Args:
      losses: the values f takes; the same value may come several times.
      alpha: tail mass in (0, 1].
      weights: non-negative, scaled to sum to 1; a loss of weight 0 is no value of f.
    """
    f, p, alpha = *_distribution(losses, weights), _number("alpha", alpha, tail_mass)
    return float(_quantile(f, p, alpha))


def cvar(losses: ArrayLike, alpha: float, weights: ArrayLike | None = None) -> float:
    r"""The conditional value at risk: the mean of the worst alpha of the probability.

    .. math::
        \mathrm{CVaR}^\alpha(f) = \frac{1}{\alpha} \Big( E[f ; f > v] + \big( \alpha - P(f > v) \big) v \Big),
            \quad v = \mathrm{VaR}^\alpha(f)

    The atom at v is split: only so much of it is in the tail as fills it up to alpha.

    >>> cvar([0, 0, 0, 4], alpha=0.5)
    2.0

    Args:
      losses: as for `var`.
      alpha: as for `var`.
      weights: as for `var`.
    """
    return mean_cvar(losses, alpha, 1.0, weights)


def mean_cvar(losses: ArrayLike, alpha: float, gamma: float, weights: ArrayLike | None = None) -> float:
    r"""The mean and the CVaR, mixed: what FedeRage descends, once beta is the best one.

    .. math::
        (1 - \gamma) E f + \gamma \, \mathrm{CVaR}^\alpha(f)

    >>> mean_cvar([0, 0, 0, 4], alpha=0.5, gamma=0.5)
    1.5

    Args:
      losses: as for `var`.
      alpha: as for `var`.
      gamma: weight of the CVaR in [0, 1].
      weights: as for `var`.
    """
    f, _ = _distribution(losses, weights)
    return float(tail_weights(losses, alpha, gamma, weights) @ f)


def variational(
    losses: ArrayLike, beta: ArrayLike, alpha: float, gamma: float, weights: ArrayLike | None = None
) -> np.ndarray:
    r"""The objective that FedeRage descends jointly, as a function of beta; `mean_cvar` is its minimum.

    .. math::
        (1 - \gamma) E f + \gamma \Big( \beta + \frac{1}{\alpha} E (f - \beta)_+ \Big)

    >>> variational([0, 0, 0, 4], beta=[-1, 0, 1], alpha=0.5, gamma=0.5).tolist()
    [2.0, 1.5, 1.75]

    Args:
      losses: as for `var`.
      beta: one number, or an array of them.
      alpha: as for `var`.
      gamma: weight of the CVaR in [0, 1].
      weights: as for `var`.

    Returns:
      One number for each in beta.
    """
    f, p, alpha = *_distribution(losses, weights), _number("alpha", alpha, tail_mass)
    gamma, beta = _number("gamma", gamma, fraction), np.asarray(beta, np.float64)
    excess = np.maximum(f - beta[..., None], 0) @ p
    return np.asarray((1 - gamma) * (f @ p) + gamma * (beta + excess / alpha))


def tail_weights(losses: ArrayLike, alpha: float, gamma: float, weights: ArrayLike | None = None) -> np.ndarray:
    r"""The probabilities under which the plain mean is the mean-CVaR: the maximiser of the dual.

    .. math::
        q_k = p_k \big( (1 - \gamma) + \gamma \, d_k \big), \quad
        d_k = \begin{cases}
            1 / \alpha & f_k > v \\
            (1 - P(f > v) / \alpha) / P(f = v) & f_k = v \\
            0 & f_k < v
        \end{cases}, \quad v = \mathrm{VaR}^\alpha(f)

    They sum to 1, and are the gradient of `mean_cvar` in the losses wherever that has one. Equal losses get the same
    d. Where they differ by client they are the *effective availability* that risk aversion puts in the place of p.

    >>> tail_weights([1, 2, 3, 4], alpha=0.375, gamma=1.0).round(3).tolist()
    [0.0, 0.0, 0.333, 0.667]

    Args:
      losses: as for `var`.
      alpha: as for `var`.
      gamma: weight of the CVaR in [0, 1].
      weights: as for `var`.
    """
    f, p, alpha = *_distribution(losses, weights), _number("alpha", alpha, tail_mass)
    gamma = _number("gamma", gamma, fraction)
    v = _quantile(f, p, alpha)
    above, atom = f > v, f == v
    left = max(0.0, 1 - p[above].sum() / alpha)
    density = np.where(above, 1 / alpha, np.where(atom, left / p[atom].sum(), 0))
    return p * ((1 - gamma) + gamma * density)


def _quantile(f: np.ndarray, p: np.ndarray, alpha: float) -> np.float64:
    """The least loss of positive weight with P(f > loss) <= alpha, up to the rounding of a sum of that many terms."""
    values, place = np.unique(f[p > 0], return_inverse=True)
    mass = np.bincount(place, p[p > 0])
    exceeded = np.append(np.cumsum(mass[:0:-1])[::-1], 0.0)  # P(f > value)
    return values[np.argmax(exceeded <= alpha * (1 + len(f) * np.finfo(np.float64).eps))]


def _distribution(losses: ArrayLike, weights: ArrayLike | None) -> tuple[np.ndarray, np.ndarray]:
    f = checks.vector("losses", losses, of="scenario")
    return f, checks.masses("weights", 1.0 if weights is None else weights, len(f), of="scenario")


def _number(name: str, value: Any, check: Callable[[str, Any], None]) -> float:
    """One number, also where it came as an array of one."""
    if np.ndim(value):
        raise RecordError(f"{name} takes one number, but shape {np.shape(value)} came; call this once for each")
    check(name, value.item() if hasattr(value, "item") else value)
    return float(value)
