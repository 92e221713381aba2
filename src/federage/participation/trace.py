"""Arrivals that were recorded."""

from __future__ import annotations

import csv
import os
from collections.abc import Iterable, Sequence

import numpy as np
from jaxtyping import Array, Int

from federage.core.record import fill, static
from federage.core.types import Cohort, Marginals, PyTree
from federage.errors import DamagedFile, MissingData, RecordError
from federage.participation import checks, cohorts
from federage.participation.law import record


@record
class Trace:
    """A record of who came in which round, replayed from its beginning and, at its end, again.

    Nothing is random: round t sees the arrivals of recorded round t mod T, and the marginals are those of one replay.

    Args:
        rounds: Lists of client ids, none empty.
        clients: N; without it, the largest id that occurs plus one.
    """

    clients: int = static()
    capacity: int = static()
    typical: int = static()
    ids: Int[Array, "rounds capacity"]
    sizes: Int[Array, " rounds"]

    def __init__(self, rounds: Iterable[Sequence[int]], clients: int | None = None):
        known = clients if clients is None else checks.whole("clients", clients)
        listed = [checks.ids(f"rounds[{number}]", arrived, known) for number, arrived in enumerate(rounds)]
        if not listed:
            raise RecordError("rounds takes at least one round, but none came; pass lists of client ids")
        clients = 1 + max(int(arrived[-1]) for arrived in listed) if known is None else known
        ids, sizes = cohorts.rows(listed, clients)
        fill(
            self,
            clients=clients,
            capacity=ids.shape[1],
            typical=max(1, round(float(sizes.mean()))),
            ids=ids,
            sizes=sizes,
        )

    @classmethod
    def from_file(cls, path: str | os.PathLike[str], clients: int | None = None) -> Trace:
        """Read a CSV file with the header `round,client` and one line an arrival, in any order.

        Rounds without a line are rounds in which nobody came: they do not count, and the next one follows.
        """
        try:
            with open(path, newline="", encoding="utf-8") as file:
                lines = list(csv.reader(file))
        except FileNotFoundError:
            raise MissingData(f"a trace was expected at {path}, but there is no such file; correct the path") from None
        except UnicodeDecodeError:
            raise DamagedFile(f"{path} should be a text file of arrivals, but is not UTF-8; export it as CSV") from None
        if not lines or [name.strip() for name in lines[0]] != ["round", "client"]:
            came = ",".join(lines[0]) if lines else "an empty file"
            raise DamagedFile(f"{path} should begin with the line 'round,client', but {came!r} came; add that header")
        arrived: dict[int, list[int]] = {}
        for number, line in enumerate(lines[1:], start=2):
            try:
                round, client = (int(cell) for cell in line)
            except ValueError:
                raise DamagedFile(
                    f"{path}, line {number}, should be two integers 'round,client', but {','.join(line)!r} came; "
                    "correct it"
                ) from None
            arrived.setdefault(round, []).append(client)
        return cls([arrived[round] for round in sorted(arrived)], clients)

    def init(self, key: Array) -> PyTree:
        return ()

    def draw(self, state: PyTree, key: Array, round: Array | int) -> tuple[PyTree, Cohort]:
        return state, cohorts.row(self.ids, self.sizes, round % self.ids.shape[0])

    def inclusion(self) -> Marginals:
        return Marginals(self._marginals()[0], "one replay of the trace")

    def weights(self) -> Marginals:
        return Marginals(self._marginals()[1], "one replay of the trace")

    def _marginals(self) -> tuple[np.ndarray, np.ndarray]:
        rounds = self.ids.shape[0]
        return cohorts.marginals(self.ids, self.sizes, np.full(rounds, 1 / rounds), self.clients)
