"""Fig. 5, how much of the average each client has; and Fig. 6, what accuracy that leaves it with."""

from __future__ import annotations

from typing import Any

import altair as alt
import numpy as np
import polars as pl

from federage.experiments.store import Recorded
from federage.paper import drawing, table1
from federage.paper.drawing import Drawn, Picture, Table
from federage.paper.stage import Stage
from federage.report import palette, tables


def profile(stage: Stage) -> Drawn:
    """p_i of every client under the laws of two experiments; nothing is played."""
    names = ("uniform", "non-uniform")
    laws = dict(zip(names, (stage.experiment(name).participation() for name in stage.names), strict=True))
    weights = {name: law.weights() for name, law in laws.items()}
    inclusion = {name: law.inclusion() for name, law in laws.items()}
    count = next(iter(laws.values())).clients
    rows = [
        {"law": name, "client": client, "p": float(p)}
        for name, marginals in weights.items()
        for client, p in enumerate(marginals.values)
    ]
    bars = (
        alt.Chart()
        .mark_bar(color=palette.SERIES[1].stand_in, width=9)
        .encode(x=axis(count, 3), y=alt.Y("p:Q", title="p, the share in the average"))
    )
    even = alt.Chart().mark_rule(strokeDash=[4, 4], color=palette.INK.stand_in).encode(y=alt.datum(1 / count))
    chart = alt.layer(bars, even, data=drawing.inline(rows)).properties(width=400, height=190)
    chart = chart.facet(column=alt.Column("law:N", sort=names, title=None))
    listed = []
    for name in names:
        p, pi = np.asarray(weights[name].values), np.asarray(inclusion[name].values)
        for group in _alike(p):
            listed.append([_ids(group), name, f"{p[group[0]]:.4f}", f"{pi[group[0]]:.4f}"])
    title = f"Participation probabilities, M = {laws['uniform'].capacity} of N = {count}"
    caption = (
        "p: the share that plain averaging gives a client, the sum over cohorts of their probability, divided by "
        f"their size. Dashed: 1/N. {weights['non-uniform'].how[0].upper()}{weights['non-uniform'].how[1:]}."
    )
    notes = (
        "The paper's numbers are in an unpublished supplement: this is the law of our skewed experiments, `skewed` "
        "with severity moderate, in which the prior of a rare client is a twentieth of a common one's.",
    )
    return Drawn(
        title,
        [Picture("profile", title, caption, chart)],
        Table(["clients", "law", "p", "probability to be in a round"], listed),
        notes,
    )


def fairness(stage: Stage) -> Drawn:
    """Each client's accuracy on its own test examples, over the final looks."""
    (record,) = stage.records().values()
    rows = tables.clients(record)
    labels = [label for label in record.methods if label in set(rows["method"])]
    count, rare = len(record.clients), record.clients.filter("rare")["client"].to_list()
    y = alt.Y("accuracy:Q", title="test accuracy", scale=alt.Scale(domain=[0, 1]), axis=alt.Axis(format="%"))
    points = (
        alt.Chart()
        .mark_point(filled=True, size=46, opacity=0.85)
        .encode(x=axis(count), y=y, color=drawing.by_method(labels))
    )
    means = (
        alt.Chart()
        .mark_rule(strokeDash=[5, 4], strokeWidth=1.4)
        .encode(y="mean(accuracy):Q", color=drawing.by_method(labels))
    )
    line = (
        alt.Chart().mark_line(strokeWidth=1, opacity=0.45).encode(x=axis(count), y=y, color=drawing.by_method(labels))
    )
    data = drawing.inline(rows.select("method", "client", "accuracy").to_dicts())
    chart = alt.layer(_band(rare), line, points, means, data=data).properties(width=820, height=260)
    title = f"Each client's accuracy, {table1.column_name(record.experiment)} availability"
    caption = (
        f"Of the last checkpoint on the client's own test examples: mean over the final {tables.FINAL} looks and over "
        "seeds. Dashed: each method's mean across clients. Shaded: the rare clients, the only ones with their classes."
    )
    return Drawn(
        title,
        [Picture("fairness", title, caption, chart)],
        _groups(record, rows, labels),
        (*table1.lost({"": record}), *record.experiment.notes),
    )


def _groups(record: Recorded, rows: pl.DataFrame, labels: list[str]) -> Table:
    """The mean across clients, of the common and of the rare ones, and the least."""
    listed = []
    for label in labels:
        own = rows.filter(pl.col("method") == label)
        everybody = own["accuracy"]
        cells = [
            everybody.mean(),
            *(own.filter(group)["accuracy"].mean() for group in (~pl.col("rare"), pl.col("rare"))),
        ]
        listed.append([label, *(drawing.percent(100 * _number(cell)) for cell in (*cells, everybody.min()))])
    return Table(["accuracy in %", "mean across clients", "common clients", "rare clients", "least"], listed)


def _number(value: Any) -> float:
    return np.nan if value is None else float(value)


def _band(rare: list[int]) -> Any:
    """A shade behind the rare clients."""
    rows = [{"from": client - 0.5, "to": client + 0.5} for client in rare]
    return (
        alt.Chart(drawing.inline(rows))
        .mark_rect(color=palette.FAINT.stand_in, opacity=0.7)
        .encode(x=alt.X("from:Q"), x2="to:Q")
    )


def axis(count: int, step: int = 1) -> alt.X:
    """Clients side by side, by their id."""
    return alt.X(
        "client:Q",
        title="client",
        scale=alt.Scale(domain=[-0.7, count - 0.3], nice=False),
        axis=alt.Axis(values=list(range(0, count, step)), labelOverlap=False, grid=False),
    )


def _alike(p: np.ndarray) -> list[np.ndarray]:
    """Consecutive clients of equal weight."""
    cuts = np.flatnonzero(~np.isclose(p[1:], p[:-1], rtol=1e-6)) + 1
    return np.split(np.arange(len(p)), cuts)


def _ids(group: np.ndarray) -> str:
    return f"{group[0]}" if len(group) == 1 else f"{group[0]}–{group[-1]}"
