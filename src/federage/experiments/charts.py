"""The figures of a report, as descriptions (Vega-Lite, by Altair), and their drawing as SVG."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import Any, NamedTuple

import altair as alt
import numpy as np
import vl_convert

from federage.experiments import palette
from federage.experiments.outcome import Outcome

FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, Helvetica, Arial, sans-serif"


class Panel(NamedTuple):
    """What one panel of `curves` shows."""

    title: str
    metric: str
    checkpoint: str


def curves(outcome: Outcome, panels: Sequence[Panel], title: str, width: int = 258) -> alt.TopLevelMixin:
    """Metrics against rounds: the mean over seeds, and a band of one standard deviation."""
    rows = [row for panel in panels for row in _curve_rows(outcome, panel)]
    base = alt.Chart().encode(
        x=alt.X("round:Q", title="round", axis=alt.Axis(tickCount=5)),
        color=_by_method(outcome),
    )
    low, mean = (alt.Y(f"{end}:Q", title=title, scale=alt.Scale(domain=[0, 1])) for end in ("low", "mean"))
    band = base.mark_area(opacity=0.13).encode(y=low, y2="high:Q")
    line = base.mark_line(strokeWidth=1.8).encode(y=mean)
    layers = alt.layer(band, line, data=_data(rows)).properties(width=width, height=190)
    return layers.facet(column=alt.Column("panel:N", sort=[panel.title for panel in panels], title=None))


def overview(outcome: Outcome) -> alt.TopLevelMixin:
    """The result at a glance: everybody's accuracy, and that of those who hardly ever get through."""
    panels = [
        Panel("all clients", "accuracy", "last"),
        Panel("rare clients", "rare", "last"),
        Panel("worst client", "worst", "last"),
    ]
    return curves(outcome, panels, "accuracy")


def clients(outcome: Outcome, checkpoint: str) -> alt.TopLevelMixin:
    """Each client's accuracy (mean over seeds) against its weight p_i, one panel a method.

    A client with p = 0 has no place on the logarithmic axis.
    """
    weights = np.asarray(outcome.weights.values)
    nudge = np.random.default_rng(0).uniform(-0.13, 0.13, len(weights))  # in decades: clients of equal weight apart
    rows = []
    for label, result in outcome.results.items():
        if not result.finite.any():
            continue
        accuracy = np.asarray(result.looks[checkpoint].by_client, np.float64)[result.finite, -1].mean(axis=0)
        for client, row in zip(outcome.clients, accuracy, strict=True):
            k = client["client"]
            if weights[k] > 0:
                rows.append(
                    {
                        "method": label,
                        "p": float(weights[k] * 10 ** nudge[k]),
                        "accuracy": _finite(row),
                        "group": "rare" if client["rare"] else "common",
                    }
                )
    reach = [float(weights[weights > 0].min()) / 1.6, float(weights.max()) * 1.6]
    points = (
        alt.Chart()
        .mark_point(filled=True, size=38, opacity=0.6)
        .encode(
            x=alt.X(
                "p:Q",
                title="weight p in the average",
                scale=alt.Scale(type="log", domain=reach, nice=False),
                axis=alt.Axis(tickCount=3, format="~g"),
            ),
            y=alt.Y("accuracy:Q", title="accuracy", scale=alt.Scale(domain=[0, 1])),
            color=_by_method(outcome, legend=False),
        )
    )
    means = (
        alt.Chart()
        .transform_aggregate(p="median(p)", accuracy="mean(accuracy)", groupby=["method", "group"])
        .mark_tick(orient="horizontal", thickness=2.5, size=30, color=palette.INK.stand_in)
        .encode(x="p:Q", y="accuracy:Q")
    )
    names = [label for label in outcome.results if any(row["method"] == label for row in rows)]
    panels = alt.layer(points, means, data=_data(rows)).properties(width=265, height=150)
    return panels.facet(facet=alt.Facet("method:N", sort=names, title=None), columns=3)


