"""Figures of the clients: what each gets from a method, how often it takes part, and what it weighs."""

from __future__ import annotations

from typing import Any

import altair as alt
import numpy as np
import polars as pl

from federage.experiments.store import Recorded
from federage.report import chart_style, palette, tables
from federage.report.chart_rounds import Pens
from federage.report.chart_style import Figure
from federage.report.wording import listed

POINTS = 2400
"""The most points of a figure, and a third of it the most of a panel: more would be a blot."""

_LOGARITHMIC = alt.Axis(tickCount=4, format="~g", grid=False)


def fairness(recorded: Recorded, pens: Pens) -> Figure | None:
    """Each client's accuracy against its weight p, one panel a method: who is left behind?

    A client with p = 0 has no place on the logarithmic axis.
    """
    group = pl.when("rare").then(pl.lit("rare")).otherwise(pl.lit("common"))
    everyone = tables.clients(recorded).filter(pl.col("method").is_in(list(pens)), pl.col("p") > 0)
    everyone = everyone.with_columns(group=group)
    if not len(everyone):
        return None
    methods = everyone["method"].unique(maintain_order=True).to_list()
    means = everyone.group_by("method", "group", maintain_order=True).agg(
        pl.col("p").median(), pl.col("accuracy").mean()
    )
    drawn, words = _sample(everyone, len(methods))
    drawn = drawn.with_columns(
        pl.col("classes").cast(pl.List(pl.String)).list.join(", "),
        at=pl.col("p") * _aside(drawn["client"]),
        kind=pl.lit("client"),
    )
    rows = pl.concat([drawn, means.with_columns(kind=pl.lit("mean"), at="p")], how="diagonal_relaxed")
    reach = [0.6 * float(everyone["p"].min()), 1.6 * float(everyone["p"].max())]  # pyright: ignore[reportArgumentType]
    shapes = alt.Scale(domain=["common", "rare"], range=["circle", "diamond"])
    key = alt.Legend(title=None, symbolFillColor=palette.QUIET.stand_in, symbolStrokeColor=palette.QUIET.stand_in)
    base = alt.Chart().encode(
        x=alt.X(
            "at:Q",
            title="weight p in the average",
            scale=alt.Scale(type="log", domain=reach, nice=False),
            axis=alt.Axis(tickCount=3, format="~g", grid=False),
        ),
        y=alt.Y("accuracy:Q", title="accuracy", scale=alt.Scale(domain=[0, 1]), axis=alt.Axis(format="%")),
    )
    points = (
        base.transform_filter("datum.kind == 'client'")
        .mark_point(size=38, opacity=0.6)
        .encode(
            color=chart_style.by_method(pens, legend=False),
            shape=alt.Shape("group:N", scale=shapes, legend=key if everyone["rare"].any() else None),
            tooltip=["method:N", "client:Q", "group:N", "classes:N", *_told("p", accuracy=chart_style.SHARE)],
        )
    )
    dashes = base.transform_filter("datum.kind == 'mean'").mark_tick(
        orient="horizontal", thickness=2.5, size=30, color=palette.INK.stand_in
    )
    panel = alt.layer(points, dashes, data=chart_style.source("clients")).transform_filter(chart_style.VISIBLE)
    across = min(3, len(methods))
    chart = panel.properties(width=chart_style.WIDTH // across - 40, height=150).facet(
        facet=alt.Facet("method:N", sort=methods, title=None), columns=across
    )
    never = int((recorded.clients["weight"] == 0).sum())
    if never:
        words += f" Not shown: {never} that never get{'s' if never == 1 else ''} through."
    return Figure(
        "Accuracy of each client against its weight",
        "Each point is a client: its own accuracy at the last checkpoint (mean over seeds and final looks) against its "
        "weight p, the share that plain averaging gives it (logarithmic; clients of equal weight are moved apart "
        f"sideways). Dash: the mean of a group.{words}",
        chart,
        {"clients": rows.select("kind", "method", "client", "group", "classes", "p", "at", "accuracy")},
        everyone.sort("p").pivot("method", index=["client", "group", "p"], values="accuracy", maintain_order=True),
    )


def participation(recorded: Recorded, pens: Pens) -> Figure | None:
    """Pi of every client, as the law says and as the runs observed it, and p; dashed: the same for all."""
    told = tables.participation(recorded)
    profile, words = _sample(told, 2)
    kinds = {"pi": ("the law's", told["pi"].sum()), "p": ("the law's", 1.0)}
    panels: list[Any] = []
    data: dict[str, pl.DataFrame] = {}
    for name, title in (("pi", "inclusion probability π"), ("p", "weight p in the average")):
        columns = {name: kinds[name][0]} | ({"observed": "observed"} if name == "pi" else {})
        rows = profile.unpivot(list(columns), index="client", variable_name="kind").filter(pl.col("value") > 0)
        data[name] = rows.with_columns(pl.col("kind").replace_strict(columns))
        data[f"{name}_even"] = pl.DataFrame({"level": [float(kinds[name][1]) / len(told)]})
        panels.append(_profile(name, title))
    never = " A client that never was has no circle." if profile["observed"].eq(0).any() else ""
    first = recorded.clients.row(0, named=True)
    return Figure(
        "Participation: π and p of each client",
        f"π: the probability that a client is in a round ({first['inclusion_how']}), and how often it was.{never} "
        f"p: its weight in the average ({first['weight_how']}). Dashed: what it would be if all were equally "
        f"likely.{words}",
        alt.hconcat(*panels, spacing=28),
        data,
        told.select("client", "rare", "pi", "observed", "p"),
    )


