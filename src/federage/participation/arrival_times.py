"""Exact marginals of successive weighted draws without replacement.

Let client i arrive at an exponential time T_i of rate w_i. The order of arrival is the order of successive draws with
probability proportional to w among those not yet drawn, so

    P(i is drawn with k clients before it) = integral of w_i e^{-w_i t} P(exactly k of the others arrived by t) dt,

and with a_j = 1 - e^{-w_j t} the number of others who arrived is a sum of independent coins (Poisson-binomial).
Clients of equal weight have equal answers, and enter together, as binomials.

Two things make this accurate to the last digits, over any spread of weights:

* In x = log t the integrand is analytic in a strip and decays at both ends, so the trapezoidal rule converges
  geometrically in 1/h; Gauss nodes would have to know at which of many scales the action is.
* "All but i" is formed from products of probabilities only, up and down a binary tree; nothing is divided out.
"""

from __future__ import annotations

import math

import numpy as np

_CHUNK = 4_000_000  # float64 entries of one level of the tree: 32 MB


def nodes(w: np.ndarray, n: np.ndarray, size: int) -> tuple[np.ndarray, float]:
    """Arrival times, equidistant in log t, and their step, for the first `size` arrivals.

    Before t = 1e-14 / sum(w) nobody arrives. Fewer than `size` have arrived by t with probability at most
    C(N, size-1) e^{-t s}, s the sum of the N-size+1 smallest weights. The size-th arrival is sharp to 1/sqrt(size).
    """
    total = int(n.sum())
    slowest = total - size + 1
    ascending = np.minimum(n, np.maximum(0, slowest - (np.cumsum(n) - n)))  # w comes sorted
    choices = math.lgamma(total + 1) - math.lgamma(size) - math.lgamma(slowest + 1)
    first, last = math.log(1e-14 / (n @ w)), math.log((45 + choices) / (ascending @ w))
    step = min(0.25, 0.6 / math.sqrt(size))
    return np.exp(np.arange(first, last + step, step)), step


def multiply(p: np.ndarray, q: np.ndarray) -> np.ndarray:
    """Products of polynomials [degree, row, node], truncated at their common length."""
    product = p[0] * q
    for k in range(1, len(p)):
        product[k:] += p[k] * q[:-k]
    return product


def all_but_one(p: np.ndarray) -> np.ndarray:
    """For every row, the product of all other rows: [degree, row, node]."""
    one = np.zeros_like(p[:, :1])
    one[0] = 1
    levels = [p]
    while levels[-1].shape[1] > 1:
        if levels[-1].shape[1] % 2:
            levels[-1] = np.concatenate([levels[-1], one], axis=1)
        levels.append(multiply(*np.split(levels[-1], 2, axis=1)))
    outside = one
    for level in reversed(levels[:-1]):
        left, right = np.split(level, 2, axis=1)
        parent = outside[:, : left.shape[1]]
        outside = np.concatenate([multiply(parent, right), multiply(parent, left)], axis=1)
    return outside[:, : p.shape[1]]


def binomials(n: np.ndarray, w: np.ndarray, t: np.ndarray, size: int) -> np.ndarray:
    """P(k of n clients of weight w arrived by t), k < size: [k, weight, t]."""
    k = np.arange(size)[:, None]
    ways = np.ones((size, n.size))
    ways[1:] = np.maximum(n - k[:-1], 0) / k[1:]
    with np.errstate(divide="ignore"):
        log_ways = np.cumsum(np.log(ways), axis=0)[:, :, None]
    wt = w[:, None] * t
    k = k[:, :, None]
    return np.exp(log_ways + k * np.log(-np.expm1(-wt)) - np.maximum(n[:, None] - k, 0) * wt)


def work(prior: np.ndarray, size: int) -> float:
    """Multiplications that `rank_probabilities` takes."""
    w, n = np.unique(prior[prior > 0], return_counts=True)
    return 1.5 * w.size * size * (size + 1) * nodes(w, n, size)[0].size if w.size > 1 else 0.0


def rank_probabilities(prior: np.ndarray, size: int) -> tuple[np.ndarray, np.ndarray]:
    """P(drawn with k clients before it), k < size, for every distinct positive weight, and the weight of each client.

    Returns:
        ranks [weights, size], and for every client of the prior its row (-1 where the prior is 0).
    """
    which = np.full(prior.size, -1)
    w, which[prior > 0], n = np.unique(prior[prior > 0], return_inverse=True, return_counts=True)
    if w.size == 1:
        return np.full((1, size), 1 / n[0]), which
    t, step = nodes(w, n, size)
    ranks = np.zeros((w.size, size))
    for part in np.array_split(t, max(1, math.ceil(w.size * size * t.size / _CHUNK))):
        others = multiply(all_but_one(binomials(n, w, part, size)), binomials(n - 1, w, part, size))
        rate = w[:, None] * part  # w t: dt = t dx
        ranks += np.einsum("gt,kgt->gk", step * rate * np.exp(-rate), others)
    return ranks, which
