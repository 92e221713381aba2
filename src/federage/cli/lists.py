"""`federage list`: what there is, by name."""

from __future__ import annotations

import dataclasses
import inspect
from argparse import Namespace
from collections.abc import Callable, Mapping
from typing import Any

from federage.cli import terminal

HELP = """\
Show what there is, by name.

Usage: federage list [WHAT]

Arguments:
  WHAT         algorithms, laws, datasets or models [default: all]

Options:
  -h, --help   Show this

Examples:
  federage list
  federage list laws
"""


def add(commands: Any) -> None:
    command = commands.add_parser("list", text=HELP)
    command.add_argument("what", metavar="list", nargs="?", choices=sorted(LISTS))
    command.set_defaults(run=run)


def run(arguments: Namespace) -> int:
    wanted = [arguments.what] if arguments.what else list(LISTS)
    for k, name in enumerate(wanted):
        if k:
            print()
        terminal.table(name if len(wanted) > 1 else "", *LISTS[name]())
    return 0


def algorithms() -> tuple[list[str], list[list[str]]]:
    """What each reads beyond the arrivals' updates, and the numbers its record takes."""
    from federage.algorithms import ALGORITHMS

    rows = []
    for name, kind in ALGORITHMS.items():
        fields: Any = dataclasses.fields(kind)  # pyright: ignore[reportArgumentType]
        example = kind(**{field.name: 0.1 for field in fields if field.default is dataclasses.MISSING})
        reads = ", ".join(sorted(example.parts().reads)) or "arrivals only"
        rows.append([name, reads, _settings(kind), _first_line(kind)])
    return ["name", "reads", "settings", ""], rows


def laws() -> tuple[list[str], list[list[str]]]:
    from federage.participation import LAWS

    return _callables(LAWS)


def models() -> tuple[list[str], list[list[str]]]:
    from federage.models import MODELS

    return _callables(MODELS)


def datasets() -> tuple[list[str], list[list[str]]]:
    from federage.data import DATASETS, SPECS

    rows = []
    for name in DATASETS:
        spec = SPECS.get(name)
        rows.append([name, f"federage data get {name}" if spec else "inside the package"])
    return ["name", "comes from"], rows


LISTS: dict[str, Callable[[], tuple[list[str], list[list[str]]]]] = {
    "algorithms": algorithms,
    "laws": laws,
    "datasets": datasets,
    "models": models,
}


def _callables(known: Mapping[str, Callable[..., Any]]) -> tuple[list[str], list[list[str]]]:
    return ["name", "settings", ""], [[name, _settings(make), _first_line(make)] for name, make in known.items()]


def _settings(make: Callable[..., Any]) -> str:
    """The parameters of a function or record, with their defaults."""
    return ", ".join(
        name if parameter.default is inspect.Parameter.empty else f"{name}={parameter.default}"
        for name, parameter in inspect.signature(make).parameters.items()
    )


def _first_line(thing: Any) -> str:
    """What it says about itself, first."""
    lines = (inspect.getdoc(thing) or "").splitlines()
    return lines[0].rstrip(".") if lines else ""
