"""`federage paper`: the figures and tables of the FedeRage paper."""

from __future__ import annotations

import shlex
from argparse import Namespace
from pathlib import Path
from typing import Any

from federage.cli import terminal

FIGURES = ("table1", "fig1", "fig3", "fig4", "profile", "fairness", "sensitivity")

HELP = """\
Make a figure or table of the FedeRage paper from its committed experiments.

At full size they are for a GPU, and need their datasets (federage data get); what is
played already is not played again. The files made are printed on stdout.

Usage: federage paper NAME [options]

Arguments:
  NAME          table1        Table I: four methods, three datasets, two laws
                fig1          Fig. 1: the motivating example
                fig3          Fig. 3: effective availability under mean-CVaR
                fig4          Fig. 4: accuracy against rounds, skewed availability
                profile       Fig. 5: how much of the average each client has
                fairness      Fig. 6: each client's accuracy
                sensitivity   The supplement's ablation over alpha and gamma

Options:
  --small       Play what a laptop plays in minutes, and say so on the figure
  --out DIR     Folder of runs and figures [default: runs/paper, or runs/paper-small]
  --data DIR    Folder of all datasets [default: $FEDERAGE_DATA, else ~/.cache/federage]
  -h, --help    Show this

Examples:
  federage paper fig4 --small
  federage paper table1 --data data --out runs/table1
"""


def add(commands: Any) -> None:
    command = commands.add_parser("paper", text=HELP)
    command.add_argument("name", metavar="NAME", choices=FIGURES)
    command.add_argument("--small", action="store_true")
    command.add_argument("--out", type=Path, metavar="DIR")
    command.add_argument("--data", type=Path, metavar="DIR")
    command.set_defaults(run=run)


def run(arguments: Namespace) -> int:
    folder = arguments.out or Path("runs/paper-small" if arguments.small else "runs/paper")
    again = f"federage paper {arguments.name}{' --small' if arguments.small else ''}"
    if arguments.data:
        again += f" --data {shlex.quote(str(arguments.data))}"
    return make(arguments.name, folder, again, arguments.small, arguments.data)


def make(name: str, folder: Path, again: str, small: bool = False, data: Path | None = None) -> int:
    """Make a figure before somebody's eyes; `again` is the command that does so, but for the folder."""
    from federage import paper
    from federage.cli import playing

    with playing.watched(f"{again} --out {shlex.quote(str(folder))}") as watch:
        made = paper.make(name, folder, small=small, data=data, tell=watch.tell, stop=watch.stop)
        if not made.files:
            watch.end()
    if made.table is not None:
        terminal.table("", *made.table, numbers=True)
    for line in made.notes:
        terminal.note(line)
    for path in made.files:
        print(path)
    return 0
