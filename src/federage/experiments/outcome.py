"""Playing an experiment, and what came of it. Reports and tables read an `Outcome` and nothing else."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np

from federage.core.problem import Problem
from federage.core.result import Result
from federage.core.run import Progress, result_of, stream
from federage.core.types import Marginals
from federage.data import partition
from federage.experiments.environment import environment
from federage.experiments.experiment import Experiment

METRICS = {"accuracy": "all clients", "worst": "worst client", "worst_tenth": "worst 10 %", "rare": "rare group"}
"""What is measured at a checkpoint, and what it is called."""


class Tick(NamedTuple):
    """How far one method's runs have come; `progress` is None before the first leg."""

    label: str
    number: int
    rounds: int
    seconds: float
    progress: Progress | None


class Score(NamedTuple):
    """Mean and standard deviation over the seeds that stayed finite, and how many those are.

    The mean is NaN where there is none, or where the metric is not defined; so is the deviation of a single seed.
    """

    mean: float
    std: float
    seeds: int


@dataclasses.dataclass(frozen=True)
class Outcome:
    """What an experiment has come to.

    Attributes:
      experiment: what was played.
      results: by method's label.
      inclusion, weights: pi and p of the law.
      clients: one row a client (`partition.describe`).
      environment: where and when.
      seconds: how long each method took, compilation included.
    """

    experiment: Experiment
    results: Mapping[str, Result]
    inclusion: Marginals
    weights: Marginals
    clients: list[dict[str, Any]]
    environment: dict[str, str]
    seconds: Mapping[str, float]

    @property
    def checkpoints(self) -> dict[str, str]:
        """The checkpoints that were looked at, and what they are called."""
        return {
            "last": "last checkpoint",
            "average": "average of all checkpoints",
            "smooth": f"exponential average, decay {self.experiment.smooth:g}",
        }

    def score(self, label: str, checkpoint: str, metric: str) -> Score:
        """A metric at the last look."""
        result = self.results[label]
        values = np.asarray(getattr(result.looks[checkpoint], metric), np.float64)[result.finite, -1]
        if not len(values):
            return Score(np.nan, np.nan, 0)
        return Score(float(values.mean()), float(values.std(ddof=1)) if len(values) > 1 else np.nan, len(values))

    def best(self, checkpoint: str, metric: str) -> list[str]:
        """The method with the best mean, or several that share it; none if no run stayed finite."""
        means = {label: self.score(label, checkpoint, metric).mean for label in self.results}
        most = max((mean for mean in means.values() if not np.isnan(mean)), default=np.nan)
        return [label for label, mean in means.items() if mean == most]


def play(experiment: Experiment, tell: Callable[[Tick], None] = lambda tick: None) -> Outcome:
    """Play every method of an experiment, one after the other, telling how far it has come after each leg."""
    problem = experiment.problem()
    results, seconds = {}, {}
    for number, label in enumerate(experiment.methods):
        started = time.perf_counter()
        results[label] = _one(experiment, problem, label, number, tell)
        seconds[label] = time.perf_counter() - started
    return Outcome(
        experiment=experiment,
        results=results,
        inclusion=problem.law.inclusion(),
        weights=problem.law.weights(),
        clients=partition.describe(problem.clients),
        environment=environment(),
        seconds=seconds,
    )


def _one(experiment: Experiment, problem: Problem, label: str, number: int, tell: Callable[[Tick], None]) -> Result:
    method, seeds = experiment.methods[label], experiment.seeds
    legs = stream(
        problem,
        method,
        rounds=experiment.rounds,
        seeds=seeds,
        every=experiment.every,
        watch=("average",),
        smooth=experiment.smooth,
    )
    started = time.perf_counter()
    tell(Tick(label, number, experiment.rounds, 0.0, None))
    progress = None
    for progress in legs:
        tell(Tick(label, number, experiment.rounds, time.perf_counter() - started, progress))
    assert progress is not None  # an experiment has at least one round
    return result_of(problem, method, seeds, progress)
