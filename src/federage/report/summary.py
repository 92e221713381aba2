"""What was recorded in words and numbers, for a terminal."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from federage.experiments.store import Recorded
from federage.report import tables, wording
from federage.report.tables import METRICS


def table(recorded: Recorded) -> tuple[list[str], list[list[str]]]:
    """The columns, and a row a method and checkpoint; a row of one cell names the checkpoint of those below it."""
    known = tables.metrics(recorded)
    cells = {
        (row["checkpoint"], row["metric"], row["method"]): row for row in tables.results(recorded).rows(named=True)
    }
    rows: list[list[str]] = []
    for checkpoint, name in tables.checkpoints(recorded).items():
        rows.append([name])
        rows += [
            [f"  {label}", *(_words(cells[checkpoint, key, label]) for key in known)] for label in recorded.methods
        ]
    return ["accuracy in %" if "accuracy" in known else "", *(metric.name for metric in known.values())], rows


def notes(recorded: Recorded) -> Iterable[str]:
    """The answer, and what a reader of the table must know."""
    seeds = len(recorded.experiment.seeds)
    over = f"{seeds} seeds" if seeds > 1 else "one seed"
    yield (
        f"mean ± standard deviation over {over} and the {wording.final(recorded)} of {recorded.experiment.rounds:,} "
        f"rounds, on {recorded.experiment.look_at} examples; * best mean, † significant by the paper's Z-test"
    )
    yield from wording.answer(recorded)
    yield from wording.notes(recorded)


def _words(row: Mapping[str, Any]) -> str:
    """Mean, deviation and marks."""
    if row["mean"] is None:
        return "-"
    scale, digits = (100, 1) if METRICS[row["metric"]].share else (1, 3)
    std = "" if row["std"] is None else f" ± {scale * row['std']:.{digits}f}"
    marks = ("*" if row["best_mean"] else " ") + ("†" if row["significant"] else " ")
    return f"{scale * row['mean']:.{digits}f}{std} {marks}"
