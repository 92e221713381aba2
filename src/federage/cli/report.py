"""`federage report`: what was recorded as a page, or as figures and tables for a paper."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from federage.errors import ExperimentError

if TYPE_CHECKING:
    from federage.experiments import Recorded

FORMATS = ("html", "png", "svg", "pdf", "csv", "latex", "tensorboard")

HELP = """\
Write what experiments came to: one page that works offline, or figures and tables.

Usage: federage report DIR... [options]

Arguments:
  DIR             Folders that federage run played into; several are put on one page

Options:
  --format NAME   html, a page; png, svg or pdf, every figure; csv or latex, every table;
                  or tensorboard [default: html]
  --out PATH      The page [default: report.html in DIR, or in the current folder for
                  several], or the folder of figures and tables [default: one in DIR,
                  called as the format]
  -h, --help      Show this

The paths of what was written are printed on stdout.

Examples:
  federage report runs/demo
  federage report runs/mild runs/severe --out severity.html
  federage report runs/demo --format pdf --out figures
"""


def add(commands: Any) -> None:
    command = commands.add_parser("report", text=HELP)
    command.add_argument("folders", nargs="+", type=Path, metavar="DIR")
    command.add_argument("--format", choices=FORMATS, default="html", metavar="format")
    command.add_argument("--out", type=Path, metavar="PATH")
    command.set_defaults(run=run)


def run(arguments: Namespace) -> int:
    from federage.cli import results

    recordeds = results.opened(arguments.folders)
    if arguments.format == "html":
        if arguments.out is not None and arguments.out.is_dir():
            raise ExperimentError(f"--out {arguments.out}: expected a page to write, but it is a folder; name a file")
        default = recordeds[0].folder / "report.html" if len(recordeds) == 1 else Path("report.html")
        print(results.write_report(recordeds, arguments.out or default))
        return 0
    for recorded, folder in zip(recordeds, _folders(recordeds, arguments.out, arguments.format), strict=True):
        with results.written(folder):
            paths = _export(recorded, folder, arguments.format)
        print(*paths, sep="\n")
    return 0


def _folders(recordeds: Sequence[Recorded], out: Path | None, form: str) -> list[Path]:
    """Where the files of each go; of several, into a folder each."""
    if out is None:
        return [recorded.folder / form for recorded in recordeds]
    if len(recordeds) == 1:
        return [out]
    names = [recorded.folder.resolve().name for recorded in recordeds]
    if twice := sorted({name for name in names if names.count(name) > 1}):
        raise ExperimentError(f"two of the folders are called {twice[0]}; leave --out out, or write one at a time")
    return [out / name for name in names]


def _export(recorded: Recorded, folder: Path, form: str) -> list[Path]:
    if form == "tensorboard":
        from federage.report import tensorboard

        return [tensorboard.export(recorded, folder)]
    from federage.report import files

    return files.export(recorded, folder, form)
