"""The supplement's ablation: the accuracy of FedeRage over alpha and gamma, at several step sizes."""

from __future__ import annotations

from typing import Any

import altair as alt
import numpy as np

from federage.algorithms import FedeRage
from federage.analysis import statistics
from federage.experiments.store import Recorded
from federage.paper import drawing
from federage.paper.drawing import Drawn, Picture, Table
from federage.paper.stage import Stage
from federage.report import palette, tables

METRICS = {"accuracy": "all clients", "rare": "rare clients"}


def draw(stage: Stage) -> Drawn:
    """A map for each step size, of everybody's accuracy and of the rare clients'."""
    (record,) = stage.records().values()
    rows = scores(record)
    title = "Sensitivity of FedeRage to alpha and gamma"
    caption = (
        f"Test accuracy in % of the last checkpoint: mean over the final {tables.FINAL} looks and "
        f"{len(record.experiment.seeds)} seeds. A column a step size; gamma = 0 is FedAvg, whatever alpha. The "
        "darker, the nearer to the best of the row; empty: some run became non-finite."
    )
    picture = Picture("sensitivity", title, caption, charts(rows))
    return Drawn(title, [picture], _table(rows), record.experiment.notes)


def scores(record: Recorded) -> list[dict[str, Any]]:
    """A row a configuration and metric; a score is NaN unless every seed stayed finite."""
    rows = []
    for metric, name in METRICS.items():
        for label, values in tables.final(record, "last", metric).items():
            method = record.experiment.methods[label]
            assert isinstance(method, FedeRage)
            mean = float(np.mean(statistics.by_seed(values)))
            rows.append({"metric": name, "alpha": method.alpha, "gamma": method.gamma, "lr": method.lr, "mean": mean})
    return rows


def charts(rows: list[dict[str, Any]]) -> alt.TopLevelMixin:
    """Metrics one below the other, step sizes side by side."""
    most = {
        name: np.nanmax([row["mean"] for row in rows if row["metric"] == name] or [1.0]) for name in METRICS.values()
    }
    shown = [
        {key: f"{row[key]:g}" for key in ("alpha", "gamma")}
        | {"metric": row["metric"], "lr": f"lr = {row['lr']:g}", "percent": 100 * row["mean"]}
        | {"shade": row["mean"] / (most[row["metric"]] or 1.0)}
        for row in rows
        if not np.isnan(row["mean"])
    ]
    ordered = {key: [f"{value:g}" for value in sorted({row[key] for row in rows})] for key in ("alpha", "gamma")}
    base = alt.Chart().encode(
        x=alt.X("alpha:O", scale=alt.Scale(domain=ordered["alpha"]), axis=alt.Axis(labelAngle=0)),
        y=alt.Y("gamma:O", scale=alt.Scale(domain=ordered["gamma"][::-1])),
    )
    # Opacity, not a scale between two colours: those are stand-ins until the drawing is themed.
    cells = base.mark_rect(color=palette.SERIES[2].stand_in).encode(
        opacity=alt.Opacity("shade:Q", scale=alt.Scale(domain=[0, 1], range=[0.02, 0.62]), legend=None)
    )
    words = base.mark_text(fontSize=11, color=palette.INK.stand_in).encode(text=alt.Text("percent:Q", format=".1f"))
    columns = list(dict.fromkeys(f"lr = {lr:g}" for lr in sorted({row["lr"] for row in rows})))
    return (
        alt.layer(cells, words, data=drawing.inline(shown))
        .properties(width=46 * len(ordered["alpha"]), height=30 * len(ordered["gamma"]))
        .facet(
            column=alt.Column("lr:N", sort=columns, title=None),
            row=alt.Row("metric:N", sort=list(METRICS.values()), title=None),
        )
    )


def _table(rows: list[dict[str, Any]]) -> Table:
    """A row a configuration."""
    kept: dict[tuple[float, float, float], dict[str, float]] = {}
    for row in rows:
        kept.setdefault((row["lr"], row["alpha"], row["gamma"]), {})[row["metric"]] = row["mean"]
    listed = [
        [*(f"{value:g}" for value in key), *(drawing.percent(100 * means[name]) for name in METRICS.values())]
        for key, means in sorted(kept.items())
    ]
    return Table(["lr", "alpha", "gamma", *(f"{name}, %" for name in METRICS.values())], listed)
