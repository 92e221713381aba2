"""A law drawn: p of every client as bars, beside what it would be if all were equally likely."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import altair as alt
import polars as pl
import vl_convert

from federage.report import chart_style, palette
from federage.report.chart_style import Figure

if TYPE_CHECKING:
    from federage.cli.law import Profile

WIDTH, HEIGHT = 560, 200
MOST = 2_000  # clients that are drawn: more would be narrower than a pixel


def draw(profile: Profile, form: str) -> bytes:
    """The bytes of an .svg, .png or .pdf file, in the light colours on white."""
    svg = palette.fixed(_on_paper(chart_style.drawing(figure(profile))))
    if form == ".svg":
        return svg.encode()
    return vl_convert.svg_to_png(svg, scale=2) if form == ".png" else vl_convert.svg_to_pdf(svg)


def figure(profile: Profile) -> Figure:
    """Pi above, p below."""
    count = profile.law.clients
    step = -(-count // MOST)
    columns = {"pi": profile.inclusion.values, "p": profile.weights.values}
    rows = pl.DataFrame({"client": range(count), **columns}).gather_every(step)
    titles = {"pi": "inclusion probability π", "p": "weight p in the average"}
    panels = [_panel(name, title, float(rows[name].max()) * 1.05) for name, title in titles.items()]  # pyright: ignore[reportArgumentType]
    even = {name: pl.DataFrame({"level": [float(values.mean())]}) for name, values in columns.items()}
    return Figure(
        f"{profile.name}: π and p of {count:,} clients",
        f"π ({profile.inclusion.how}) and p ({profile.weights.how}); dashed: the same for all"
        + (f"; every {step}th client is drawn." if step > 1 else "."),
        alt.vconcat(*panels, spacing=16),
        {"clients": rows, **{f"{name}_even": frame for name, frame in even.items()}},
        rows,
    )


def _panel(name: str, title: str, top: float) -> Any:
    bars = (
        alt.Chart(chart_style.source("clients"))
        .mark_bar(color=palette.SERIES[1].stand_in)
        .encode(
            x=alt.X("client:O", axis=alt.Axis(labelOverlap=True, labelAngle=0, title="client")),
            y=alt.Y(f"{name}:Q", title=title, scale=alt.Scale(domain=[0, top], nice=False)),
        )
    )
    even = alt.Chart(chart_style.source(f"{name}_even")).mark_rule(strokeDash=[4, 4], color=palette.QUIET.stand_in)
    return alt.layer(bars, even.encode(y="level:Q")).properties(width=WIDTH, height=HEIGHT)


def _on_paper(svg: str) -> str:
    head, rest = svg.split("</desc>", 1)
    return f'{head}</desc><rect width="100%" height="100%" fill="{palette.PAPER.stand_in}"/>{rest}'
