"""How step sizes are to be searched for: an experiment's table [tune], checked, with its defaults filled in.

[tune]
strategy = "random"      or "grid", or "halving": drawn at random, and the worse ones dropped on the way
budget = 32              configurations of every method
rounds = 2000            of a whole run; the experiment's own, if left out
seeds = 3                how many, from 100 on, or which; never those of the experiment
seed = 0                 of the draw
metric = "accuracy"      or "worst_tenth", "worst", "rare", "loss", on validation examples
over = 0.25              a score is the mean over the looks of this last part of the rounds
eta = 3                  of halving: one in eta goes on, for eta times as many rounds
checkpoint = "last"      or "average", "smooth"

[tune.space.LABEL]       what is searched for; without it, what `SPACES` has for the fields of the method's record
lr = { low = 0.01, high = 1.0, scale = "log" }
alpha = [0.1, 0.3, 0.5]
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping, Sequence
from typing import Any, Literal, NamedTuple

from federage.core.algorithm import Method
from federage.core.plan import Watched
from federage.errors import ExperimentError, unknown
from federage.experiments.choice import fitted, made
from federage.experiments.experiment import Experiment
from federage.experiments.reading import positive, section, seeds_of
from federage.experiments.values import parameters
from federage.tuning.controls import controls

Strategy = Literal["random", "grid", "halving"]
Measure = Literal["accuracy", "worst_tenth", "worst", "rare", "loss"]
Scale = Literal["log", "linear"]


class Range(NamedTuple):
    """All numbers between two ends, evenly in the logarithm or as they are."""

    low: float
    high: float
    scale: Scale = "log"

    def at(self, place: float) -> float:
        """The number at a place in [0, 1], to three digits: what is written down is what was played."""
        low, high = self._scaled(self.low), self._scaled(self.high)
        value = low + place * (high - low)
        rounded = float(f"{math.exp(value) if self.scale == 'log' else value:.3g}")
        return min(max(rounded, self.low), self.high)

    def place(self, value: float) -> float:
        """Where in [0, 1] a number lies."""
        low, high = self._scaled(self.low), self._scaled(self.high)
        return (self._scaled(value) - low) / (high - low)

    def _scaled(self, value: float) -> float:
        return math.log(value) if self.scale == "log" else value


Axis = Range | tuple[Any, ...]
Space = Mapping[str, Axis]

SPACES: Space = {
    "lr": Range(0.003, 1.0),
    "beta_lr": Range(0.0001, 1.0),
    "server_lr": Range(0.003, 3.0),
    "tau": Range(0.0001, 0.1),
    "mu": Range(0.001, 1.0),
    "alpha": (0.1, 0.3, 0.5),
    "gamma": (0.5, 0.9),
}
"""What is searched for where a file does not say, by the name of a record's field; other fields stay as they are."""

_MOST = 10_000  # configurations of a method
_FIRST = 100  # seed, where only their number is given
_KEYS: dict[str, Any] = {
    "strategy": Strategy,
    "budget": int,
    "rounds": int,
    "seeds": int | list[int],
    "seed": int,
    "metric": Measure,
    "over": float,
    "eta": int,
    "checkpoint": Watched,
    "space": Mapping[str, Any],
}


@dataclasses.dataclass(frozen=True)
class Search:
    """The table [tune], complete; `spaces` holds every method that is searched, by label."""

    strategy: Strategy
    budget: int
    rounds: int
    seeds: tuple[int, ...]
    seed: int
    metric: Measure
    over: float
    eta: int
    checkpoint: Watched
    spaces: Mapping[str, Space]

    def table(self) -> dict[str, Any]:
        """As a file has it; `search_of` reads the same again."""
        plain = {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}
        del plain["spaces"]
        return plain | {"seeds": list(self.seeds), "space": {label: _plain(s) for label, s in self.spaces.items()}}


def search_of(experiment: Experiment) -> Search:
    """How an experiment's methods are to be searched."""
    at = f"{experiment.source}, " if experiment.source else ""
    where = f"{at}[tune]"
    table = section({"tune": experiment.tune}, "tune", _KEYS, at)
    budget, rounds, eta = table.get("budget", 32), table.get("rounds", experiment.rounds), table.get("eta", 3)
    positive(where, budget=budget, rounds=rounds)
    if budget > _MOST:
        raise ExperimentError(f"{where}, budget: expected at most {_MOST:,} configurations, but {budget:,} came")
    if eta < 2:
        raise ExperimentError(f"{where}, eta: expected a whole number of at least 2, but {eta} came")
    if not 0 < (over := table.get("over", 0.25)) <= 1:
        raise ExperimentError(f"{where}, over: expected a part of the rounds in (0, 1], such as 0.25, but {over} came")
    if (seed := table.get("seed", 0)) < 0:
        raise ExperimentError(f"{where}, seed: expected a whole number of at least 0, but {seed} came")
    return Search(
        strategy=table.get("strategy", "random"),
        budget=budget,
        rounds=rounds,
        seeds=_seeds(table.get("seeds", 3), experiment.seeds, f"{where}, seeds"),
        seed=seed,
        metric=table.get("metric", "accuracy"),
        over=over,
        eta=eta,
        checkpoint=table.get("checkpoint", "last"),
        spaces=_spaces(table.get("space", {}), experiment, at),
    )


