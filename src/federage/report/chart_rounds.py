"""Figures against rounds: accuracy, loss, those left behind, and beta."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import altair as alt
import polars as pl

from federage.experiments.store import Recorded
from federage.report import chart_style, tables
from federage.report.chart_style import Figure
from federage.report.palette import Pen

LOOKS = 100
"""The most looks a curve is drawn with: more could not be seen."""

Pens = Mapping[str, Pen]


def accuracy(recorded: Recorded, pens: Pens) -> Figure | None:
    """Accuracy over all clients, one panel a checkpoint."""
    return _curves(
        recorded,
        pens,
        ["accuracy"],
        list(tables.checkpoints(recorded)),
        "Accuracy against rounds",
        f"On all clients' {recorded.experiment.look_at} examples.",
    )


def loss(recorded: Recorded, pens: Pens) -> Figure | None:
    """Loss over all clients, one panel a checkpoint, on a logarithmic axis."""
    return _curves(
        recorded,
        pens,
        ["loss"],
        list(tables.checkpoints(recorded)),
        "Loss against rounds",
        f"On all clients' {recorded.experiment.look_at} examples, logarithmic.",
    )


def left_behind(recorded: Recorded, pens: Pens) -> Figure | None:
    """Accuracy of the worst tenth, the worst client and the rare group: a row each, a column a checkpoint."""
    return _curves(
        recorded,
        pens,
        ["worst_tenth", "worst", "rare"],
        list(tables.checkpoints(recorded)),
        "Accuracy of those who are left behind, against rounds",
        "Worst 10 %: the mean over that share of the clients, those with the least accuracy at that look.",
    )


def overview(recorded: Recorded, pens: Pens) -> Figure | None:
    """The result at a glance: everybody's accuracy, and that of those who hardly ever get through."""
    return _curves(
        recorded, pens, ["accuracy", "rare", "worst"], ["last"], "Accuracy against rounds, last checkpoint", ""
    )


def beta(recorded: Recorded, pens: Pens) -> Figure | None:
    """Beta against rounds, and at the end the quantile that it is to estimate."""
    rows = _spread(recorded, pens, ["beta"], ["last"])
    if not len(rows):
        return None
    shown = {label: pen for label, pen in pens.items() if label in set(rows["method"])}
    curve = alt.layer(*_line(shown, "beta"), data=chart_style.source("beta")).transform_filter(chart_style.VISIBLE)
    layers, data, numbers = [curve], {"beta": rows}, _wide(rows, recorded)
    told = ""
    quantiles = _quantiles(recorded, shown)
    if len(quantiles):
        told = (
            " Diamonds: the quantile itself, VaR of the mini-batch losses at the last checkpoint (alpha is the "
            "method's), for each seed; beta is to settle there."
        )
        points = (
            alt.Chart(chart_style.source("quantiles"))
            .transform_filter(chart_style.VISIBLE)
            .mark_point(shape="diamond", size=70, opacity=0.75)
            .encode(
                x="round:Q",
                y=alt.Y("quantile:Q"),
                color=chart_style.by_method(shown),
                tooltip=["method:N", "seed:N", *_told("quantile", "beta")],
            )
        )
        layers, data = [curve, points], data | {"quantiles": quantiles}
        ends = quantiles.group_by("method", maintain_order=True).agg(
            pl.col("beta", "quantile").mean(), seeds=pl.col("seed").count()
        )
        numbers = ends.rename({"beta": "beta at the end", "quantile": "quantile at the end"})
    chart = alt.layer(*layers).properties(width=chart_style.WIDTH - 60, height=210)
    return Figure("Beta against the quantile", f"{_spread_words(recorded)}{told}", chart, data, numbers)


