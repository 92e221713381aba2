"""`federage run`: an experiment, from a file, from flags, or from a file with flags laid over it."""

from __future__ import annotations

import shlex
from argparse import Namespace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from federage.cli import flags, terminal

if TYPE_CHECKING:
    from federage.experiments.experiment import Experiment

RUNS = Path("runs")
"""Where folders of runs are made, unless the user says otherwise."""

HELP = f"""\
Play an experiment into a folder, and show what came of it.

What the folder has already is not played again: the same command after an interruption
goes on, after a change plays what was changed, and otherwise shows the table. Ctrl-C
stops after the leg that is under way, and nothing is lost.

Usage: federage run [FILE] [options]

Arguments:
  FILE                              An experiment's TOML file; may be left out if
                                    flags say enough

{flags.HELP}
Options:
  --out DIR                         Folder to play into [default: runs/ and the name
                                    of FILE, or of the data]
  --resume [DIR]                    Go on in DIR, with the experiment it has; after
                                    FILE: go on, and do not begin
  --dry-run                         Print the complete experiment, and play nothing
  --report                          Write the report too, as federage report does
  --json                            Print the final scores as JSON
  --coordinator HOST:PORT           Several processes: where the first one listens
  --processes P, --process K        How many there are, and which one this is, from 0
  -h, --help                        Show this

Values are TOML values, and bare words are texts. The table and the folder go to stdout.

Examples:
  federage run experiment.toml
  federage run experiment.toml --rounds 200 --seeds 2 --out runs/quick
  federage run --resume runs/experiment
  federage run --data digits --partition by_class:clients=10,rare=2 \\
      --law skewed:arrivals=2,rare=2 --model softmax \\
      --method 'FedAvg:lr=[0.1,0.3]' --method FedeRage:lr=0.1 --rounds 200 --seeds 3
  federage run --data csv:path=mine.csv,label=species --partition iid:clients=5 \\
      --law full --method FedAvg:lr=0.1 --dry-run > mine.toml
"""


def add(commands: Any) -> None:
    command = commands.add_parser("run", text=HELP)
    command.add_argument("file", nargs="?", type=Path, metavar="FILE")
    flags.add(command)
    command.add_argument("--out", type=Path, metavar="DIR")
    command.add_argument("--resume", nargs="?", const="", metavar="DIR")
    command.add_argument("--dry-run", action="store_true")
    command.add_argument("--report", action="store_true")
    command.add_argument("--json", action="store_true")
    command.add_argument("--coordinator", metavar="HOST:PORT")
    command.add_argument("--processes", type=terminal.count, metavar="P")
    command.add_argument("--process", type=terminal.natural, metavar="K")
    command.set_defaults(run=run)


class Order(NamedTuple):
    """What to play, and where to."""

    experiment: Experiment
    folder: Path


def run(arguments: Namespace) -> int:
    from federage.cli import playing, results

    helps = _joined(arguments)
    experiment, folder = ordered(arguments)
    if arguments.dry_run:
        from federage.experiments.reading import written

        if not helps:
            print(written(experiment), end="")
            terminal.note(f"{playing.size(experiment)}, to be played into {folder}")
        return 0
    recorded = playing.play(experiment, folder, quiet=helps)
    if helps:
        return 0
    page = results.write_report([recorded], folder / "report.html") if arguments.report else None
    if arguments.json:
        print(results.as_json(recorded))
        return 0
    results.show(recorded)
    print(folder)
    if page is None:
        terminal.note(f"for pictures: federage report {shlex.quote(str(folder))}")
    else:
        print(page)
    return 0


def ordered(arguments: Namespace) -> Order:
    """What the words ask for."""
    file, folder = _places(arguments)
    experiment = flags.experiment(arguments, file)
    if folder is None:
        folder = RUNS / (file.stem if file is not None else experiment.data.name.rpartition(":")[2])
    if arguments.resume is not None and not folder.is_dir():
        raise _wrong(f"--resume: {folder} is not there to go on with; leave --resume out to begin")
    return Order(experiment, folder)


def _places(arguments: Namespace) -> tuple[Path | None, Path | None]:
    """The experiment's file and the folder, as far as the words name them."""
    from federage.experiments.store import EXPERIMENT, open_folder

    file, folder = arguments.file, arguments.out
    if arguments.resume:
        if file is not None or folder is not None:
            other = file if file is not None else f"--out {folder}"
            raise _wrong(f"both {other} and --resume {arguments.resume} say what to play into; give one of them")
        there = Path(arguments.resume)
        if there.is_file():  # the experiment's file, whose folder is known
            return there, None
        open_folder(there)
        return there / EXPERIMENT, there
    if file is None and not flags.given(arguments):
        raise _wrong("expected an experiment, but neither FILE nor flags came; see federage run --help")
    if file is not None and file.is_dir():
        raise _wrong(
            f"{file} is a folder, and FILE a TOML file; to go on in it: federage run --resume {shlex.quote(str(file))}"
        )
    return file, folder


def _joined(arguments: Namespace) -> bool:
    """Join other processes, if there are any; whether this one only helps."""
    if arguments.coordinator is None and arguments.processes is None and arguments.process is None:
        return False
    from federage.core import devices

    devices.join(arguments.coordinator, arguments.processes, arguments.process)
    terminal.keep_stdout()
    return not devices.lead()


def _wrong(message: str) -> Exception:
    from federage.errors import ExperimentError

    return ExperimentError(message)
