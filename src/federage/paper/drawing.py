"""Drawing a figure of the paper and putting it on a page: SVG, PNG and one self-contained HTML file."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Mapping, Sequence
from html import escape
from pathlib import Path
from typing import Any, NamedTuple

import altair as alt
import polars as pl
import vl_convert

from federage.analysis import statistics
from federage.report import chart_style, palette

CSS = """\
body { margin: 0; background: var(--paper); color: var(--ink); font: 16px/1.55 FONT; }
main { max-width: 980px; margin: 0 auto; padding: 40px 24px 64px; }
h1 { font-size: 1.5rem; line-height: 1.25; }
p, figcaption { max-width: 48rem; }
.quiet, figcaption { color: var(--quiet); font-size: .92rem; }
figure { margin: 1.6rem 0; overflow-x: auto; }
figure svg { display: block; max-width: 100%; min-width: 40rem; height: auto; }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; }
th, td { padding: .3rem 1.1rem .3rem 0; text-align: right; white-space: nowrap; border-bottom: 1px solid var(--faint); }
th:first-child { text-align: left; font-weight: 500; }
th[scope=rowgroup] { color: var(--quiet); padding-top: 1rem; }
@media print { main { max-width: none; padding: 0; } }
""".replace("FONT", chart_style.FONT)


class Picture(NamedTuple):
    """A drawing with what it is called, and what a reader must know to read it.

    Attributes:
      name: of its files.
      title, caption: in words.
      chart: the drawing.
      played: whether it shows runs, which stand in for larger ones where the figure is stamped so.
    """

    name: str
    title: str
    caption: str
    chart: alt.TopLevelMixin
    played: bool = True


class Table(NamedTuple):
    """Columns and rows as text; a row of one cell is a heading within the table."""

    columns: list[str]
    rows: list[list[str]]


class Drawn(NamedTuple):
    """A figure before it is written: `texts` are further files by name."""

    title: str
    pictures: Sequence[Picture] = ()
    table: Table | None = None
    notes: tuple[str, ...] = ()
    texts: Mapping[str, str] = {}


class Made(NamedTuple):
    """What a figure has come to: its files, the page last, and what a terminal shows of it."""

    files: list[Path]
    table: Table | None = None
    notes: tuple[str, ...] = ()


def write(folder: Path, name: str, drawn: Drawn, stamp: str = "") -> Made:
    """Write every picture as SVG and PNG, the table as CSV, and all of it with the notes as one page, NAME.html.

    Args:
      folder: made if need be.
      name: of the page and the table.
      drawn: what to write.
      stamp: a line that stands on every picture of runs itself, and on the page.
    """
    folder.mkdir(parents=True, exist_ok=True)
    files: dict[Path, bytes] = {}
    body = [f"<h1>{escape(drawn.title)}</h1>", *([f"<p><strong>{escape(stamp)}</strong></p>"] if stamp else [])]
    for picture in drawn.pictures:
        svg = _svg(picture, stamp)
        body.append(f"<figure>{palette.themed(svg)}<figcaption>{escape(picture.caption)}</figcaption></figure>")
        files[folder / f"{picture.name}.svg"] = _alone(svg).encode()
        files[folder / f"{picture.name}.png"] = _png(picture, stamp)
    if drawn.table is not None:
        body.append(_html(drawn.table))
        files[folder / f"{name}.csv"] = _csv(drawn.table).encode()
    files |= {folder / file: text.encode() for file, text in drawn.texts.items()}
    body += [f'<p class="quiet">{escape(note)}</p>' for note in drawn.notes]
    files[folder / f"{name}.html"] = _page(drawn.title, body).encode()
    for path, content in files.items():
        path.write_bytes(content)
    return Made(list(files), drawn.table, (*([stamp] if stamp else []), *drawn.notes))


def by_method(labels: Sequence[str]) -> alt.Color:
    """A method's colour and its place in the legend."""
    return chart_style.by_method(palette.pens(labels))


