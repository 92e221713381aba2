"""`federage tune`: step sizes by search, every method with the same budget, the test examples unseen."""

from __future__ import annotations

import shlex
from argparse import Namespace
from pathlib import Path
from typing import Any

from federage.cli import terminal

HELP = """\
Search for the methods' numbers, every method with the same number of configurations.

A configuration is judged by its score on the clients' validation examples, on seeds that
the experiment does not use; the test examples stay unseen. The best of each method goes
into DIR/tuned.toml, which federage run plays. Says where the best lies on the edge of
what was searched, and plays no configuration twice: the same command after an
interruption goes on. FedAvg at κ·lr comes with every method that needs this control.

Usage: federage tune FILE [options]

Arguments:
  FILE           An experiment's TOML file; its table [tune] says what is searched, and
                 how, where the options do not

Options:
  --budget N     Configurations of each method [default: 32]
  --strategy S   random, grid or halving, which drops the worse ones on the way
                 [default: random]
  --rounds N     Rounds of a whole run [default: the experiment's]
  --out DIR      Folder to search in [default: runs/ and the name of FILE, -tune]
  --json         Print what was found as JSON
  -h, --help     Show this

The table and the path of tuned.toml go to stdout. Every configuration that was tried is
in DIR/tuning.parquet.

Examples:
  federage tune experiment.toml
  federage tune experiment.toml --budget 64 --strategy halving
  federage run runs/experiment-tune/tuned.toml
"""

_LAID_OVER = ("budget", "strategy", "rounds")  # options that take the place of the file's keys


def add(commands: Any) -> None:
    command = commands.add_parser("tune", text=HELP)
    command.add_argument("file", type=Path, metavar="FILE")
    command.add_argument("--budget", type=terminal.count, metavar="N")
    command.add_argument("--strategy", choices=("random", "grid", "halving"), metavar="strategy")
    command.add_argument("--rounds", type=terminal.count, metavar="N")
    command.add_argument("--out", type=Path, metavar="DIR")
    command.add_argument("--json", action="store_true")
    command.set_defaults(run=run)


def run(arguments: Namespace) -> int:
    import dataclasses

    from federage.cli.playing import watched
    from federage.experiments.reading import load
    from federage.tuning import output, wording
    from federage.tuning.tune import tune

    experiment = load(arguments.file)
    given = {key: value for key in _LAID_OVER if (value := getattr(arguments, key)) is not None}
    experiment = dataclasses.replace(experiment, tune={**experiment.tune, **given})
    folder = arguments.out or Path("runs") / f"{arguments.file.stem}-tune"
    terminal.note(wording.plan(experiment))
    with watched(_again(arguments), list(experiment.methods)) as watch:
        tuned = tune(experiment, folder, tell=watch.tell, stop=watch.stop)
        if tuned is None:
            watch.end()
            return 130
    if arguments.json:
        print(output.as_json(tuned), end="")
        return 0
    terminal.table("", *wording.table(tuned.search, tuned.experiment.methods, tuned.methods))
    for line in wording.told(tuned.experiment):
        terminal.note(line)
    path = folder / output.TUNED
    print(path)
    terminal.note(f"to play it on the test examples: federage run {shlex.quote(str(path))}")
    return 0


def _again(arguments: Namespace) -> str:
    """The command that goes on where this one ends."""
    words = ["federage", "tune", str(arguments.file)]
    for key in (*_LAID_OVER, "out"):
        if (value := getattr(arguments, key)) is not None:
            words += [f"--{key}", str(value)]
    return shlex.join(words)
