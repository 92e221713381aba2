"""Cohorts from a vector of who is present, and from the rows of a padded table: ascending ids, then N."""

from __future__ import annotations

from collections.abc import Sequence

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Int

from federage.core.types import Cohort


def of_present(present: Bool[Array, " clients"]) -> Cohort:
    """The cohort of those who are present."""
    clients = present.shape[0]
    place = jnp.where(present, jnp.cumsum(present) - 1, clients)
    ids = jnp.full(clients, clients, jnp.int32).at[place].set(jnp.arange(clients, dtype=jnp.int32), mode="drop")
    return Cohort(ids, present.sum(dtype=jnp.int32))


def rows(subsets: Sequence[np.ndarray], clients: int) -> tuple[Array, Array]:
    """Ascending subsets as the rows of one padded table, and their sizes."""
    sizes = np.array([subset.size for subset in subsets], np.int32)
    table = np.full((sizes.size, sizes.max()), clients, np.int32)
    table[np.arange(table.shape[1]) < sizes[:, None]] = np.concatenate(subsets)
    return jnp.asarray(table), jnp.asarray(sizes)


def row(table: Int[Array, "rows capacity"], sizes: Int[Array, " rows"], number: Int[Array, ""] | int) -> Cohort:
    """One row of such a table."""
    return Cohort(table[number], sizes[number])


def marginals(
    table: Array, sizes: Array, probabilities: Array | np.ndarray, clients: int
) -> tuple[np.ndarray, np.ndarray]:
    """(pi, p): sum_S R(S) 1{i in S} and sum_S R(S) 1{i in S} / |S|, over the rows S of such a table."""
    chance = np.asarray(probabilities, np.float64)[:, None]
    chance = chance / chance.sum()
    count = np.asarray(sizes, np.float64)[:, None]
    ids = np.asarray(table)

    def total(credit: np.ndarray) -> np.ndarray:
        return np.bincount(ids.ravel(), np.broadcast_to(credit, ids.shape).ravel(), clients + 1)[:clients]

    return total(chance), total(chance / count)
