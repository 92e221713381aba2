"""Train one model over many clients when you do not know who will answer."""

from federage import algorithms, analysis, data, models, participation, parts
from federage.algorithms import FedAvg, FedeRage, FedeRageCV, FedProx, Scaffold
from federage.core.algorithm import Algorithm, Method
from federage.core.model import Model
from federage.core.problem import Problem
from federage.core.result import Result
from federage.core.run import Progress, result_of, run, stream, sweep
from federage.core.types import Clients, Vars
from federage.data import partition
from federage.errors import FederageError
from federage.parts import Ball, Box, Interval, compose

__all__ = [
    "Algorithm",
    "Ball",
    "Box",
    "Clients",
    "FedAvg",
    "FedProx",
    "FedeRage",
    "FedeRageCV",
    "FederageError",
    "Interval",
    "Method",
    "Model",
    "Problem",
    "Progress",
    "Result",
    "Scaffold",
    "Vars",
    "algorithms",
    "analysis",
    "compose",
    "data",
    "models",
    "participation",
    "partition",
    "parts",
    "result_of",
    "run",
    "stream",
    "sweep",
]
