"""Independent coins, given that someone came."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float
from numpy.typing import ArrayLike

from federage.core.record import fill, static
from federage.core.types import Cohort, Marginals, PyTree
from federage.errors import RecordError
from federage.participation import checks, cohorts, fine
from federage.participation.alias import Alias
from federage.participation.law import record


@record
class Coins:
    """Every client tosses its own coin; rounds in which nobody comes do not count.

        R(S) = prod_{i in S} q_i prod_{i not in S} (1 - q_i) / (1 - prod_i (1 - q_i)),   S not empty

    Drawn exactly and without rejection: first the lowest client J who comes,

        P(J = j) = q_j prod_{i < j} (1 - q_i) / (1 - prod_i (1 - q_i)),

    then independent coins for the clients above J.

    Args:
        probabilities: q, one number in [0, 1] a client, not all 0; a scalar with `clients`.
        clients: N, where a scalar stands for everybody.

    Example:
        >>> Coins([0.5, 0.5]).inclusion().values.round(3).tolist()
        [0.667, 0.667]
    """

    clients: int = static()
    capacity: int = static()
    typical: int = static()
    chances: Float[Array, " clients"]
    first: Alias

    def __init__(self, probabilities: ArrayLike, clients: int | None = None):
        q = checks.probabilities("probabilities", probabilities, clients)
        if not q.any():
            raise RecordError(
                f"probabilities takes at least one number > 0, but all {q.size} are zero; R(empty) = 0 needs someone"
            )
        with np.errstate(divide="ignore"):
            nobody_below = np.exp(np.append(0.0, np.cumsum(np.log1p(-q))[:-1]))
        fill(
            self,
            clients=q.size,
            capacity=q.size,
            typical=max(1, round(float(inclusion(q).sum()))),
            chances=q,
            first=Alias(q * nobody_below),
        )

    def init(self, key: Array) -> PyTree:
        return ()

    def present(self, key: Array) -> Bool[Array, " clients"]:
        """Who comes, as a vector."""
        key_first, key_others = jax.random.split(key)
        first, client = self.first.draw(key_first), jnp.arange(self.clients)
        comes = fine.uniform(key_others, (self.clients,)) < self.chances
        return (client == first) | ((client > first) & comes)

    def draw(self, state: PyTree, key: Array, round: Array | int) -> tuple[PyTree, Cohort]:
        return state, cohorts.of_present(self.present(key))

    def inclusion(self) -> Marginals:
        return Marginals(inclusion(np.asarray(self.chances, np.float64)), "closed form")

    def weights(self) -> Marginals:
        return Marginals(weights(np.asarray(self.chances, np.float64)), "quadrature of the generating function")


def inclusion(q: np.ndarray) -> np.ndarray:
    """q_i / (1 - prod_j (1 - q_j))."""
    with np.errstate(divide="ignore"):
        return q / -np.expm1(np.log1p(-q).sum())


def weights(q: np.ndarray) -> np.ndarray:
    """p_i from E 1/(1 + Z) = integral of E s^Z ds over [0, 1], Z the number of others who come.

    With y = 1 - s, p_i is proportional to q_i * integral of prod_{j != i} (1 - q_j y) dy. The product falls like
    e^{-y sum q} or faster: Gauss-Legendre on twelve panels that end where it has fallen below e^{-60}.
    """
    values, which, counts = np.unique(q, return_inverse=True, return_counts=True)
    x, dx = np.polynomial.legendre.leggauss(16)
    width = min(1.0, 60 / q.sum()) / 12
    y = (width * (np.arange(12)[:, None] + (x + 1) / 2)).ravel()
    dy = np.tile(width * dx / 2, 12)
    integral = np.zeros_like(values)
    for node, step in zip(y, dy, strict=True):
        integral += step * np.exp(counts @ np.log1p(-node * values)) / (1 - node * values)
    p = (values * integral)[which]
    return p / p.sum()
