"""What came of experiments, on a terminal or for a script."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from federage.cli import terminal

if TYPE_CHECKING:
    from federage.experiments import Recorded


def show(recorded: Recorded) -> None:
    """The table of results on stdout, and what a reader of it must know on stderr."""
    from federage.experiments import summary

    terminal.table("", *summary.table(recorded), numbers=True)
    for line in summary.notes(recorded):
        terminal.note(line)


def as_json(recorded: Recorded) -> str:
    """The final scores for a script: shares are fractions, what is not known is null."""
    from federage.experiments import tables

    experiment = recorded.experiment
    return json.dumps(
        {
            "folder": str(recorded.folder),
            "title": experiment.title,
            "finished": recorded.finished,
            "rounds": experiment.rounds,
            "seeds": list(experiment.seeds),
            "results": tables.results(recorded).to_dicts(),
        },
        indent=1,
        ensure_ascii=False,
    )


def write_report(recordeds: Sequence[Recorded], path: Path) -> Path:
    """The page about one or several folders."""
    from federage.experiments import report

    return report.write(recordeds, path)
