"""`federage demo`."""

from __future__ import annotations

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
  --rounds N     Rounds to play [default: 2000]
  --seeds N      Seeds to play each method on [default: 5]
  --motivation   Play the paper's motivating example instead (its Fig. 1): five clients in
                 the plane, two of which hardly ever get through
  --out DIR      Folder to play into [default: runs/demo, or runs/motivation]
  -h, --help     Show this

Examples:
  federage demo
  federage demo --rounds 200 --seeds 2 --out quick
  federage demo --motivation
"""


def add(commands: Any) -> None:
    command = commands.add_parser("demo", text=HELP)
    command.add_argument("--rounds", type=terminal.count)
    command.add_argument("--seeds", type=terminal.count)
    command.add_argument("--motivation", action="store_true")
    command.add_argument("--out", type=Path)
    command.set_defaults(run=run)


def run(arguments: Namespace) -> int:
    if arguments.motivation:
        return _motivation(arguments)
    from federage import report
    from federage.cli import playing, results
    from federage.experiments import demo

    folder = arguments.out or Path("runs/demo")
    recorded = playing.play(demo.demo(arguments.rounds, arguments.seeds), folder)
    # Before anything is printed: a reader of stdout may have gone.
    page = results.write_report([recorded], folder / "report.html")
    (folder / "overview.svg").write_text(report.picture(recorded), encoding="utf-8")
    results.show(recorded)
    print(page)
    return 0


def _motivation(arguments: Namespace) -> int:
    from federage.cli import paper
    from federage.errors import ExperimentError

    if arguments.rounds or arguments.seeds:
        given = "--rounds" if arguments.rounds else "--seeds"
        raise ExperimentError(f"--motivation is played as the paper has it; leave {given} out")
    return paper.make("fig1", arguments.out or Path("runs/motivation"), "federage demo --motivation")
