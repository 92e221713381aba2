"""Fig. 3: the dual of mean-CVaR. Whom it makes more available (a), and what the mini-batch size does to points (b)."""

from __future__ import annotations

import itertools
import math
from typing import Any

import altair as alt
import numpy as np
import polars as pl

from federage.algorithms import FedeRage
from federage.analysis import risk
from federage.experiments.store import Recorded
from federage.paper import availability, drawing
from federage.paper.drawing import Drawn, Picture, Table
from federage.paper.stage import Stage
from federage.report import palette, tables

POINTS, BATCHES = 100, (1, 2, 5, 10, 25, 100)
DRAWS = 100_000  # mini-batches, where they are too many to list
ALPHA, GAMMA = 0.1, 0.25
"""Of (b); the paper names none there. The gamma is that of (a)."""


def draw(stage: Stage) -> Drawn:
    """Both panels: (a) is measured in an experiment, (b) is computed."""
    (record,) = stage.records().values()
    shares, method = tables.effective(record), _method(record)
    a_title = f"(a) Effective availability under mean-CVaR, alpha = {method.alpha:g}, gamma = {method.gamma:g}"
    a_caption = (
        "Bars: p, the share that the law and plain averaging give a client. Points: the client's share of the "
        "effective weight that mean-CVaR puts on its mini-batches at the last checkpoint (mean over seeds; whiskers: "
        f"one standard deviation). Dashed: 1/N. The density is at most κ = {method.kappa:g} times p, whoever it "
        f"favours. Measured on {record.experiment.data.name}, after {record.experiment.rounds:,} rounds, "
        f"{len(record.experiment.seeds)} seeds."
    )
    b_title = "(b) Effective weights of 100 data points, by mini-batch size b"
    b_caption = (
        f"{POINTS} data points of one client in ascending order of loss (the losses are quantiles of an exponential "
        f"distribution), alpha = {ALPHA:g}, gamma = {GAMMA:g}. With b = 1 an outcome is a point; with larger b a "
        "point inherits the weights of the mini-batches that it is in, and its own loss counts for less; with "
        f"b = {POINTS} there is one mini-batch, and all weights are equal. Over all mini-batches where there "
        f"are at most {DRAWS:,}, else over as many drawn at random."
    )
    return Drawn(
        "Mean-CVaR as a change of weights",
        [
            Picture("fig3a", a_title, a_caption, _available(shares)),
            Picture("fig3b", b_title, b_caption, _inherited(), played=False),
        ],
        _listed(shares),
        record.experiment.notes,
    )


def inherited(losses: np.ndarray, batch: int, alpha: float, gamma: float, draws: int, seed: int = 0) -> np.ndarray:
    r"""The weight that each point inherits from the mini-batches of that size it is in.

    .. math::
        \tilde q_k = \frac{1}{b} \sum_{j} \hat q_j \, 1\{k \in \xi_j\}

    with the dual weights q of mean-CVaR over the mini-batches' mean losses, all mini-batches equally likely. Those that
    are too many to list are represented by `draws` of them, uniform over subsets.
    """
    count = len(losses)
    if math.comb(count, batch) <= draws:
        members = np.array(list(itertools.combinations(range(count), batch)))
    else:
        members = np.argpartition(np.random.default_rng(seed).random((draws, count)), batch, axis=1)[:, :batch]
    weights = risk.tail_weights(losses[members].mean(axis=1), alpha, gamma)
    return np.bincount(members.ravel(), np.repeat(weights / batch, batch), minlength=count)


def exponential(count: int) -> np.ndarray:
    """That many losses, the quantiles of an exponential distribution at (k + 1/2) / count."""
    return -np.log1p(-(np.arange(count) + 0.5) / count)


def _method(record: Recorded) -> FedeRage:
    (method,) = record.experiment.methods.values()
    assert isinstance(method, FedeRage)
    return method


def _available(shares: pl.DataFrame) -> Any:
    count = len(shares)
    std = pl.col("std").fill_null(0)
    rows = shares.with_columns(low=(pl.col("share") - std).clip(0), high=pl.col("share") + std)
    x, colour = availability.axis(count), palette.SERIES[4].stand_in
    bars = (
        alt.Chart()
        .mark_bar(color=palette.SERIES[1].stand_in, opacity=0.45, width=15)
        .encode(x=x, y=alt.Y("p:Q", title="availability"))
    )
    whiskers = alt.Chart().mark_rule(color=colour, strokeWidth=1.4).encode(x=x, y="low:Q", y2="high:Q")
    points = alt.Chart().mark_point(filled=True, size=60, color=colour, opacity=1).encode(x=x, y="share:Q")
    even = alt.Chart().mark_rule(strokeDash=[4, 4], color=palette.SERIES[2].stand_in).encode(y=alt.datum(1 / count))
    data = drawing.inline(rows.to_dicts())
    return alt.layer(bars, even, whiskers, points, data=data).properties(width=820, height=240)


def _inherited() -> Any:
    losses = exponential(POINTS)
    rows = [
        {"point": k + 1, "b": str(b), "weight": float(weight)}
        for b in BATCHES
        for k, weight in enumerate(inherited(losses, b, ALPHA, GAMMA, DRAWS))
    ]
    names = [str(b) for b in BATCHES]
    shades = [colour.stand_in for colour in (palette.INK, *(palette.SERIES[k] for k in (5, 4, 3, 1, 2)))]
    line = (
        alt.Chart(drawing.inline(rows))
        .mark_line(interpolate="step", strokeWidth=1.7)
        .encode(
            x=alt.X(
                "point:Q",
                title="data point, in ascending order of loss",
                scale=alt.Scale(domain=[0.5, POINTS + 0.5], nice=False),
            ),
            y=alt.Y("weight:Q", title="effective weight", scale=alt.Scale(domainMin=0)),
            color=alt.Color(
                "b:N", sort=names, scale=alt.Scale(domain=names, range=shades), legend=alt.Legend(title="b")
            ),
        )
    )
    return line.properties(width=820, height=240)


def _listed(shares: pl.DataFrame) -> Table:
    """Group by group: what the law gives it, and what the risk."""
    rows = []
    for name, group in (("common clients", ~pl.col("rare")), ("rare clients", pl.col("rare"))):
        part = shares.filter(group)
        if len(part):
            rows.append([f"{name} ({len(part)})", f"{part['p'].sum():.4f}", f"{part['share'].sum():.4f}"])
    return Table(["together", "availability p", "effective"], rows)