def inline(rows: Sequence[Mapping[str, Any]]) -> alt.InlineData:
    """Rows as a chart's data."""
    return alt.InlineData(values=[dict(row) for row in rows])


def percent(mean: float, std: float | None = None, digits: int = 1) -> str:
    """Mean and standard deviation, both in per cent already; NaN or None where there is none."""
    if mean != mean:
        return "-"
    return f"{mean:.{digits}f}" + ("" if std is None or std != std else f" ± {std:.{digits}f}")


def apart(what: str, paired: statistics.Paired) -> str:
    """A difference seed by seed, in words; nothing where there are not two seeds to compare."""
    if paired.n < 2:
        return ""
    low, high = 100 * paired.low, 100 * paired.high
    sure = f"95 % interval {low:+.1f} to {high:+.1f}, {paired.n} seeds, paired"
    unsure = "; these seeds cannot tell them apart" if low <= 0 <= high else ""
    return f"{what}: {100 * paired.difference:+.1f} points ({sure}){unsure}."


def _description(picture: Picture, stamp: str) -> str:
    """Vega-Lite, in the colours' stand-ins; unlike a report's figures, on paper of its own."""
    figure = chart_style.Figure(picture.title, picture.caption, picture.chart, {}, pl.DataFrame())
    spec, quiet = chart_style.description(figure), palette.QUIET.stand_in
    spec["config"] |= {"background": palette.PAPER.stand_in, "padding": 14}
    spec["config"]["title"] |= {"frame": "group", "subtitleColor": quiet, "subtitleFontSize": 11}
    if stamp and picture.played:
        spec["title"] = {"text": stamp, "color": quiet, "fontSize": 11, "frame": "bounds"}
    return json.dumps(spec)


def _svg(picture: Picture, stamp: str) -> str:
    """In stand-ins; one image, whose title and description can be read out."""
    head, rest = vl_convert.vegalite_to_svg(_description(picture, stamp)).split(">", 1)
    return f'{head} role="img"><title>{escape(picture.title)}</title><desc>{escape(picture.caption)}</desc>{rest}'


def _alone(svg: str) -> str:
    """As a file of its own, that follows the reader's light or dark."""
    head, rest = palette.themed(svg).split("</desc>", 1)
    return f"{head}</desc><style>{palette.style('svg')}</style>{rest}\n"


def _png(picture: Picture, stamp: str) -> bytes:
    return vl_convert.vegalite_to_png(palette.fixed(_description(picture, stamp)), scale=2)


def _page(title: str, body: Sequence[str]) -> str:
    return (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        '<meta name="color-scheme" content="light dark">'
        f"<title>{escape(title)}</title>\n<style>{palette.style()}\n{CSS}</style></head>\n"
        f"<body><main>\n{chr(10).join(body)}\n</main></body></html>\n"
    )


def _html(table: Table) -> str:
    head = "".join(f'<th scope="col">{escape(column)}</th>' for column in table.columns)
    rows = []
    for first, *cells in table.rows:
        if cells:
            data = "".join(f"<td>{escape(cell)}</td>" for cell in cells)
            rows.append(f'<tr><th scope="row">{escape(first)}</th>{data}</tr>')
        else:
            rows.append(f'<tr><th scope="rowgroup" colspan="{len(table.columns)}">{escape(first)}</th></tr>')
    return f'<div class="scroll"><table><thead><tr>{head}</tr></thead><tbody>{"".join(rows)}</tbody></table></div>'


def _csv(table: Table) -> str:
    """A row's heading, where the table has headings, is its first cell."""
    headed = any(len(row) == 1 for row in table.rows)
    buffer, heading = io.StringIO(), ""
    writer = csv.writer(buffer, lineterminator="\n")
    writer.writerow([*([""] if headed else []), *table.columns])
    for row in table.rows:
        if len(row) == 1:
            heading = row[0]
        else:
            writer.writerow([*([heading] if headed else []), *(cell.strip() for cell in row)])
    return buffer.getvalue()
