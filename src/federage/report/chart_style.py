"""What all figures have in common: how one is described, styled, and drawn.

A figure is described once, in Vega-Lite by Altair, without its data. From that description a page draws it live, and
`drawing` draws it still. Its colours are the stand-ins of `palette`; methods in the parameter `hidden` are left out.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from html import escape
from typing import Any, NamedTuple

import altair as alt
import polars as pl
import vl_convert

from federage.report import palette
from federage.report.palette import Pen

WIDTH = 860
FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, Helvetica, Arial, sans-serif"
VISIBLE = "indexof(hidden, datum.method) < 0"
SHARE = ".1%"


class Figure(NamedTuple):
    """A figure of a report.

    Attributes:
      title: what it shows, in a few words.
      caption: what a reader must know to read it.
      chart: the description, whose data are named.
      data: the named data.
      numbers: what the figure says, as a table for those who cannot see it.
    """

    title: str
    caption: str
    chart: alt.TopLevelMixin
    data: Mapping[str, pl.DataFrame]
    numbers: pl.DataFrame


def source(name: str) -> alt.NamedData:
    """Data by name."""
    return alt.NamedData(name=name)


def by_method(pens: Mapping[str, Pen], legend: bool = True, symbol: str = "stroke") -> alt.Color:
    """The colour of each method, and a legend of as many columns as there is room for."""
    shown = alt.Legend(
        title=None,
        symbolType=symbol,
        symbolStrokeWidth=3,
        symbolOpacity=1,
        columns=_columns([len(label) for label in pens]),
        labelLimit=400,
    )
    scale = alt.Scale(domain=list(pens), range=[pen.colour.stand_in for pen in pens.values()])
    return alt.Color("method:N", title="method", scale=scale, legend=shown if legend else None)


def dashed(pens: Mapping[str, Pen]) -> alt.StrokeDash | alt.StrokeDashValue:
    """The dash of each method, where colours repeat."""
    if len(pens) <= len(palette.SERIES):
        return alt.StrokeDashValue(palette.DASHES[0])
    scale = alt.Scale(domain=list(pens), range=[pen.dash for pen in pens.values()])
    return alt.StrokeDash("method:N", title="method", scale=scale)


def description(figure: Figure) -> dict[str, Any]:
    """The figure in Vega-Lite, styled, without its data."""
    return figure.chart.to_dict() | {"config": _config(), "params": [{"name": "hidden", "value": []}]}


def drawing(figure: Figure) -> str:
    """The figure as a still SVG: one image, whose title and description can be read out."""
    spec = _still(description(figure))
    spec["datasets"] = {name: frame.to_dicts() for name, frame in figure.data.items()}
    head, rest = vl_convert.vegalite_to_svg(spec).split(">", 1)
    told = f"<title>{escape(figure.title)}</title><desc>{escape(figure.caption)}</desc>"
    return f'{head} role="img">{told}{rest}'


def columns(figure: Figure) -> str:
    """The figure's data for a page, as JSON: column by column, which is a third of its size row by row."""
    return json.dumps(
        {name: {column.name: _plain(column) for column in frame} for name, frame in figure.data.items()},
        separators=(",", ":"),
        ensure_ascii=False,
    )


def _columns(lengths: Sequence[int]) -> int:
    """As many columns of a legend as fit beside one another; each is as wide as the longest label in it."""
    fits = [
        count
        for count in range(1, len(lengths) + 1)
        if sum(7 * max(lengths[k::count]) + 42 for k in range(count)) <= WIDTH
    ]
    return max(fits, default=1)


def _plain(column: pl.Series) -> list[Any]:
    """A column's values, numbers to five digits."""
    return column.round_sig_figs(5).to_list() if column.dtype.is_float() else column.to_list()


def _still(spec: Any) -> Any:
    """The description without the marks that can only be felt: those that are there for a pointer to find."""
    if isinstance(spec, list):
        return [_still(part) for part in spec if not (isinstance(part, dict) and _unseen(part))]
    return {key: _still(part) for key, part in spec.items()} if isinstance(spec, dict) else spec


def _unseen(part: Mapping[str, Any]) -> bool:
    mark = part.get("mark")
    return isinstance(mark, dict) and mark.get("opacity") == 0


def _config() -> dict[str, Any]:
    ink, quiet, faint = (colour.stand_in for colour in (palette.INK, palette.QUIET, palette.FAINT))
    text = {
        "labelColor": quiet,
        "titleColor": ink,
        "labelFontSize": 11,
        "titleFontSize": 12,
        "titleFontWeight": "normal",
    }
    return {
        "aria": False,
        "background": None,
        "font": FONT,
        "view": {"stroke": None},
        "axis": {"gridColor": faint, "domainColor": faint, "tickColor": faint, "titlePadding": 8, **text},
        "axisY": {"labelLimit": 260},
        "header": {**text, "labelColor": ink, "labelFontSize": 12, "labelFontWeight": 600, "labelAnchor": "start"},
        "legend": {**text, "labelColor": ink, "orient": "top", "labelFontSize": 12, "columnPadding": 18},
        "title": {"color": ink, "fontSize": 12, "fontWeight": 600, "anchor": "start"},
        "facet": {"spacing": 24},
        "point": {"filled": True},
    }
