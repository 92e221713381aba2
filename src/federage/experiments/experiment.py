"""An experiment: what is compared, on what, under which law, as plain values to be printed, kept, read again."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from typing import Any

from federage.algorithms import ALGORITHMS
from federage.core.algorithm import Method
from federage.core.problem import Precision, Problem, Split
from federage.core.types import Clients
from federage.data import partition
from federage.errors import ExperimentError
from federage.experiments.choice import Choice, made, maker
from federage.experiments.sources import SOURCES
from federage.experiments.values import parameters
from federage.models import MODELS
from federage.participation import LAWS, Law

PARTITIONS: dict[str, Callable[..., Clients]] = {
    "iid": partition.iid,
    "by_class": partition.by_class,
    "dirichlet": partition.dirichlet,
    "quantity_skew": partition.quantity_skew,
    "by_group": partition.by_group,
}
"""Ways to cut a dataset into a federation, by name."""


@dataclasses.dataclass(frozen=True)
class Experiment:
    """Several methods on one problem, each on the same seeds.

    Attributes:
      title: what the report calls it.
      data, law, model: one of `SOURCES`, `LAWS`, `MODELS`, or a user's own "module:function", and its settings.
      partition: one of `PARTITIONS`, or None where the data come as clients.
      methods: records by the label they have in tables and figures.
      rounds: T.
      every: rounds between two looks.
      seeds: which.
      local_steps, local_epochs, batch: K (or how often a client goes through its data) and b.
      precision: of matrix products, as for `Problem`.
      smooth: decay of the exponential average of checkpoints.
      look_at: the split that looks measure on; a search for step sizes has no business with the test examples.
      tune: the table that says how `federage tune` is to search, as it came; empty for its defaults.
      notes: what a reader must know to judge the numbers: how the settings were chosen, say.
      source: where it was read, for complaints; not part of what it is.
    """

    title: str
    data: Choice
    partition: Choice | None
    law: Choice
    model: Choice
    methods: Mapping[str, Method]
    rounds: int
    every: int
    seeds: tuple[int, ...]
    local_steps: int | list[int] | None = 10
    local_epochs: float | None = None
    batch: int = 32
    precision: Precision = "float32"
    smooth: float = 0.99
    look_at: Split = "test"
    tune: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    notes: tuple[str, ...] = ()
    source: str = dataclasses.field(default="", compare=False)

    def clients(self) -> Clients:
        """The federation's data."""
        data = made(maker(self.data.name, SOURCES), self._at("data"), **self.data.settings)
        if isinstance(data, Clients) != (self.partition is None):
            raise ExperimentError(
                f"{self._at('partition')}: {self.data.name} comes as clients; leave the partition out"
                if self.partition
                else f"{self._at('partition')}: {self.data.name} has to be cut into clients; name one of "
                f"{', '.join(PARTITIONS)}"
            )
        if self.partition is None:
            return data
        return made(maker(self.partition.name, PARTITIONS), self._at("partition"), data, **self.partition.settings)

    def participation(self, clients: int | None = None) -> Law:
        """The law; over that many clients, unless it says itself."""
        return self._made_law(self.law, clients)

    def problem(self, look_at: Split | None = None) -> Problem:
        """What all methods are played on; looked at on another split than the experiment's own, if one is named."""
        clients = self.clients()
        return made(
            Problem,
            self.source or "the experiment",
            model=made(maker(self.model.name, MODELS), self._at("model"), **self.model.settings),
            clients=clients,
            law=self.participation(len(clients)),
            local_steps=self.local_steps,
            local_epochs=self.local_epochs,
            batch=self.batch,
            precision=self.precision,
            look_at=look_at or self.look_at,
        )

    def settings(self) -> dict[str, dict[str, Any]]:
        """Everything, with defaults filled in: tables of plain values."""
        tables = {"data": _table(self.data)}
        if self.partition is not None:
            tables["partition"] = _table(self.partition)
        work = {"local_steps": self.local_steps, "local_epochs": self.local_epochs}
        return {
            **tables,
            "law": _table(self.law),
            "model": _table(self.model),
            "work": {**work, "batch": self.batch, "precision": self.precision},
            "runs": {
                "rounds": self.rounds,
                "every": self.every,
                "seeds": list(self.seeds),
                "smooth": self.smooth,
                "look_at": self.look_at,
            },
            **({"tune": dict(self.tune)} if self.tune else {}),
            **{f"methods.{label}": described(method) for label, method in self.methods.items()},
        }

    def _made_law(self, law: Choice, clients: int | None) -> Law:
        make, settings = maker(law.name, LAWS), dict(law.settings)
        if law.name == "cyclic" and "laws" in settings:
            settings["laws"] = [self._made_law(phase, clients) for phase in settings["laws"]]
        if "clients" in parameters(make) and "clients" not in settings:
            settings["clients"] = self._count() if clients is None else clients
        return made(make, self._at("law"), **settings)

    def _count(self) -> int:
        """N, without loading data where the partition says it."""
        named = {} if self.partition is None else self.partition.settings
        return named["clients"] if "clients" in named else len(self.clients())

    def _at(self, table: str) -> str:
        return f"{self.source}, [{table}]" if self.source else f"[{table}]"


def _table(choice: Choice) -> dict[str, Any]:
    return {"name": choice.name} | dict(choice.settings)


def described(method: Method) -> dict[str, Any]:
    """A method's record as a table: its kind, and its numbers."""
    fields = dataclasses.fields(method)  # pyright: ignore[reportArgumentType]
    return {"kind": kind_of(method)} | {field.name: getattr(method, field.name) for field in fields}


def kind_of(method: Method) -> str:
    """The name its kind goes by in a file."""
    kind = type(method)
    return next((name for name, known in ALGORITHMS.items() if known is kind), f"{kind.__module__}:{kind.__qualname__}")