def effective(recorded: Recorded, pens: Pens) -> Figure | None:
    """The share of each client in the risk that a method descends, beside its weight p."""
    shares = tables.effective(recorded).filter(pl.col("method").is_in(list(pens)), pl.col("share") > 0)
    averse = shares.filter((pl.col("share") - pl.col("p")).abs() > 1e-6)["method"].unique(maintain_order=True).to_list()
    rows, words = _sample(shares.filter(pl.col("method").is_in(averse)), len(averse))
    if not len(rows):
        return None
    order = rows.select("client", "p").unique().sort("p", "client", descending=[True, False])["client"].to_list()
    rows = rows.with_columns(
        rank=pl.col("client").replace_strict(order, range(1, len(order) + 1), return_dtype=pl.Int64)
    )
    shown = {label: pen for label, pen in pens.items() if label in averse}
    base = alt.Chart(chart_style.source("effective")).encode(
        x=alt.X(
            "rank:Q",
            title="clients, by falling p",
            scale=alt.Scale(nice=False, padding=8, zero=False),
            axis=alt.Axis(tickMinStep=1, grid=False),
        )
    )
    y = alt.Y("share:Q", title="effective weight", scale=alt.Scale(type="log"), axis=_LOGARITHMIC)
    law = base.mark_point(shape="stroke", size=60, strokeWidth=2, filled=False, color=palette.INK.stand_in).encode(
        y="p:Q"
    )
    points = (
        base.transform_filter(chart_style.VISIBLE)
        .mark_point(size=44, opacity=0.75)
        .encode(
            y=y,
            color=chart_style.by_method(shown, symbol="circle"),
            tooltip=["method:N", "client:Q", *_told("share", "p")],
        )
    )
    chart = alt.layer(law, points).properties(width=chart_style.WIDTH - 60, height=210)
    others = [label for label in shares["method"].unique(maintain_order=True) if label not in averse]
    plain = f" The risk of {listed(others)} gives every client its p." if others else ""
    return Figure(
        "Effective weights",
        "Points: each client's share in the risk that a method descends, at the last checkpoint (mean over seeds). "
        f"Strokes: its p, which is its share in a plain mean.{plain}{words}",
        chart,
        {"effective": rows.select("method", "client", "rank", "share", "p")},
        rows.sort("rank").pivot("method", index=["client", "p"], values="share", maintain_order=True),
    )


def _profile(name: str, title: str) -> Any:
    kinds = ["the law's", "observed"]
    colours = alt.Scale(domain=kinds, range=[palette.INK.stand_in, palette.SERIES[1].stand_in])
    points = (
        alt.Chart(chart_style.source(name))
        .mark_point(strokeWidth=1.8, filled=False)
        .encode(
            x=alt.X("client:Q", scale=alt.Scale(nice=False, padding=8), axis=alt.Axis(tickMinStep=1, grid=False)),
            y=alt.Y("value:Q", title=title, scale=alt.Scale(type="log"), axis=_LOGARITHMIC),
            size=alt.Size("kind:O", scale=alt.Scale(domain=kinds, range=[7, 60]), title=None),
            color=alt.Color("kind:O", scale=colours, title=None),
            tooltip=["client:Q", "kind:N", *_told("value")],
        )
    )
    even = alt.Chart(chart_style.source(f"{name}_even")).mark_rule(strokeDash=[4, 4], color=palette.QUIET.stand_in)
    return alt.layer(even.encode(y="level:Q"), points).properties(width=chart_style.WIDTH // 2 - 60, height=200)


def _sample(rows: pl.DataFrame, panels: int) -> tuple[pl.DataFrame, str]:
    """The rows of at most so many clients as can be told apart, the same in every panel, and what to say of it."""
    clients = rows["client"].unique().sort()
    most = min(POINTS // 3, POINTS // max(1, panels))
    if len(clients) <= most:
        return rows, ""
    some = clients.sample(most, seed=0).to_list()
    return rows.filter(pl.col("client").is_in(some)), f" A random {most:,} of {len(clients):,} clients are drawn."


def _aside(clients: pl.Series) -> pl.Series:
    """Factors that move clients of equal weight apart; a client's is the same in every panel."""
    decades = np.random.default_rng(0).uniform(-0.13, 0.13, 1 + int(clients.max()))  # pyright: ignore[reportArgumentType]
    return pl.Series(10 ** decades[clients.to_numpy()])


def _told(*names: str, **formats: str) -> list[alt.Tooltip]:
    return [alt.Tooltip(f"{name}:Q", format=form) for name, form in (dict.fromkeys(names, ".3~g") | formats).items()]