def _seeds(value: int | list[int], taken: Sequence[int], where: str) -> tuple[int, ...]:
    seeds = seeds_of(value, where, _FIRST)
    if both := sorted(set(seeds) & set(taken)):
        raise ExperimentError(
            f"{where}: expected seeds that the experiment does not use, for what is chosen on a seed's arrivals looks "
            f"better on them than elsewhere, but {', '.join(map(str, both))} came; give others than those of [runs]"
        )
    return seeds


def _spaces(tables: Mapping[str, Any], experiment: Experiment, at: str) -> dict[str, Space]:
    """A space for every method but the controls, whose numbers follow from others'."""
    follow = controls(experiment.methods)
    searched = {label: method for label, method in experiment.methods.items() if label not in follow}
    if not searched:
        raise ExperimentError(
            f"{at}[methods]: expected a method to tune, but there is none; begin one, [methods.FedAvg]"
        )
    for label in tables:
        if label in follow:
            raise ExperimentError(
                f"{at}[tune.space.{label}]: its lr follows from that of {follow[label]}; remove the table"
            )
        if label not in searched:
            raise ExperimentError(f"{at}[tune.space]: {unknown('method', label, searched)}")
    return {label: _space(tables.get(label), method, f"{at}[tune.space.{label}]") for label, method in searched.items()}


def _space(table: Any, method: Method, where: str) -> Space:
    """One method's space, every value of which its record takes."""
    fields = {key: p.annotation for key, p in parameters(type(method)).items() if hasattr(method, key)}
    if table is None:
        return {key: axis for key, axis in SPACES.items() if key in fields}
    if not isinstance(table, Mapping):
        raise ExperimentError(f"{where}: expected a table, but {table!r} came; begin it with {where.split(', ')[-1]}")
    space: dict[str, Axis] = {}
    for key, value in table.items():
        if key not in fields:
            raise ExperimentError(f"{where}: {unknown('key', key, fields, 'it has')}")
        space[key] = axis = _axis(value, fields[key], f"{where}, {key}")
        for end in axis[:2] if isinstance(axis, Range) else axis:
            changed(method, f"{where}, {key}", {key: end})
    return space


def changed(method: Method, where: str, numbers: Mapping[str, Any]) -> Method:
    """The method's record with other numbers."""
    kept = {key: getattr(method, key) for key in parameters(type(method)) if hasattr(method, key)}
    return made(type(method), where, **(kept | dict(numbers)))


def _axis(value: Any, annotation: Any, where: str) -> Axis:
    if isinstance(value, list):
        points = tuple(fitted(annotation, entry, where) for entry in value)
        if not points or any(point in points[:k] for k, point in enumerate(points)):
            raise ExperimentError(f"{where}: expected different values, at least one, but {value} came")
        return points
    if not isinstance(value, Mapping) or not {"low", "high"} <= set(value) <= {"low", "high", "scale"}:
        raise ExperimentError(
            f'{where}: expected a list of values, or a range such as {{low = 0.01, high = 1.0, scale = "log"}}, '
            f"but {value!r} came"
        )
    if annotation is int:
        raise ExperimentError(f"{where}: expected a list, for its values are whole numbers, but a range came")
    low, high = (fitted(float, value[end], f"{where}, {end}") for end in ("low", "high"))
    scale = fitted(Scale, value.get("scale", "log"), f"{where}, scale")
    if not (math.isfinite(low) and math.isfinite(high) and low < high):
        raise ExperimentError(f"{where}: expected low < high, both finite, but low = {low:g}, high = {high:g} came")
    if scale == "log" and low <= 0:
        raise ExperimentError(
            f'{where}: expected low > 0, for there is no logarithm of {low:g}; give scale = "linear", or a higher low'
        )
    return Range(low, high, scale)


def _plain(space: Space) -> dict[str, Any]:
    return {key: axis._asdict() if isinstance(axis, Range) else list(axis) for key, axis in space.items()}
