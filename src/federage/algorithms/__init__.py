"""The sentences: one file a family, each a record of a method's numbers and `parts()`, what it changes in FedAvg."""

from federage.algorithms.fedavg import FedAvg
from federage.algorithms.federage import FedeRage, FedeRageCV
from federage.algorithms.fedprox import FedProx
from federage.algorithms.scaffold import Scaffold
from federage.core.algorithm import Method

ALGORITHMS: dict[str, type[Method]] = {
    "fedavg": FedAvg,
    "fedprox": FedProx,
    "scaffold": Scaffold,
    "federage": FedeRage,
    "federage_cv": FedeRageCV,
}
"""Methods by name, as a file or a command line knows them."""

__all__ = ["ALGORITHMS", "FedAvg", "FedProx", "FedeRage", "FedeRageCV", "Scaffold"]
