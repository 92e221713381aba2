"""Mean-CVaR optima of small problems, found without descending: by linear programming, by sorting, by scanning."""

from __future__ import annotations

import numpy as np
from scipy.optimize import linprog


def cvar(losses, weights, alpha: float) -> float:
    """The mean of the worst share alpha of the outcomes: sort, and take from the top; an atom may be taken in part."""
    order = np.argsort(-losses)
    above = np.cumsum(weights[order]) - weights[order]
    taken = np.clip(alpha - above, 0, weights[order])
    return float(taken @ losses[order] / alpha)


def mean_cvar(losses, weights, alpha: float, gamma: float) -> float:
    return (1 - gamma) * float(weights @ losses) + gamma * cvar(losses, weights, alpha)


def variational(losses, beta: float, weights, alpha: float, gamma: float) -> float:
    """Rockafellar and Uryasev's objective, of which the mean-CVaR is the least value over beta."""
    return float(weights @ ((1 - gamma) * losses + gamma * (beta + np.maximum(losses - beta, 0) / alpha)))


def hinge(z, theta) -> np.ndarray:
    """Losses of the signed examples z = s x."""
    return np.maximum(0, 1 - z @ theta)


def hinge_optimum(z, weights, alpha: float, gamma: float, bound: float) -> tuple[float, np.ndarray]:
    """The least mean-CVaR of the hinge loss over the box |theta_k| <= bound, and where it is.

    A linear program in (theta, beta, f, u): f >= 1 - z theta, u >= f - beta, f >= 0, u >= 0.
    """
    n, d = z.shape
    cost = np.concatenate([np.zeros(d), [gamma], (1 - gamma) * weights, gamma / alpha * weights])
    losses = np.hstack([-z, np.zeros((n, 1)), -np.eye(n), np.zeros((n, n))])
    excess = np.hstack([np.zeros((n, d)), -np.ones((n, 1)), np.eye(n), -np.eye(n)])
    found = linprog(
        cost,
        np.vstack([losses, excess]),
        np.concatenate([-np.ones(n), np.zeros(n)]),
        bounds=[(-bound, bound)] * d + [(None, None)] + [(0, None)] * (2 * n),
    )
    assert found.success
    return found.fun, found.x[:d]
