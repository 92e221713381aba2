"""`federage table` and `federage compare`: what came of experiments, on a terminal or for a script."""

from __future__ import annotations

import contextlib
import json
import math
import shlex
from argparse import Namespace
from collections.abc import Generator, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from federage.cli import terminal
from federage.errors import ExperimentError, StoreError, unknown

if TYPE_CHECKING:
    from federage.experiments import Recorded

CHECKPOINTS = ("last", "average", "smooth")

TABLE = """\
Show what experiments came to.

Usage: federage table DIR... [options]

Arguments:
  DIR                 Folders that federage run played into

Options:
  --checkpoint NAME   last, average, smooth or all [default: all]
  --json              A list of objects, one a folder; shares are fractions
  --csv               A line a method, metric and checkpoint; shares are fractions
  --latex             The paper's table, to be compiled by itself
  -h, --help          Show this

Examples:
  federage table runs/demo
  federage table runs/* --checkpoint last --csv > scores.csv
"""

COMPARE = """\
Show how methods differ, seed by seed, and how sure that is.

On one seed all methods meet the same arrivals and mini-batches, so differences are taken
seed by seed: their mean, its 95 % interval by Student's t, and p adjusted by Holm for
the number of comparisons. Beside it stands the Z-test of the FedeRage paper, which takes
the last looks of a run for independent, and is too sure.

Usage: federage compare DIR... [options]

Arguments:
  DIR                 Folders that federage run played into; each is compared by itself

Options:
  --to LABEL          Method to compare with [default: the best one]
  --checkpoint NAME   last, average, smooth or all [default: last]
  --json              A list of objects, one a folder; shares are fractions
  -h, --help          Show this

Examples:
  federage compare runs/demo
  federage compare runs/demo --to FedAvg --checkpoint smooth
"""


def add(commands: Any) -> None:
    showing = commands.add_parser("table", text=TABLE)
    _add_folders(showing, "all")
    forms = showing.add_mutually_exclusive_group()
    for form in ("json", "csv", "latex"):
        forms.add_argument(f"--{form}", action="store_const", const=form, dest="form")
    showing.set_defaults(run=table)
    comparing = commands.add_parser("compare", text=COMPARE)
    _add_folders(comparing, "last")
    comparing.add_argument("--to", metavar="LABEL")
    comparing.add_argument("--json", action="store_true")
    comparing.set_defaults(run=compare)


def _add_folders(command: Any, checkpoint: str) -> None:
    command.add_argument("folders", nargs="+", type=Path, metavar="DIR")
    command.add_argument("--checkpoint", choices=(*CHECKPOINTS, "all"), default=checkpoint, metavar="checkpoint")


def table(arguments: Namespace) -> int:
    recordeds = opened(arguments.folders)
    if arguments.form == "json":
        print(_json([scores(recorded, arguments.checkpoint) for recorded in recordeds]))
    elif arguments.form == "csv":
        print(_csv(recordeds, arguments.checkpoint), end="")
    elif arguments.form == "latex":
        from federage.report import latex

        if arguments.checkpoint != "all" or len(recordeds) > 1:
            raise ExperimentError("--latex makes the whole table of one folder; name one DIR, without --checkpoint")
        print(latex.documents(recordeds[0])["results"], end="")
    else:
        for k, recorded in enumerate(recordeds):
            _between(k)
            show(recorded, arguments.checkpoint, _titled(recorded, recordeds))
    return 0


def compare(arguments: Namespace) -> int:
    recordeds = opened(arguments.folders)
    told = [_differences(recorded, arguments.to, arguments.checkpoint) for recorded in recordeds]
    if arguments.json:
        objects = zip(recordeds, told, strict=True)
        print(_json([_about(recorded) | {"differences": rows} for recorded, rows in objects]))
        return 0
    for k, (recorded, rows) in enumerate(zip(recordeds, told, strict=True)):
        _between(k)
        seeds = len(recorded.experiment.seeds)
        terminal.table(_titled(recorded, recordeds), *_compared(recorded, rows), numbers=True)
        if seeds < 2:
            terminal.note("one seed has no intervals: play more, with --seeds")
        if any(row["too_sure"] for row in rows):
            terminal.note("!: the Z-test is sure (p < 5 %), the seeds are not")
        terminal.note(
            f"paired differences over {seeds} seed{'s' if seeds > 1 else ''}, in points of 1 % (the loss as it is); "
            "p: by Student's t, adjusted by Holm; Z-test: the p of the paper's"
        )
    return 0


def opened(folders: Iterable[Path]) -> list[Recorded]:
    """What the folders hold; something must have been seen in each."""
    from federage.experiments import open_folder

    recordeds = [open_folder(folder) for folder in folders]
    for recorded in recordeds:
        on = f"federage run --resume {shlex.quote(str(recorded.folder))}"
        if not recorded.methods:
            raise StoreError(f"{recorded.folder} has nothing to show yet; go on with: {on}")
        if not recorded.finished:
            terminal.note(f"{recorded.folder} is not finished; go on with: {on}")
    return recordeds


