"""Random size, then successive weighted draws of that many."""

from __future__ import annotations

from collections.abc import Mapping

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float
from numpy.typing import ArrayLike

from federage.core.record import fill, static
from federage.core.types import Cohort, Marginals, PyTree
from federage.errors import RecordError
from federage.participation import checks
from federage.participation.alias import Alias
from federage.participation.law import record
from federage.participation.monte_carlo import monte_carlo
from federage.participation.successive import Successive
from federage.participation.weighted import credit


@record
class RandomSize:
    """|S| = m with probability sizes[m]; then m clients by successive draws proportional to `prior`.

    As many clients as may ever be needed are drawn in order, and the first m of them arrive. A client drawn with k
    others before it arrives if m > k, and then weighs 1/m:

        pi_i = sum_k P(i has k before it) sum_{m > k} sizes[m]
        p_i  = sum_k P(i has k before it) sum_{m > k} sizes[m] / m

    Args:
        prior: One non-negative number a client, in any scale; 0 means never.
        sizes: Probabilities by size, {1: 0.5, 3: 0.5}, or in order from size 1 up: [0.5, 0, 0.5].

    Example:
        >>> RandomSize([1, 1, 1], sizes={1: 0.5, 3: 0.5}).inclusion().values.round(3).tolist()
        [0.667, 0.667, 0.667]
    """

    clients: int = static()
    capacity: int = static()
    typical: int = static()
    prior: Float[Array, " clients"]
    sizes: Float[Array, " capacity"]
    choice: Alias
    successive: Successive

    def __init__(self, prior: ArrayLike, sizes: Mapping[int, float] | ArrayLike):
        mass = checks.masses("prior", prior)
        chances = _by_size(sizes)
        largest = checks.arrivals(chances.size, mass)
        fill(
            self,
            clients=mass.size,
            capacity=largest,
            typical=max(1, round(float(chances @ np.arange(1, largest + 1)))),
            prior=mass,
            sizes=chances,
            choice=Alias(chances),
            successive=Successive(mass, largest),
        )

    def init(self, key: Array) -> PyTree:
        return ()

    def draw(self, state: PyTree, key: Array, round: Array | int) -> tuple[PyTree, Cohort]:
        key_size, key_clients = jax.random.split(key)
        count = self.choice.draw(key_size).astype(jnp.int32) + 1
        in_order = self.successive.draw(key_clients).astype(jnp.int32)
        arrived = jnp.arange(self.capacity) < count
        return state, Cohort(jnp.sort(jnp.where(arrived, in_order, self.clients)), count)

    def inclusion(self) -> Marginals:
        credited = credit(np.asarray(self.prior, np.float64), self._beyond(1.0))
        return monte_carlo(self)[0] if credited is None else Marginals(*credited)

    def weights(self) -> Marginals:
        credited = credit(np.asarray(self.prior, np.float64), self._beyond(np.arange(1, self.capacity + 1)))
        return monte_carlo(self)[1] if credited is None else Marginals(*credited)

    def _beyond(self, divisor: np.ndarray | float) -> np.ndarray:
        """sum_{m > k} sizes[m] / divisor[m], for k = 0, 1, ..."""
        sizes = np.asarray(self.sizes, np.float64)
        return np.cumsum((sizes / sizes.sum() / divisor)[::-1])[::-1]


def _by_size(sizes: Mapping[int, float] | ArrayLike) -> np.ndarray:
    """Probabilities of the sizes 1, 2, ..., the last one positive."""
    if isinstance(sizes, Mapping):
        if not sizes:
            raise RecordError("sizes takes a probability for some size, but it came empty; pass {3: 1.0} for M = 3")
        names = [checks.whole("every size in sizes", size) for size in sizes]
        given = checks.distribution("sizes", list(sizes.values()), len(names))
        chances = np.bincount(names, given)[1:]
    else:
        chances = checks.vector("sizes", sizes)
        chances = checks.distribution("sizes", chances, chances.size)
    return chances[: int(np.flatnonzero(chances)[-1]) + 1]
