"""Train one model over many clients when you do not know who will answer."""

import os
from typing import TYPE_CHECKING

from federage import algorithms, analysis, data, models, participation, parts
from federage.algorithms import (
    MIFA,
    FedAdagrad,
    FedAdam,
    FedAU,
    FedAvg,
    FedAvgM,
    FedeRage,
    FedeRageCV,
    FedeRageVARP,
    FedNova,
    FedProx,
    FedStale,
    FedVARP,
    FedYogi,
    GeneralisedFedAvg,
    HorvitzThompson,
    Scaffold,
    SelfNormalised,
)
from federage.core.algorithm import Algorithm, Method
from federage.core.model import Model
from federage.core.problem import Problem
from federage.core.result import Result
from federage.core.run import Progress, result_of, run, stream, sweep
from federage.core.types import Clients, Vars
from federage.data import partition
from federage.errors import FederageError
from federage.parts import Ball, Box, Interval, compose

if TYPE_CHECKING:
    from federage.experiments import Recorded

__all__ = [
    "MIFA",
    "Algorithm",
    "Ball",
    "Box",
    "Clients",
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
    "FederageError",
    "GeneralisedFedAvg",
    "HorvitzThompson",
    "Interval",
    "Method",
    "Model",
    "Problem",
    "Progress",
    "Result",
    "Scaffold",
    "SelfNormalised",
    "Vars",
    "algorithms",
    "analysis",
    "compose",
    "data",
    "models",
    "open",
    "participation",
    "partition",
    "parts",
    "result_of",
    "run",
    "stream",
    "sweep",
]


def open(folder: "str | os.PathLike[str]") -> "Recorded":
    """What `federage run` (or `federage.experiments.play`) recorded in a folder, as polars frames.

    The engine does without polars: it is imported here, when a folder is opened.
    """
    from federage.experiments import open_folder

    return open_folder(folder)
