"""What a figure is made from: committed experiments by name, played when their records are asked for."""

from __future__ import annotations

import dataclasses
import tomllib
from collections.abc import Callable
from importlib import resources
from pathlib import Path
from typing import Any

from federage.experiments.experiment import Experiment
from federage.experiments.play import Tick, play
from federage.experiments.reading import load
from federage.experiments.store import Recorded


class Stopped(Exception):
    """Somebody asked to end before everything was played."""


def committed(name: str) -> dict[str, Any]:
    """The tables of a file of this package."""
    return tomllib.loads(resources.files("federage.paper").joinpath(f"{name}.toml").read_text(encoding="utf-8"))


@dataclasses.dataclass(frozen=True)
class Stage:
    """The experiments of one figure.

    Attributes:
      names: of its files.
      folder: where runs and drawings go: the run of a file to a folder of its name, which figures share.
      data: the folder of datasets, if not the usual one.
      small: whether the experiments stand in for larger ones.
      tell, stop: as for `experiments.play`.
    """

    names: tuple[str, ...]
    folder: Path
    data: Path | None = None
    small: bool = False
    tell: Callable[[Tick], None] = lambda tick: None
    stop: Callable[[], bool] = lambda: False

    def experiment(self, name: str) -> Experiment:
        """As its file has it."""
        tables = committed(name)
        if self.data is not None and tables["data"]["name"] != "motivating_example":
            tables["data"]["folder"] = str(self.data)
        return load(tables, f"{name}.toml")

    def recorded(self, name: str) -> Recorded:
        """Its record, complete; what is missing of it is played."""
        record = play(self.experiment(name), self.folder / name, tell=self.tell, stop=self.stop)
        if not record.finished:
            raise Stopped
        return record

    def records(self) -> dict[str, Recorded]:
        """All of them, by name."""
        return {name: self.recorded(name) for name in self.names}

    @property
    def stamp(self) -> str:
        """What must stand on the figure itself where a small experiment takes the place of the paper's."""
        if not self.small:
            return ""
        experiments = [self.experiment(name) for name in self.names]
        first = experiments[0]
        data = ", ".join(dict.fromkeys(experiment.data.name for experiment in experiments))
        return f"small: {data}, {first.rounds:,} rounds, {len(first.seeds)} seeds"