def show(recorded: Recorded, checkpoint: str = "all", title: str = "") -> None:
    """The table of results on stdout, and what a reader of it must know on stderr."""
    from federage.report import summary, tables

    columns, rows = summary.table(recorded)
    heading, shown = "", []
    names = {name: key for key, name in tables.checkpoints(recorded).items()}
    for row in rows:
        heading = names[row[0]] if len(row) == 1 else heading
        if checkpoint in ("all", heading):
            shown.append(row)
    terminal.table(title, columns, shown, numbers=True)
    if title:
        terminal.note(f"{recorded.folder}:")
    for line in summary.notes(recorded):
        terminal.note(line)


def scores(recorded: Recorded, checkpoint: str = "all") -> dict[str, Any]:
    """The final scores for a script: shares are fractions, what is not known is null."""
    from federage.report import tables

    rows = tables.results(recorded).to_dicts()
    return _about(recorded) | {"results": [row for row in rows if checkpoint in ("all", row["checkpoint"])]}


def as_json(recorded: Recorded) -> str:
    """The same as text."""
    return _json(scores(recorded))


def write_report(recordeds: Sequence[Recorded], path: Path) -> Path:
    """The page about one or several folders."""
    from federage import report

    with written(path):
        return report.write(recordeds, path)


@contextlib.contextmanager
def written(path: Path) -> Generator[None]:
    """What goes wrong with files here is told with what to do about it."""
    try:
        yield
    except OSError as error:
        raise OSError(f"{path} cannot be written ({error.strerror or error}); name another place with --out") from error


def _about(recorded: Recorded) -> dict[str, Any]:
    experiment = recorded.experiment
    return {
        "folder": str(recorded.folder),
        "title": experiment.title,
        "finished": recorded.finished,
        "rounds": experiment.rounds,
        "seeds": list(experiment.seeds),
    }


def _csv(recordeds: Sequence[Recorded], checkpoint: str) -> str:
    import polars as pl

    from federage.report import tables

    frames = [
        tables.results(recorded).insert_column(0, pl.lit(str(recorded.folder)).alias("folder"))
        for recorded in recordeds
    ]
    whole = pl.concat(frames)
    return (whole if checkpoint == "all" else whole.filter(pl.col("checkpoint") == checkpoint)).write_csv()


def _differences(recorded: Recorded, to: str | None, checkpoint: str) -> list[dict[str, Any]]:
    """The rows of the paired differences that are asked for."""
    from federage.report import tables

    if len(recorded.methods) < 2:
        raise ExperimentError(f"{recorded.folder} has one method alone, {recorded.methods[0]}; two can be compared")
    if to is not None and to not in recorded.methods:
        raise ExperimentError(f"--to: {unknown('method', to, recorded.methods)}")
    against = "best" if to is None else "to"
    return [
        row
        for row in tables.paired(recorded, to).to_dicts()
        if row["against"] == against and checkpoint in ("all", row["checkpoint"])
    ]


def _compared(recorded: Recorded, rows: Sequence[Mapping[str, Any]]) -> tuple[list[str], list[list[str]]]:
    """The columns, and under a heading a metric and checkpoint the differences from one method."""
    from federage.report import tables

    cells: list[list[str]] = []
    names, before = tables.checkpoints(recorded), None
    for row in rows:
        metric = tables.METRICS[row["metric"]]
        if before != (before := (row["checkpoint"], row["metric"])):
            best = ", the best" if row["against"] == "best" else ""
            cells.append([f"{metric.name}, {names[row['checkpoint']]}: minus {row['reference']}{best}"])
        scale, digits = (100, 1) if metric.share else (1, 3)
        low, high = (_signed(row[end], scale, digits) for end in ("low", "high"))
        cells.append(
            [
                f"  {row['method']}",
                _signed(row["difference"], scale, digits),
                "-" if row["low"] is None else f"{low} to {high}",
                _probability(row["p_holm"]),
                _probability(row["p_z"]) + (" !" if row["too_sure"] else "  "),
            ]
        )
    return ["", "difference", "95 % interval", "p", "Z-test  "], cells


def _signed(value: float | None, scale: float, digits: int) -> str:
    return "-" if value is None else f"{scale * value:+.{digits}f}"


def _probability(p: float | None) -> str:
    return "-" if p is None else "<0.001" if p < 0.001 else f"{p:.3f}"


def _titled(recorded: Recorded, all_of_them: Sequence[Recorded]) -> str:
    return f"{recorded.folder}: {recorded.experiment.title}" if len(all_of_them) > 1 else ""


def _between(k: int) -> None:
    if k:
        print(flush=True)


def _json(value: Any) -> str:
    return json.dumps(_plain(value), indent=1, ensure_ascii=False, allow_nan=False)


def _plain(value: Any) -> Any:
    """JSON has no infinities: z is one where nothing varies."""
    if isinstance(value, dict):
        return {key: _plain(entry) for key, entry in value.items()}
    if isinstance(value, list):
        return [_plain(entry) for entry in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