def participation(outcome: Outcome) -> alt.TopLevelMixin:
    """Pi of every client, as the law says and as the runs observed it, and p; dashed: the same for all."""
    count, seeds = len(outcome.clients), len(outcome.experiment.seeds)
    arrivals = next(iter(outcome.results.values()))  # the methods meet the same arrivals
    inclusion = {
        "the law's": outcome.inclusion.values,
        "observed": arrivals.heard.sum(axis=0) / (seeds * arrivals.rounds[-1]),
    }
    weights = {"the law's": outcome.weights.values}
    return alt.hconcat(
        _profile(inclusion, "inclusion probability π", float(np.sum(outcome.inclusion.values)) / count),
        _profile(weights, "weight p in the average", 1 / count),
        spacing=28,
    )


def _profile(values: dict[str, np.ndarray], title: str, level: float) -> Any:
    rows = [
        {"client": k, "value": float(value), "kind": kind}
        for kind, column in values.items()
        for k, value in enumerate(column)
        if value > 0
    ]
    kinds, colours = ["the law's", "observed"], [palette.INK.stand_in, palette.SERIES[1].stand_in]
    points = (
        alt.Chart(_data(rows))
        .mark_point(size=44, strokeWidth=1.6)
        .encode(
            x=alt.X("client:Q", title="client", scale=alt.Scale(nice=False, padding=8), axis=alt.Axis(tickMinStep=1)),
            y=alt.Y("value:Q", title=title, scale=alt.Scale(type="log"), axis=alt.Axis(tickCount=4, format="~g")),
            shape=alt.Shape("kind:N", scale=alt.Scale(domain=kinds, range=["stroke", "circle"]), title=None),
            color=alt.Color("kind:N", scale=alt.Scale(domain=kinds, range=colours), title=None),
        )
    )
    even = alt.Chart(_data([{"level": level}])).mark_rule(strokeDash=[4, 4], color=palette.QUIET.stand_in)
    return alt.layer(even.encode(y="level:Q"), points).properties(width=390, height=200)


def draw(chart: alt.TopLevelMixin, title: str, description: str) -> str:
    """A figure as SVG, its colours still stand-ins; it is one image, whose title and description can be read out."""
    ink, quiet, faint = (colour.stand_in for colour in (palette.INK, palette.QUIET, palette.FAINT))
    text = {
        "labelColor": quiet,
        "titleColor": ink,
        "labelFontSize": 11,
        "titleFontSize": 12,
        "titleFontWeight": "normal",
    }
    config = {
        "aria": False,
        "background": None,
        "font": FONT,
        "view": {"stroke": None},
        "axis": {"gridColor": faint, "domainColor": faint, "tickColor": faint, "titlePadding": 8, **text},
        "header": {**text, "labelColor": ink, "labelFontSize": 12, "labelFontWeight": 600, "labelAnchor": "start"},
        "legend": {**text, "labelColor": ink, "orient": "top", "labelFontSize": 12, "columnPadding": 18},
        "facet": {"spacing": 28},
    }
    head, rest = vl_convert.vegalite_to_svg(chart.to_dict() | {"config": config}).split(">", 1)
    return f'{head} role="img"><title>{escape(title)}</title><desc>{escape(description)}</desc>{rest}'


def _curve_rows(outcome: Outcome, panel: Panel) -> list[dict[str, Any]]:
    rows = []
    for label, result in outcome.results.items():
        values = np.asarray(getattr(result.looks[panel.checkpoint], panel.metric), np.float64)[result.finite]
        if not len(values) or np.isnan(values).any():
            continue
        mean = values.mean(axis=0)
        std = values.std(axis=0, ddof=1) if len(values) > 1 else np.zeros_like(mean)
        low, high = np.clip(mean - std, 0, 1), np.clip(mean + std, 0, 1)
        rows += [
            {"method": label, "panel": panel.title, "round": int(at), "mean": m, "low": lo, "high": hi}
            for at, m, lo, hi in zip(result.rounds, mean.tolist(), low.tolist(), high.tolist(), strict=True)
        ]
    return rows


def _by_method(outcome: Outcome, legend: bool = True) -> alt.Color:
    labels = list(outcome.results)
    scale = alt.Scale(domain=labels, range=palette.series(len(labels)))
    shown = alt.Legend(title=None, symbolOpacity=1, symbolType="square", symbolStrokeWidth=0) if legend else None
    return alt.Color("method:N", scale=scale, legend=shown)


def _data(rows: list[dict[str, Any]]) -> alt.InlineData:
    return alt.InlineData(values=rows)


def _finite(value: float) -> float | None:
    return float(value) if np.isfinite(value) else None
