"""Fixed size, by successive weighted draws without replacement."""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float
from numpy.typing import ArrayLike

from federage.core.record import fill, static
from federage.core.types import Cohort, Marginals, PyTree
from federage.participation import arrival_times, checks
from federage.participation.law import record
from federage.participation.monte_carlo import monte_carlo
from federage.participation.successive import Successive

MOST_WORK = 4e9
"""Multiplications worth an exact answer: at worst some 30 seconds (1,000,000 clients of distinct weights, M = 3)."""


@record
class Weighted:
    """M clients, drawn one after another with probability proportional to `prior` among those not yet drawn.

        R(S) = sum over the orders (i_1, ..., i_M) of S of  prod_k  w_{i_k} / (1 - w_{i_1} - ... - w_{i_{k-1}})

    The prior is *not* the participation: pi_i = M * prior_i does not hold, since a client cannot be drawn twice.

    Args:
        prior: One non-negative number a client, in any scale; 0 means never.
        arrivals: M, at most the number of positive priors.

    Example:
        >>> Weighted([0.4, 0.4, 0.1, 0.1], arrivals=2).inclusion().values.round(3).tolist()
        [0.756, 0.756, 0.244, 0.244]
    """

    clients: int = static()
    capacity: int = static()
    typical: int = static()
    prior: Float[Array, " clients"]
    successive: Successive

    def __init__(self, prior: ArrayLike, arrivals: int):
        mass = checks.masses("prior", prior)
        size = checks.arrivals(arrivals, mass)
        fill(self, clients=mass.size, capacity=size, typical=size, prior=mass, successive=Successive(mass, size))

    def init(self, key: Array) -> PyTree:
        return ()

    def draw(self, state: PyTree, key: Array, round: Array | int) -> tuple[PyTree, Cohort]:
        ids = jnp.sort(self.successive.draw(key)).astype(jnp.int32)
        return state, Cohort(ids, jnp.int32(self.capacity))

    def inclusion(self) -> Marginals:
        credited = credit(np.asarray(self.prior, np.float64), np.ones(self.capacity))
        return monte_carlo(self)[0] if credited is None else Marginals(*credited)

    def weights(self) -> Marginals:
        credited = credit(np.asarray(self.prior, np.float64), np.full(self.capacity, 1 / self.capacity))
        return monte_carlo(self)[1] if credited is None else Marginals(*credited)


def credit(prior: np.ndarray, credits: np.ndarray) -> tuple[np.ndarray, str] | None:
    """What a client earns on average if the (k+1)-th drawn earns credits[k], and how it was computed.

    Ones give the inclusion probability, 1/M each the weight. None where the exact answer is not worth its time.
    """
    positive, total = prior > 0, credits.sum()
    if credits.size == 1:
        return total * prior / prior.sum(), "by definition"
    if (credits == credits[0]).all() and credits.size == np.count_nonzero(positive):
        return np.where(positive, credits[0], 0.0), "by definition: every client whose prior is > 0"
    if arrival_times.work(prior, credits.size) > MOST_WORK:
        return None
    ranks, row = arrival_times.rank_probabilities(prior, credits.size)
    earned = np.where(positive, (ranks @ credits)[row], 0.0)
    return earned * (total / earned.sum()), "quadrature over arrival times"
