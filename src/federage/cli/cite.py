"""`federage cite`: BibTeX of what an experiment uses."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from federage import references
from federage.cli import terminal
from federage.errors import ExperimentError, unknown

if TYPE_CHECKING:
    from federage.experiments.experiment import Experiment

HELP = """\
Print BibTeX entries of what an experiment uses: its methods, its data, the engine.

Usage: federage cite FILE|DIR|NAME...

Arguments:
  FILE|DIR     An experiment's TOML file, or a folder that federage run played into
  NAME         A method, a dataset, or federage, cvar, jax, optax

Options:
  -h, --help   Show this

Examples:
  federage cite runs/demo > used.bib
  federage cite fedprox cifar10
"""


def add(commands: Any) -> None:
    command = commands.add_parser("cite", text=HELP)
    command.add_argument("names", nargs="+", metavar="FILE|DIR|NAME")
    command.known["names"] = _named
    command.set_defaults(run=run)


def run(arguments: Namespace) -> int:
    print(references.bibtex(key for name in arguments.names for key in _keys(name)), end="")
    return 0


def _named() -> dict[str, tuple[str, ...]]:
    """What can be named, and the keys it has."""
    return {key: (key,) for key in references.entries()} | references.METHODS | references.DATA


def _keys(name: str) -> Iterable[str]:
    there = Path(name)
    if name in _named():
        return _named()[name]
    if there.is_dir():
        from federage.experiments import open_folder

        return _used(open_folder(there).experiment)
    if there.suffix == ".toml" or there.is_file():
        from federage.experiments import load

        return _used(load(there))
    raise ExperimentError(f"{unknown('name', name, _named())}; a file or a folder of that name is not there either")


def _used(experiment: Experiment) -> list[str]:
    from federage.experiments.experiment import kind_of

    kinds = dict.fromkeys(kind_of(method) for method in experiment.methods.values())
    own = [kind for kind in kinds if kind not in references.METHODS]
    own += [name for name in (experiment.data.name,) if name not in references.DATA]
    for name in own:
        terminal.note(f"{name} is your own: cite it as you know it")
    methods = [key for kind in kinds for key in references.METHODS.get(kind, ())]
    return [*references.ENGINE, *methods, *references.DATA.get(experiment.data.name, ())]
