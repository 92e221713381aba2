"""For those who bring their own: do a method and a law keep the promises the engine relies on?

>>> from federage import FedAvg
>>> from federage.testing import check_algorithm
>>> check_algorithm(FedAvg(lr=0.1))
"""

from federage.participation.conformance import check_law
from federage.testing.algorithm import check_algorithm
from federage.testing.draws import arrivals, rows
from federage.testing.erase import train_all_then_erase
from federage.testing.problems import every_law, federation, laws, tiny

__all__ = [
    "arrivals",
    "check_algorithm",
    "check_law",
    "every_law",
    "federation",
    "laws",
    "rows",
    "tiny",
    "train_all_then_erase",
]
