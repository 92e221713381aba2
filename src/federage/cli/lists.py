"""`federage list`: what there is, by name."""

from __future__ import annotations

import dataclasses
import inspect
import json
from argparse import Namespace
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from federage.cli import terminal

HELP = """\
Show what there is, by name, and the settings it takes.

Usage: federage list [WHAT] [options]

Arguments:
  WHAT         algorithms, laws, datasets, partitions or models [default: all]

Options:
  --json       An object, for each list its entries
  -h, --help   Show this

Algorithms read the arrivals' updates; what else one reads is said beside it, and one
that reads the law knows what no server knows.

Examples:
  federage list
  federage list laws
"""


class Entry(NamedTuple):
    """What goes by a name: its settings with their defaults (None: to be given), and what it is, in a line.

    `reads`: what an algorithm reads beyond the arrivals' updates; None for what is no algorithm.
    """

    name: str
    settings: dict[str, str | None]
    what: str
    reads: list[str] | None = None


def add(commands: Any) -> None:
    command = commands.add_parser("list", text=HELP)
    command.add_argument("what", metavar="list", nargs="?", choices=sorted(LISTS))
    command.add_argument("--json", action="store_true")
    command.set_defaults(run=run)


def run(arguments: Namespace) -> int:
    wanted = [arguments.what] if arguments.what else list(LISTS)
    lists = {name: LISTS[name]() for name in wanted}
    if arguments.json:
        print(json.dumps({name: [_plain(entry) for entry in lists[name]] for name in wanted}, indent=1))
        return 0
    for k, name in enumerate(wanted):
        if k:
            print()
        terminal.table(name if len(wanted) > 1 else "", *_table(lists[name]))
    return 0


def algorithms() -> list[Entry]:
    """What each reads beyond the arrivals' updates, and the numbers its record takes."""
    from federage.algorithms import ALGORITHMS

    entries: list[Entry] = []
    for name, kind in ALGORITHMS.items():
        fields: Any = dataclasses.fields(kind)  # pyright: ignore[reportArgumentType]
        example = kind(**{field.name: 0.1 for field in fields if field.default is dataclasses.MISSING})
        entries.append(_entry(name, kind)._replace(reads=sorted(map(str, example.parts().reads))))
    return entries


def laws() -> list[Entry]:
    from federage.participation import LAWS

    return _callables(LAWS)


def models() -> list[Entry]:
    from federage.models import MODELS

    return _callables(MODELS)


def partitions() -> list[Entry]:
    """The first parameter of each is the data."""
    from federage.experiments.experiment import PARTITIONS

    return [_entry(name, make, 1) for name, make in PARTITIONS.items()]


def datasets() -> list[Entry]:
    """What `federage data get` fetches, what is here, and the forms that a user's own data may have."""
    from federage.data import DATASETS, SPECS
    from federage.experiments.sources import SOURCES

    entries: list[Entry] = []
    for name, make in SOURCES.items():
        entry = _entry(name, make)
        if name in DATASETS:
            entry = entry._replace(what=f"federage data get {name}" if name in SPECS else "inside the package")
        entries.append(entry)
    return entries


LISTS: dict[str, Callable[[], list[Entry]]] = {
    "algorithms": algorithms,
    "laws": laws,
    "datasets": datasets,
    "partitions": partitions,
    "models": models,
}


def _callables(known: Mapping[str, Callable[..., Any]]) -> list[Entry]:
    return [_entry(name, make) for name, make in known.items()]


def _entry(name: str, make: Callable[..., Any], skip: int = 0) -> Entry:
    """The parameters of a function or record, with their defaults, and what it says about itself first."""
    from federage.experiments.values import parameters

    settings = {
        key: None if parameter.default is inspect.Parameter.empty else str(parameter.default)
        for key, parameter in parameters(make, skip).items()
    }
    lines = (inspect.getdoc(make) or "").splitlines()
    return Entry(name, settings, lines[0].rstrip(".") if lines else "")


def _table(entries: list[Entry]) -> tuple[list[str], list[list[str]]]:
    rows: list[list[str]] = []
    for entry in entries:
        settings = ", ".join(key if value is None else f"{key}={value}" for key, value in entry.settings.items())
        reads = [] if entry.reads is None else [", ".join(entry.reads) or "arrivals only"]
        rows.append([entry.name, *reads, settings, entry.what])
    return ["name", *(["reads"] if entries[0].reads is not None else []), "settings", ""], rows


def _plain(entry: Entry) -> dict[str, Any]:
    return {key: value for key, value in entry._asdict().items() if key != "reads" or value is not None}
