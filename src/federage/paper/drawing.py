"""Drawing a figure of the paper, and putting it on a page: SVG, PNG and one self-contained HTML file."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from html import escape
from pathlib import Path
from typing import Any, NamedTuple

import altair as alt
import vl_convert

from federage.experiments import palette

FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, Helvetica, Arial, sans-serif"
CSS = """\
body { margin: 0; background: var(--paper); color: var(--ink); font: 16px/1.55 FONT; }
main { max-width: 980px; margin: 0 auto; padding: 40px 24px 64px; }
h1 { font-size: 1.5rem; line-height: 1.25; }
p, figcaption { max-width: 48rem; }
.quiet, figcaption { color: var(--quiet); font-size: .92rem; }
figure { margin: 1.6rem 0; overflow-x: auto; }
figure svg { display: block; width: 100%; min-width: 40rem; height: auto; }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; }
th, td { padding: .3rem 1.1rem .3rem 0; text-align: right; white-space: nowrap; border-bottom: 1px solid var(--faint); }
th:first-child { text-align: left; font-weight: 500; }
th[scope=rowgroup] { color: var(--quiet); padding-top: 1rem; }
@media print { main { max-width: none; padding: 0; } }
""".replace("FONT", FONT)


class Picture(NamedTuple):
    """A drawing with what it is called, and what a reader must know to read it."""

    name: str
    title: str
    caption: str
    chart: alt.TopLevelMixin


class Table(NamedTuple):
    """Columns and rows as text; a row of one cell is a heading within the table."""

    columns: list[str]
    rows: list[list[str]]


class Made(NamedTuple):
    """What a figure has come to: its files, and what a terminal shows of it."""

    files: list[Path]
    table: Table | None = None
    notes: tuple[str, ...] = ()


def write(folder: Path, name: str, title: str, pictures: Sequence[Picture], table: Table | None, notes: Iterable[str]):
    """Write every picture as SVG and PNG, and all of them, the table and the notes as one page NAME.html."""
    folder.mkdir(parents=True, exist_ok=True)
    files, drawings = [], []
    for picture in pictures:
        svg = _svg(picture)
        drawings.append(f"<figure>{palette.themed(svg)}<figcaption>{escape(picture.caption)}</figcaption></figure>")
        files += [folder / f"{picture.name}.svg", folder / f"{picture.name}.png"]
        files[-2].write_text(_alone(svg), encoding="utf-8")
        files[-1].write_bytes(_png(picture))
    body = [f"<h1>{escape(title)}</h1>", *drawings]
    if table is not None:
        body.append(_html(table))
    body += [f'<p class="quiet">{escape(note)}</p>' for note in notes]
    page = folder / f"{name}.html"
    page.write_text(
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        '<meta name="color-scheme" content="light dark">'
        f"<title>{escape(title)}</title>\n<style>{palette.style()}\n{CSS}</style></head>\n"
        f"<body><main>\n{chr(10).join(body)}\n</main></body></html>\n",
        encoding="utf-8",
    )
    return [*files, page]


def by_method(labels: Sequence[str]) -> alt.Color:
    """A method's colour and its place in the legend."""
    pens = palette.pens(labels)
    return alt.Color(
        "method:N",
        scale=alt.Scale(domain=list(labels), range=[pens[label].colour.stand_in for label in labels]),
        legend=alt.Legend(title=None, symbolType="square", symbolOpacity=1, symbolStrokeWidth=0),
    )


def inline(rows: Sequence[dict[str, Any]]) -> alt.InlineData:
    return alt.InlineData(values=list(rows))


def _description(picture: Picture) -> str:
    """Vega-Lite, in the colours' stand-ins."""
    ink, quiet, faint = (colour.stand_in for colour in (palette.INK, palette.QUIET, palette.FAINT))
    text = {"labelColor": quiet, "titleColor": ink, "labelFontSize": 11, "titleFontSize": 12, "titleFontWeight": 400}
    config = {
        "aria": False,
        "background": palette.PAPER.stand_in,
        "font": FONT,
        "padding": 14,
        "view": {"stroke": None},
        "axis": {"gridColor": faint, "domainColor": faint, "tickColor": faint, "titlePadding": 8, **text},
        "header": {**text, "labelColor": ink, "labelFontSize": 12, "labelFontWeight": 600, "labelAnchor": "start"},
        "legend": {**text, "labelColor": ink, "orient": "top", "labelFontSize": 12, "columnPadding": 18},
        "title": {
            "color": ink,
            "fontSize": 13,
            "anchor": "start",
            "frame": "group",
            "subtitleColor": quiet,
            "subtitleFontSize": 11,
        },
    }
    return json.dumps(picture.chart.to_dict() | {"config": config})


def _svg(picture: Picture) -> str:
    """In stand-ins; one image, whose title and description can be read out."""
    head, rest = vl_convert.vegalite_to_svg(_description(picture)).split(">", 1)
    return f'{head} role="img"><title>{escape(picture.title)}</title><desc>{escape(picture.caption)}</desc>{rest}'


def _alone(svg: str) -> str:
    """As a file of its own, that follows the reader's light or dark."""
    head, rest = palette.themed(svg).split("</desc>", 1)
    return f"{head}</desc><style>{palette.style('svg')}</style>{rest}\n"


def _png(picture: Picture) -> bytes:
    return vl_convert.vegalite_to_png(palette.fixed(_description(picture)), scale=2)


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