def _curves(
    recorded: Recorded, pens: Pens, metrics: Sequence[str], checkpoints: Sequence[str], title: str, caption: str
) -> Figure | None:
    known = tables.metrics(recorded)
    metrics = [metric for metric in metrics if metric in known]
    rows = _spread(recorded, pens, metrics, checkpoints)
    if not len(rows):
        return None
    shown = {label: pen for label, pen in pens.items() if label in set(rows["method"])}
    names = [known[metric].name for metric in metrics]
    across = len(checkpoints) if len(checkpoints) > 1 else len(metrics)
    grid = len(checkpoints) > 1 and len(metrics) > 1
    what = "loss" if metrics == ["loss"] else "accuracy"
    panel = alt.layer(*_line(shown, what, titled=not grid), data=chart_style.source("curves")).transform_filter(
        chart_style.VISIBLE
    )
    panel = panel.properties(width=(chart_style.WIDTH - 40) // across - 24, height=120 if grid else 190)
    facets: dict[str, Any] = {}
    if len(checkpoints) > 1:
        facets["column"] = alt.Column(
            "checkpoint:N", sort=[tables.checkpoints(recorded)[key] for key in checkpoints], title=None
        )
    if len(metrics) > 1:
        facets["row" if grid else "column"] = (alt.Row if grid else alt.Column)("metric:N", sort=names, title=None)
    chart = panel.facet(**facets) if facets else panel
    words = " ".join(filter(None, [caption, _spread_words(recorded, what == "loss"), _thinned(recorded)]))
    return Figure(title, words, chart, {"curves": rows}, _wide(rows, recorded))


def _line(pens: Pens, what: str, titled: bool = True) -> list[alt.Chart]:
    """The band of the seeds, the line of their mean, and places for a pointer to find."""
    scale = {
        "accuracy": alt.Scale(domain=[0, 1]),
        "loss": alt.Scale(type="log", nice=False),
        "beta": alt.Scale(zero=False),
    }[what]
    axis = alt.Axis(format="%") if what == "accuracy" else alt.Axis(tickCount=5, format="~g")
    base = alt.Chart().encode(
        x=alt.X("round:Q", title="round", axis=alt.Axis(tickCount=5)),
        color=chart_style.by_method(pens),
    )
    low, mean = (alt.Y(f"{end}:Q", title=what if titled else None, scale=scale, axis=axis) for end in ("low", "mean"))
    near = _told("mean", "low", "high", form=chart_style.SHARE if what == "accuracy" else ".4~g")
    return [
        base.mark_area(opacity=0.12).encode(y=low, y2="high:Q"),
        base.mark_line(strokeWidth=1.8).encode(y=mean, strokeDash=chart_style.dashed(pens)),
        base.mark_point(opacity=0, size=110).encode(y=mean, tooltip=["method:N", "round:Q", *near]),
    ]


def _told(*names: str, form: str = ".4~g") -> list[alt.Tooltip]:
    return [alt.Tooltip(f"{name}:Q", format=form) for name in names]


def _spread(recorded: Recorded, pens: Pens, metrics: Sequence[str], checkpoints: Sequence[str]) -> pl.DataFrame:
    """Mean over seeds and the ends of the band, a row a method, metric, checkpoint and look."""
    rounds = recorded.looks["round"].unique().sort()
    step = -(-len(rounds) // LOOKS)
    kept = rounds.reverse().gather_every(step).to_list()  # the last look is always among them
    names = tables.checkpoints(recorded)
    called = {key: metric.name for key, metric in tables.METRICS.items()} | {"beta": "beta"}
    shares = [key for key in metrics if key in tables.METRICS and tables.METRICS[key].share]
    std = pl.col("value").std().fill_null(0)
    ends = {"low": pl.col("value").mean() - std, "high": pl.col("value").mean() + std}
    rows = (
        tables.finite(recorded)
        .filter(pl.col("method").is_in(list(pens)))
        .filter(pl.col("checkpoint").is_in(list(checkpoints)) & pl.col("round").is_in(kept))
        .unpivot(list(metrics), index=["method", "round", "checkpoint"], variable_name="metric")
        .filter(pl.col("value").is_finite())
        .group_by("method", "metric", "checkpoint", "round", maintain_order=True)
        .agg(
            mean=pl.col("value").mean(),
            low=pl.col("value").min() if list(metrics) == ["loss"] else ends["low"],
            high=pl.col("value").max() if list(metrics) == ["loss"] else ends["high"],
        )
    )
    within = pl.when(pl.col("metric").is_in(shares))
    return rows.with_columns(
        pl.col("metric").replace_strict(called),
        pl.col("checkpoint").replace_strict(names),
        within.then(pl.col("low").clip(0, 1)).otherwise("low").alias("low"),
        within.then(pl.col("high").clip(0, 1)).otherwise("high").alias("high"),
    )


def _spread_words(recorded: Recorded, extremes: bool = False) -> str:
    if len(recorded.experiment.seeds) == 1:
        return "One seed."
    return "Line: mean over seeds; band: " + (
        "from the least to the greatest." if extremes else "one standard deviation."
    )


def _thinned(recorded: Recorded) -> str:
    count = recorded.looks["round"].n_unique()
    return "" if count <= LOOKS else f"Drawn from every {-(-count // LOOKS)} of {count:,} looks."


def _wide(rows: pl.DataFrame, recorded: Recorded) -> pl.DataFrame:
    """The means, a row a look and a column a method, of a dozen looks."""
    index = [name for name in ("metric", "checkpoint") if rows[name].n_unique() > 1]
    rounds = rows["round"].unique().sort()
    some = rounds.reverse().gather_every(-(-len(rounds) // 12)).to_list()
    return (
        rows.filter(pl.col("round").is_in(some))
        .pivot("method", index=[*index, "round"], values="mean", maintain_order=True)
        .sort([*index, "round"], maintain_order=True)
        if len(rows)
        else rows
    )


def _quantiles(recorded: Recorded, pens: Pens) -> pl.DataFrame:
    runs = tables.finite(recorded).group_by("method", "seed").agg(pl.col("round").max())
    return (
        recorded.audit.select("method", "seed", "quantile", "beta")
        .filter(pl.col("method").is_in(list(pens)))
        .drop_nulls()
        .unique(["method", "seed"], keep="first", maintain_order=True)
        .join(runs, on=["method", "seed"], maintain_order="left")
    )
