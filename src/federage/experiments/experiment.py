"""An experiment: what is compared, on what, under which law, as plain values to be printed, kept, read again."""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from federage.core.algorithm import Method
from federage.core.problem import Precision, Problem, Split
from federage.core.types import Clients
from federage.data import load, partition
from federage.models import MODELS
from federage.participation import LAWS

PARTITIONS: dict[str, Callable[..., Clients]] = {
    "iid": partition.iid,
    "by_class": partition.by_class,
    "dirichlet": partition.dirichlet,
    "quantity_skew": partition.quantity_skew,
    "by_group": partition.by_group,
}
"""Ways to cut a dataset into a federation, by name."""


class Choice(NamedTuple):
    """One of several by its name, and what it is made with: a law, a model, a partition."""

    name: str
    settings: Mapping[str, Any]

    @classmethod
    def of(cls, name: str, **settings: Any) -> Choice:
        return cls(name, settings)

    def make(self, known: Mapping[str, Callable[..., Any]], *first: Any) -> Any:
        return known[self.name](*first, **self.settings)

    def complete(self, known: Mapping[str, Callable[..., Any]], skip: int = 0) -> dict[str, Any]:
        """The settings with defaults filled in; the first `skip` parameters are not settings."""
        signature = inspect.signature(known[self.name])
        given = signature.bind_partial(**self.settings)
        given.apply_defaults()
        left_out = list(signature.parameters)[:skip]
        return {"name": self.name} | {key: value for key, value in given.arguments.items() if key not in left_out}


@dataclasses.dataclass(frozen=True)
class Experiment:
    """Several methods on one problem, each on the same seeds.

    Attributes:
      title: what the report calls it.
      data: a dataset's name.
      partition, law, model: one of `PARTITIONS`, `LAWS`, `MODELS`, and its settings.
      methods: records by the label they have in tables and figures.
      rounds: T.
      every: rounds between two looks.
      seeds: which.
      local_steps, batch: K and b.
      precision: of matrix products, as for `Problem`.
      smooth: decay of the exponential average of checkpoints.
      notes: what a reader must know to judge the numbers: how the settings were chosen, say.
    """

    title: str
    data: str
    partition: Choice
    law: Choice
    model: Choice
    methods: Mapping[str, Method]
    rounds: int
    every: int
    seeds: tuple[int, ...]
    local_steps: int = 10
    batch: int = 32
    precision: Precision = "float32"
    smooth: float = 0.99
    notes: tuple[str, ...] = ()

    def problem(self, look_at: Split = "test") -> Problem:
        """What all methods are played on."""
        clients = self.partition.make(PARTITIONS, load(self.data))
        law, model = self.law.make(LAWS), self.model.make(MODELS)
        return Problem(
            model,
            clients,
            law,
            local_steps=self.local_steps,
            batch=self.batch,
            precision=self.precision,
            look_at=look_at,
        )

    def settings(self) -> dict[str, dict[str, Any]]:
        """Everything, with defaults filled in: tables of plain values."""
        return {
            "data": {"name": self.data},
            "partition": self.partition.complete(PARTITIONS, skip=1),
            "law": self.law.complete(LAWS),
            "model": self.model.complete(MODELS),
            "work": {"local_steps": self.local_steps, "batch": self.batch, "precision": self.precision},
            "runs": {"rounds": self.rounds, "every": self.every, "seeds": list(self.seeds), "smooth": self.smooth},
            **{
                f"methods.{label}": {"kind": type(method).__name__} | _fields(method)
                for label, method in self.methods.items()
            },
        }


def _fields(method: Method) -> dict[str, Any]:
    return {field.name: getattr(method, field.name) for field in dataclasses.fields(method)}  # pyright: ignore[reportArgumentType]
