"""`federage data`: get datasets, and check those that are here."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from federage.cli import terminal

HELP = """\
Get datasets, and check those that are here.

Usage: federage data <command> [options]

Commands:
  get     Download a dataset
  check   Say whether datasets are on this machine, whole and unaltered

Options:
  -h, --help   Show this

Datasets lie in a folder of your choice, else in that of the environment variable
FEDERAGE_DATA, else in ~/.cache/federage.
"""

GET = """\
Download a dataset; every file is compared with its known SHA-256.

A transfer that broke off goes on where it stopped. Files that are there and good are left
alone. The folder that the files lie in is printed on stdout.

Usage: federage data get NAME [options]

Arguments:
  NAME           mnist, fashion_mnist or cifar10

Options:
  --to DIR       Folder of all datasets [default: $FEDERAGE_DATA, else ~/.cache/federage]
  --mirror URL   Download from here instead; may be given several times, tried in order
  -h, --help     Show this

Examples:
  federage data get mnist
  federage data get cifar10 --to data --mirror https://example.org/cifar/
"""

CHECK = """\
Say whether datasets are on this machine, whole and unaltered.

Exits with 1 if a file is missing or damaged.

Usage: federage data check [NAME...] [options]

Arguments:
  NAME         Datasets to check [default: all]

Options:
  --in DIR     Folder of all datasets [default: $FEDERAGE_DATA, else ~/.cache/federage]
  -h, --help   Show this

Examples:
  federage data check
  federage data check mnist --in data
"""


def add(commands: Any) -> None:
    below = commands.add_parser("data", text=HELP).commands()
    getting = below.add_parser("get", text=GET)
    getting.add_argument("name", metavar="NAME")
    getting.add_argument("--to", type=Path)
    getting.add_argument("--mirror", action="append", default=[])
    getting.known["name"] = lambda: _known("SPECS")
    getting.set_defaults(run=get)
    checking = below.add_parser("check", text=CHECK)
    checking.add_argument("names", nargs="*", metavar="NAME")
    checking.add_argument("--in", dest="folder", type=Path)
    checking.known["names"] = lambda: _known("DATASETS")
    checking.set_defaults(run=check)


def _known(registry: str) -> Iterable[str]:
    from federage import data

    return getattr(data, registry)


def get(arguments: Namespace) -> int:
    from federage import data
    from federage.cli.progress import Transfers

    with Transfers() as progress:
        folder = data.get(arguments.name, arguments.to, mirrors=arguments.mirror or None, progress=progress)
    print(folder)
    return 0


def check(arguments: Namespace) -> int:
    from federage import data

    rows, bad = [], []
    for name in arguments.names or data.DATASETS:
        if name == "digits":
            rows.append([name, "digits.npz", "good", "inside the package"])
            continue
        states = data.check(name, arguments.folder)
        rows += [[name, state.file, state.state, str(state.path or "")] for state in states]
        if any(state.state != "good" for state in states):
            bad.append(name)
    terminal.table("", ["dataset", "file", "state", "path"], rows)
    for name in bad:
        where = arguments.folder or data.home()
        terminal.note(f"{name} is not whole; get it with: federage data get {name} --to {where}")
    return 1 if bad else 0
