"""The sentences: one file a family, each a record of a method's numbers and `parts()`, what it changes in FedAvg."""

from federage.algorithms.fedavg import FedAvg
from federage.algorithms.federage import FedeRage, FedeRageCV, FedeRageVARP
from federage.algorithms.fednova import FedNova
from federage.algorithms.fedopt import FedAdagrad, FedAdam, FedAvgM, FedYogi
from federage.algorithms.fedprox import FedProx
from federage.algorithms.generalised import GeneralisedFedAvg
from federage.algorithms.oracles import HorvitzThompson, SelfNormalised
from federage.algorithms.scaffold import Scaffold
from federage.algorithms.unknown_participation import MIFA, FedAU, FedStale, FedVARP
from federage.core.algorithm import Method

ALGORITHMS: dict[str, type[Method]] = {
    "fedavg": FedAvg,
    "fedprox": FedProx,
    "scaffold": Scaffold,
    "fedavgm": FedAvgM,
    "fedadagrad": FedAdagrad,
    "fedadam": FedAdam,
    "fedyogi": FedYogi,
    "fednova": FedNova,
    "generalised_fedavg": GeneralisedFedAvg,
    "fedau": FedAU,
    "mifa": MIFA,
    "fedvarp": FedVARP,
    "federage": FedeRage,
    "federage_cv": FedeRageCV,
    "federage_varp": FedeRageVARP,
    "horvitz_thompson": HorvitzThompson,
    "self_normalised": SelfNormalised,
    "fedstale": FedStale,
}
"""Methods by name, as a file or a command line knows them."""

__all__ = [
    "ALGORITHMS",
    "MIFA",
    "FedAU",
    "FedAdagrad",
    "FedAdam",
    "FedAvg",
    "FedAvgM",
    "FedNova",
    "FedProx",
    "FedStale",
    "FedVARP",
    "FedYogi",
    "FedeRage",
    "FedeRageCV",
    "FedeRageVARP",
    "GeneralisedFedAvg",
    "HorvitzThompson",
    "Scaffold",
    "SelfNormalised",
]
