"""`federage demo`."""

from __future__ import annotations

import tempfile
from argparse import Namespace
from pathlib import Path
from typing import Any

from federage.cli import terminal

HELP = """\
Play six methods on embedded data and write a report.

30 clients hold handwritten digits, at most two kinds each; three of them, the only ones
with the digits 8 and 9, hardly ever get through. FedAvg, FedAvg at FedeRage's effective
step size, FedProx, SCAFFOLD, FedeRage and FedeRage with control variates meet the same
arrivals and the same mini-batches. Ends with a table on stdout and the report's path.

Usage: federage demo [options]

Options:
  --rounds N   Rounds to play [default: 2000]
  --seeds N    Seeds to play each method on [default: 5]
  --out DIR    Folder for report.html and overview.svg [default: runs/demo]
  -h, --help   Show this

Examples:
  federage demo
  federage demo --rounds 200 --seeds 2 --out quick
"""


def add(commands: Any) -> None:
    command = commands.add_parser("demo", text=HELP)
    command.add_argument("--rounds", type=terminal.count)
    command.add_argument("--seeds", type=terminal.count)
    command.add_argument("--out", type=Path, default=Path("runs/demo"))
    command.set_defaults(run=run)


def run(arguments: Namespace) -> int:
    from federage.cli.progress import Legs
    from federage.experiments import report, summary
    from federage.experiments.demo import ROUNDS, SEEDS, demo
    from federage.experiments.outcome import play

    _writable(arguments.out)
    experiment = demo(arguments.rounds or ROUNDS, arguments.seeds or SEEDS)
    seeds = f"{len(experiment.seeds)} seed{'s' if len(experiment.seeds) > 1 else ''}"
    terminal.note(f"{len(experiment.methods)} methods, {experiment.rounds:,} rounds, {seeds} each")
    with Legs(list(experiment.methods)) as progress:
        outcome = play(experiment, progress)
    path = report.write(outcome, arguments.out)  # before anything is printed: a reader of stdout may have gone
    terminal.table("", *summary.table(outcome), numbers=True)
    for line in summary.notes(outcome):
        terminal.note(line)
    print(path)
    return 0


def _writable(folder: Path) -> None:
    """Find out before the work, not after it."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        raise OSError(f"{folder} cannot be written to ({error.strerror}); name another folder with --out") from error
