"""Who gets through: the participation laws R(S), their draws inside compiled programs, their exact marginals."""

from __future__ import annotations

from collections.abc import Callable

from federage.participation.coins import Coins
from federage.participation.conformance import check_law
from federage.participation.cyclic import Cyclic
from federage.participation.law import Law
from federage.participation.markov import Markov
from federage.participation.monte_carlo import monte_carlo
from federage.participation.named import SEVERITIES, full, skewed, uniform
from federage.participation.prescribed import Prescribed
from federage.participation.random_size import RandomSize
from federage.participation.table import Table
from federage.participation.trace import Trace
from federage.participation.weighted import Weighted

LAWS: dict[str, Callable[..., Law]] = {
    "uniform": uniform,
    "skewed": skewed,
    "full": full,
    "weighted": Weighted,
    "prescribed": Prescribed,
    "coins": Coins,
    "random_size": RandomSize,
    "table": Table,
    "markov": Markov,
    "cyclic": Cyclic,
    "cyclic_groups": Cyclic.of_groups,
    "trace": Trace.from_file,
}
"""Laws by name, as a command line knows them."""

__all__ = [
    "LAWS",
    "SEVERITIES",
    "Coins",
    "Cyclic",
    "Law",
    "Markov",
    "Prescribed",
    "RandomSize",
    "Table",
    "Trace",
    "Weighted",
    "check_law",
    "full",
    "monte_carlo",
    "skewed",
    "uniform",
]
