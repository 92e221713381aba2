"""What a search has come to, and its files: an experiment to run, every configuration that was tried, a summary.

tuned.toml        the experiment with the chosen numbers, and notes that say how they were chosen
tuning.parquet    a row a configuration and rung
tuning.json       what was chosen for each method, how sure that is, and where it lies on the edge of its space
rung-1, ...       the runs themselves, folders like those of `federage run`
"""

from __future__ import annotations

import dataclasses
import io
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import polars as pl

from federage.experiments import disk
from federage.experiments.experiment import Experiment, kind_of
from federage.experiments.reading import written
from federage.tuning.controls import controls, with_controls
from federage.tuning.rungs import Rung
from federage.tuning.scores import Found, Tried
from federage.tuning.search import Search
from federage.tuning.wording import MARK, notes

TUNED, TABLE, SUMMARY = "tuned.toml", "tuning.parquet", "tuning.json"

Steps = Sequence[Mapping[str, Sequence[Tried]]]

_FORMAT = 1
_COLUMNS = {
    "method": pl.String,
    "configuration": pl.Int64,
    "rung": pl.Int64,
    "round": pl.Int64,
    "score": pl.Float64,
    "stderr": pl.Float64,
    "by_seed": pl.List(pl.Float64),
    "finite": pl.Boolean,
    "chosen": pl.Boolean,
}


@dataclasses.dataclass(frozen=True, eq=False)
class Tuned:
    """What a search has come to.

    Attributes:
      folder: where its files are.
      experiment: as it was given, with the chosen numbers, the controls that follow from them, and notes.
      search: how it was searched.
      rungs: how many configurations of each method played how many rounds.
      methods: what was found for each method that was searched, by label.
      controls: the methods whose step size follows from another's: control -> method.
      table: a row a configuration and rung: `method`, `configuration`, `rung` (from 1), `round`, `score`, `stderr`,
        `by_seed`, `finite`, `chosen`, and a column a number that was searched.
      environment: where and when the last of it was played.
    """

    folder: Path
    experiment: Experiment
    search: Search
    rungs: Sequence[Rung]
    methods: Mapping[str, Found]
    controls: Mapping[str, str]
    table: pl.DataFrame
    environment: Mapping[str, str]

    def summary(self) -> dict[str, Any]:
        """As tables of plain values."""
        settings = self.experiment.settings().items()
        problem = {name: table for name, table in settings if name != "tune" and not name.startswith("methods.")}
        return {
            "format": _FORMAT,
            "split": "validation",
            "search": self.search.table(),
            "rungs": [rung._asdict() for rung in self.rungs],
            "methods": {label: _summary(found) for label, found in self.methods.items()},
            "controls": {
                name: {"of": label, "lr": self.experiment.methods[name].lr}  # pyright: ignore[reportAttributeAccessIssue]
                for name, label in self.controls.items()
            },
            "problem": problem,
            "environment": dict(self.environment),
        }


def write(
    folder: Path,
    experiment: Experiment,
    search: Search,
    rungs: Sequence[Rung],
    methods: Mapping[str, Found],
    steps: Steps,
    environment: Mapping[str, str],
) -> Tuned:
    """Put the numbers that were found into the experiment, and write everything down."""
    chosen = {label: methods[label].method if label in methods else m for label, m in experiment.methods.items()}
    follow = controls(chosen)
    complete = with_controls(chosen)
    said = notes(search, rungs, methods, {name: complete[label] for name, label in follow.items()}, follow, environment)
    kept = [note for note in experiment.notes if not note.startswith(MARK)]
    tuned = Tuned(
        folder,
        dataclasses.replace(experiment, methods=complete, notes=(*kept, *said)),
        search,
        tuple(rungs),
        methods,
        follow,
        table(methods, rungs, steps),
        environment,
    )
    with disk.held(folder):
        buffer = io.BytesIO()
        tuned.table.write_parquet(buffer, compression="zstd")
        disk.put(folder / TABLE, buffer.getvalue())
        disk.put(folder / SUMMARY, as_json(tuned).encode())
        disk.put(folder / TUNED, written(tuned.experiment).encode())
    return tuned


def as_json(tuned: Tuned) -> str:
    """The summary as text."""
    return json.dumps(tuned.summary(), indent=1, ensure_ascii=False, default=repr) + "\n"


def table(methods: Mapping[str, Found], rungs: Sequence[Rung], steps: Steps) -> pl.DataFrame:
    """A row a configuration and rung."""
    rows: list[dict[str, Any]] = []
    keys = dict.fromkeys(key for several in steps[0].values() for one in several for key in one.numbers)
    for k, (rung, step) in enumerate(zip(rungs, steps, strict=False), start=1):
        for label, several in step.items():
            best = methods[label].chosen
            rows += [
                {"method": label, "configuration": one.place, "rung": k, "round": rung.rounds}
                | {"score": one.score, "stderr": one.stderr, "by_seed": list(one.by_seed)}
                | {"finite": one.score is not None, "chosen": best is not None and best.place == one.place}
                | {_column(key): value for key, value in one.numbers.items()}
                for one in several
            ]
    columns = [_series(_column(key), [row.get(_column(key)) for row in rows]) for key in keys]
    return pl.DataFrame(rows, schema=_COLUMNS).with_columns(columns)


def _column(key: str) -> str:
    """A number's column; one that goes by the name of another column is marked."""
    return f"{key}_" if key in _COLUMNS else key


def _series(name: str, values: list[Any]) -> pl.Series:
    """Numbers as they are; anything else, a set that parameters are kept within say, in words."""
    if all(value is None or isinstance(value, (int, float)) for value in values):
        return pl.Series(name, values, pl.Float64, strict=False)
    return pl.Series(name, [None if value is None else repr(value) for value in values], pl.String)


def _summary(found: Found) -> dict[str, Any]:
    best = found.chosen
    return {
        "kind": kind_of(found.method),
        "chosen": None if best is None else dict(best.numbers),
        "score": None if best is None else best.score,
        "stderr": None if best is None else best.stderr,
        "by_seed": [] if best is None else list(best.by_seed),
        "configurations": found.configurations,
        "within_one_stderr": [{**one.numbers, "score": one.score} for one in found.near],
        "not_finite": [dict(one.numbers) for one in found.lost],
        "on_the_edge": {edge.key: {k: v for k, v in edge._asdict().items() if k != "key"} for edge in found.edges},
    }
