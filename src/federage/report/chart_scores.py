"""Figures of the end: who is best at what, and whether that is more than chance."""

from __future__ import annotations

import altair as alt
import polars as pl

from federage.experiments.store import Recorded
from federage.report import chart_style, palette, tables
from federage.report.chart_rounds import Pens
from federage.report.chart_style import Figure


def glance(recorded: Recorded, pens: Pens) -> Figure | None:
    """Every method's accuracy over all clients and for those who are worst off, at the last checkpoint."""
    known = {key: metric.name for key, metric in tables.metrics(recorded).items() if metric.share}
    if not known:
        return None
    rows = (
        pl.concat(
            tables.results_at(recorded, "last", key).with_columns(metric=pl.lit(name)) for key, name in known.items()
        )
        .filter(pl.col("method").is_in(list(pens)))
        .drop_nulls("mean")
        .with_columns(
            low=(pl.col("mean") - pl.col("std_over_seeds").fill_null(0)).clip(0, 1),
            high=(pl.col("mean") + pl.col("std_over_seeds").fill_null(0)).clip(0, 1),
        )
    )
    if not len(rows):
        return None
    names = list(known.values())
    ranked = rows.filter(pl.col("metric") == names[0]).sort("mean", descending=True)["method"].to_list()
    near = [alt.Tooltip(f"{name}:Q", format=chart_style.SHARE) for name in ("mean", "low", "high")]
    base = (
        alt.Chart()
        .transform_filter(chart_style.VISIBLE)
        .encode(
            y=alt.Y("method:N", sort=ranked, title=None, axis=alt.Axis(grid=True, ticks=False, domain=False)),
            color=chart_style.by_method(pens, legend=False),
        )
    )
    reach = [max(0.0, float(rows["low"].min()) - 0.03), min(1.0, float(rows["high"].max()) + 0.1)]  # pyright: ignore[reportArgumentType]
    x = alt.X(
        "mean:Q",
        title=None,
        scale=alt.Scale(domain=reach, nice=False, zero=False),
        axis=alt.Axis(format="%", tickCount=4),
    )
    bar = base.mark_rule(strokeWidth=2.5, opacity=0.55).encode(x=alt.X("low:Q", title=None), x2="high:Q")
    dot = base.mark_point(size=80, opacity=1).encode(x=x, tooltip=["method:N", *near, "seeds:Q"])
    # The number stands right of the bar, in ink: a reader of colours alone is not a reader.
    number = base.mark_text(align="left", dx=8, fontSize=11).encode(
        x="high:Q", text=alt.Text("mean:Q", format=".1%"), color=alt.value(palette.INK.stand_in)
    )
    longest = max(map(len, ranked))
    width = (chart_style.WIDTH - min(260, 7 * longest)) // len(names) - 24
    panel = alt.layer(bar, dot, number, data=chart_style.source("scores")).properties(width=width, height=alt.Step(24))
    chart = panel.facet(column=alt.Column("metric:N", sort=names, title=None))
    spread = "; bar: one standard deviation over seeds" if len(recorded.experiment.seeds) > 1 else ""
    return Figure(
        "Who is best, and at what cost to whom",
        f"Accuracy at the last checkpoint, over the final looks. Dot: mean{spread}.",
        chart,
        {"scores": rows.select("method", "metric", "mean", "low", "high", "seeds")},
        rows.pivot("metric", index="method", values="mean", maintain_order=True),
    )


def differences(recorded: Recorded, pens: Pens) -> Figure | None:
    """Differences from the best method and from FedAvg, with the interval of the seeds and that of the Z-test."""
    metric = tables.headline(recorded)
    rows = (
        tables.paired_at(recorded, "last", metric)
        .filter(pl.col("method").is_in(list(pens)))
        .drop_nulls(["difference", "low"])
        .with_columns(panel=pl.format("minus {}", pl.col("reference")))
    )
    if not len(rows):
        return None
    scale = 100 if tables.METRICS[metric].share else 1
    rows = rows.with_columns(pl.col("difference", "low", "high", "z_low", "z_high") * scale)
    panels = rows["panel"].unique(maintain_order=True).to_list()
    unit = "points" if scale == 100 else metric
    near = [alt.Tooltip(f"{name}:Q", format="+.3~g") for name in ("difference", "low", "high", "z_low", "z_high")]
    base = (
        alt.Chart()
        .transform_filter(chart_style.VISIBLE)
        .encode(
            y=alt.Y("method:N", sort=list(pens), title=None, axis=alt.Axis(grid=True, ticks=False, domain=False)),
            color=chart_style.by_method(pens, legend=False),
        )
    )
    at = alt.X("difference:Q", title=f"difference in {unit}", axis=alt.Axis(tickCount=5))
    letter = base.mark_rule(strokeWidth=9, opacity=0.28).encode(x=alt.X("z_low:Q"), x2="z_high:Q")
    seeds = base.mark_rule(strokeWidth=1.8).encode(x=alt.X("low:Q"), x2="high:Q")
    dot = base.mark_point(size=70, opacity=1).encode(x=at, tooltip=["method:N", "reference:N", *near])
    zero = alt.Chart().mark_rule(color=palette.QUIET.stand_in, strokeDash=[4, 4]).encode(x=alt.datum(0))
    longest = max(map(len, rows["method"]))
    width = chart_style.WIDTH // len(panels) - min(260, 7 * longest) - 24
    layers = [zero, letter, seeds, dot]
    sides = [
        alt.layer(*layers, data=chart_style.source("differences"), title=panel)
        .transform_filter(alt.datum.panel == panel)
        .properties(width=width, height=alt.Step(26))
        for panel in panels
    ]
    chart = alt.hconcat(*sides, spacing=28).resolve_scale(x="shared")
    return Figure(
        "Differences with their intervals",
        "Accuracy at the last checkpoint, in points. Line: 95 % interval of differences by seed (Student's t). "
        "Broad band: that of the paper's Z-test, which takes all final looks of a run for independent. Where the band "
        "misses zero and the line does not, the Z-test is too sure."
        if scale == 100
        else f"Difference in {unit} at the last checkpoint. Line: 95 % interval seed by seed; band: of the Z-test.",
        chart,
        {"differences": rows.select("panel", "method", "reference", "difference", "low", "high", "z_low", "z_high")},
        rows.select("reference", "method", "difference", "low", "high", "z_low", "z_high"),
    )
