"""Any explicit R(S)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
from jaxtyping import Array, Float, Int
from numpy.typing import ArrayLike

from federage.core.record import fill, static
from federage.core.types import Cohort, Marginals, PyTree
from federage.errors import RecordError
from federage.participation import checks, cohorts
from federage.participation.alias import Alias
from federage.participation.law import record


@record
class Table:
    """The law that is written down: R(subsets[r]) = probabilities[r].

    Args:
        subsets: Lists of client ids, none empty.
        probabilities: One a subset, summing to 1.
        clients: N; without it, the largest id that occurs plus one.

    Example:
        >>> Table([[0], [0, 1]], [0.5, 0.5]).weights().values.tolist()
        [0.75, 0.25]
    """

    clients: int = static()
    capacity: int = static()
    typical: int = static()
    ids: Int[Array, "subsets capacity"]
    sizes: Int[Array, " subsets"]
    chances: Float[Array, " subsets"]
    choice: Alias

    def __init__(self, subsets: Iterable[Sequence[int]], probabilities: ArrayLike, clients: int | None = None):
        known = clients if clients is None else checks.whole("clients", clients)
        listed = [checks.ids(f"subsets[{row}]", subset, known) for row, subset in enumerate(subsets)]
        if not listed:
            raise RecordError("subsets takes at least one list of client ids, but none came; write down R(S)")
        chances = checks.distribution("probabilities", probabilities, len(listed))
        clients = 1 + max(int(subset[-1]) for subset in listed) if known is None else known
        ids, sizes = cohorts.rows(listed, clients)
        fill(
            self,
            clients=clients,
            capacity=ids.shape[1],
            typical=max(1, round(float(chances @ sizes))),
            ids=ids,
            sizes=sizes,
            chances=chances,
            choice=Alias(chances),
        )

    def init(self, key: Array) -> PyTree:
        return ()

    def draw(self, state: PyTree, key: Array, round: Array | int) -> tuple[PyTree, Cohort]:
        row = self.choice.draw(key)
        return state, cohorts.row(self.ids, self.sizes, row)

    def inclusion(self) -> Marginals:
        return Marginals(self._marginals()[0], "sum over the table")

    def weights(self) -> Marginals:
        return Marginals(self._marginals()[1], "sum over the table")

    def _marginals(self) -> tuple[np.ndarray, np.ndarray]:
        return cohorts.marginals(self.ids, self.sizes, self.chances, self.clients)
