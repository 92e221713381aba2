"""The tables of a report, as HTML."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from html import escape
from typing import Any

import polars as pl

from federage.experiments.store import Recorded
from federage.report import palette, tables
from federage.report.palette import Pen
from federage.report.tables import METRICS

ROWS = 60
"""The most rows that are shown of a figure's numbers."""


def results(recorded: Recorded, pens: Mapping[str, Pen]) -> str:
    """Table I of this experiment: a part a checkpoint, a row a method, a column a metric, with the paper's marks."""
    known = tables.metrics(recorded)
    cells = {
        (row["checkpoint"], row["metric"], row["method"]): row for row in tables.results(recorded).rows(named=True)
    }
    body: list[str] = []
    for checkpoint, name in tables.checkpoints(recorded).items():
        body.append(f'<tbody class="part"><tr><th colspan="{len(known) + 1}" scope="rowgroup">{escape(name)}</th></tr>')
        for label in recorded.methods:
            row = "".join(f"<td>{_marked(cells[checkpoint, key, label])}</td>" for key in known)
            body.append(f"<tr>{_method(label, pens)}{row}</tr>")
        body.append("</tbody>")
    return _table("method", [metric.name for metric in known.values()], "".join(body))


def compared(recordeds: Sequence[Recorded], pens: Mapping[str, Pen]) -> str:
    """The last checkpoint of several experiments, a part each; they are not tested against one another."""
    keys = [key for key in METRICS if any(key in tables.metrics(recorded) for recorded in recordeds)]
    body: list[str] = []
    for recorded in recordeds:
        heading = f'<th colspan="{len(keys) + 1}" scope="rowgroup">{escape(name(recorded))}</th>'
        body.append(f'<tbody class="part"><tr>{heading}</tr>')
        cells = {
            (key, row["method"]): row | {"metric": key}
            for key in tables.metrics(recorded)
            for row in tables.results_at(recorded, "last", key).rows(named=True)
        }
        for label in recorded.methods:
            row = "".join(f"<td>{_marked(cells[key, label]) if (key, label) in cells else '–'}</td>" for key in keys)
            body.append(f"<tr>{_method(label, pens)}{row}</tr>")
        body.append("</tbody>")
    return _table("method", [METRICS[key].name for key in keys], "".join(body))


def name(recorded: Recorded) -> str:
    """What tells one experiment from another: its title and where it lies."""
    return f"{recorded.experiment.title} ({recorded.folder.name})"


def paired(recorded: Recorded, pens: Mapping[str, Pen]) -> str:
    """Differences in the headline metric at the last checkpoint, with what the seeds say and what the Z-test says."""
    key = tables.headline(recorded)
    scale, digits = (100, 2) if METRICS[key].share else (1, 4)
    body: list[str] = []
    for part in tables.paired_at(recorded, "last", key).partition_by("against", "reference", maintain_order=True):
        against, reference = part.select("against", "reference").row(0)
        unit = "in points of accuracy" if METRICS[key].share else f"in {key}"
        what = f"minus {reference}{', the best mean' if against == 'best' else ''}, {unit}, paired by seed"
        body.append(f'<tbody class="part"><tr><th colspan="7" scope="rowgroup">{escape(what)}</th></tr>')
        for row in part.rows(named=True):
            within = f"{signed(row['low'], scale, digits)} to {signed(row['high'], scale, digits)}"
            shown = [
                signed(row["difference"], scale, digits),
                "–" if row["low"] is None else within,
                probability(row["p"]),
                probability(row["p_holm"]),
                probability(row["p_z"]),
                '<strong class="warn">Z-test too sure</strong>' if row["too_sure"] else _verdict(row),
            ]
            cells = "".join(f"<td>{text}</td>" for text in shown)
            body.append(f"<tr>{_method(row['method'], pens)}{cells}</tr>")
        body.append("</tbody>")
    head = ["difference", "95 % interval", "p", "p, Holm", "p, Z-test", "verdict"]
    return _table("method", head, "".join(body))


