"""Fig. 4: accuracy against rounds, one panel a dataset."""

from __future__ import annotations

from typing import Any

import altair as alt
import polars as pl

from federage.experiments.store import Recorded
from federage.paper import drawing, table1
from federage.paper.drawing import Drawn, Picture
from federage.paper.stage import Stage
from federage.report import tables


def draw(stage: Stage) -> Drawn:
    """The last checkpoint above, its exponential average below."""
    records = stage.records()
    first = next(iter(records.values()))
    title = "Test accuracy over communication rounds under non-uniform availability"
    caption = (
        "Line: mean over seeds; band: one standard deviation. Above the last checkpoint, as in the paper; below the "
        f"exponential average of checkpoints, decay {first.experiment.smooth:g}."
    )
    shown = ("last", "smooth")
    rows = [row for record in records.values() for checkpoint in shown for row in spread(record, checkpoint)]
    panels = [table1.column_name(record.experiment) for record in records.values()]
    labels = list(dict.fromkeys(label for record in records.values() for label in record.methods))
    names = [tables.checkpoints(first)[checkpoint] for checkpoint in shown]
    chart = charts(rows, labels, panels, names)
    notes = (
        table1.MARKS,
        *table1.differences(records),
        *table1.lost(records),
        *dict.fromkeys(n for r in records.values() for n in r.experiment.notes),
    )
    return Drawn(title, [Picture("fig4", title, caption, chart)], table1.text(records), notes)


def charts(
    rows: list[dict[str, Any]], labels: list[str], panels: list[str], checkpoints: list[str]
) -> alt.TopLevelMixin:
    """Panels side by side, checkpoints one below the other."""
    base = alt.Chart().encode(
        x=alt.X("round:Q", title="round", axis=alt.Axis(tickCount=5)), color=drawing.by_method(labels)
    )
    low, mean = (
        alt.Y(f"{end}:Q", title="test accuracy", scale=alt.Scale(domain=[0, 1]), axis=alt.Axis(format="%", tickCount=5))
        for end in ("low", "mean")
    )
    layers = alt.layer(
        base.mark_area(opacity=0.14).encode(y=low, y2="high:Q"),
        base.mark_line(strokeWidth=1.8).encode(y=mean),
        data=drawing.inline(rows),
    ).properties(width=270 if len(panels) > 1 else 560, height=180)
    return layers.facet(
        column=alt.Column("panel:N", sort=panels, title=None),
        row=alt.Row("checkpoint:N", sort=checkpoints, title=None, header=alt.Header(labelOrient="top")),
    )


def spread(record: Recorded, checkpoint: str) -> list[dict[str, Any]]:
    """Mean over the seeds that stayed finite, and one standard deviation about it, a row a method and look."""
    std = pl.col("accuracy").std().fill_null(0)
    return (
        tables.finite(record)
        .filter(pl.col("checkpoint") == checkpoint)
        .group_by("method", "round", maintain_order=True)
        .agg(
            mean=pl.col("accuracy").mean(),
            low=(pl.col("accuracy").mean() - std).clip(0, 1),
            high=(pl.col("accuracy").mean() + std).clip(0, 1),
        )
        .with_columns(
            panel=pl.lit(table1.column_name(record.experiment)),
            checkpoint=pl.lit(tables.checkpoints(record)[checkpoint]),
        )
        .to_dicts()
    )