def frame(rows: pl.DataFrame, caption: str, most: int = ROWS) -> str:
    """Any frame, closed until a reader opens it; the first column heads the rows."""
    shown = rows.head(most)
    more = f" (the first {most} of {len(rows):,} rows)" if len(rows) > most else ""
    body = "".join(
        f'<tr><th scope="row">{_value(first)}</th>{"".join(f"<td>{_value(value)}</td>" for value in rest)}</tr>'
        for first, *rest in shown.rows()
    )
    table = _table(shown.columns[0], shown.columns[1:], f"<tbody>{body}</tbody>")
    return f"<details><summary>Numbers: {escape(caption)}{more}</summary>{table}</details>"


def details(recorded: Recorded) -> pl.DataFrame:
    """The table of results in full, for `frame`: no marks, but every deviation, and what the values are worth."""
    return tables.results(recorded).select(
        "method", "checkpoint", "metric", "mean", "std", "std_over_seeds", "seeds", "values", "worth"
    )


def plain(table: Mapping[str, Any]) -> str:
    """Names and values."""
    rows = "".join(
        f'<tr><th scope="row">{escape(key)}</th><td>{_value(value, "none")}</td></tr>' for key, value in table.items()
    )
    return f'<table class="plain"><tbody>{rows}</tbody></table>'


def swatch(pen: Pen) -> str:
    """A method's colour and dash, as a short line."""
    dash = f' stroke-dasharray="{" ".join(map(str, pen.dash))}"' if pen.dash != palette.DASHES[0] else ""
    line = f'<line x1="0" y1="5" x2="20" y2="5" stroke="var(--{pen.colour.name})" stroke-width="4"{dash}/>'
    return f'<svg class="swatch" width="20" height="10" aria-hidden="true">{line}</svg>'


def probability(p: float | None) -> str:
    """A p value, as far as it is worth telling."""
    return "–" if p is None else "&lt; 0.001" if p < 0.001 else f"{p:.3f}"


def signed(value: float | None, scale: float, digits: int) -> str:
    """A number with its sign."""
    return "–" if value is None else f"{scale * value:+.{digits}f}".replace("-", "−")


def _verdict(row: Mapping[str, Any]) -> str:
    if row["p_holm"] is None:
        return "too few seeds"
    return "different" if row["p_holm"] < 1 - tables.LEVEL else "cannot be told apart"


def _marked(row: Mapping[str, Any]) -> str:
    """Mean and deviation: bold the best mean, blue the best mean less deviation, a dagger where significant."""
    if row["mean"] is None:
        return "–"
    share = METRICS[row["metric"]].share
    scale, digits = (100, 1) if share else (1, 3)
    mean = f"{scale * row['mean']:.{digits}f}"
    std = "" if row["std"] is None else f'<span class="std"> ± {scale * row["std"]:.{digits}f}</span>'
    dagger = '<sup title="significant by the Z-test">†</sup>' if row["significant"] else ""
    text = (f"<strong>{mean}</strong>" if row["best_mean"] else mean) + dagger + std
    if not row["best_mean_minus_std"]:
        return text
    return f'<span class="steady" title="best mean minus deviation">{text}</span>'


def _method(label: str, pens: Mapping[str, Pen]) -> str:
    mark = swatch(pens[label]) if label in pens else ""
    return f'<th scope="row">{mark}{escape(label)}</th>'


def _table(first: str, columns: Iterable[str], body: str) -> str:
    head = "".join(f'<th scope="col">{escape(column)}</th>' for column in [first, *columns])
    return f'<div class="scroll"><table><thead><tr>{head}</tr></thead>{body}</table></div>'


def _value(value: Any, nothing: str = "–") -> str:
    if isinstance(value, float):
        return f"{value:.4g}"
    if isinstance(value, (list, tuple)):
        return escape(", ".join(map(str, value)))
    return nothing if value is None else escape(str(value))
