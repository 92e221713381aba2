"""The figure of the motivating example: the data and who learnt which regions of the plane, and accuracy by group."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import altair as alt
import numpy as np

from federage.paper import drawing, motivation
from federage.paper.drawing import Drawn, Picture
from federage.paper.motivation import CELLS, REACH, Motivation
from federage.paper.stage import Stage
from federage.report import palette

CLASSES = palette.SERIES[3:6]
"""The classes' colours: none that a method has."""

_SHOWN = 40  # examples of a client in each panel
_PANEL = 2 * CELLS  # pixels: two a cell, so that the cells' edges lie between pixels


def draw(stage: Stage) -> Drawn:
    """The example, played anew: it takes half a minute."""
    (name,) = stage.names
    played = motivation.play(stage.experiment(name), stage.tell)
    title = played.experiment.title
    return Drawn(title, [picture(played)], motivation.table(played), motivation.notes(played))


def picture(played: Motivation) -> Picture:
    """Regions above, curves below."""
    example = played.experiment
    caption = (
        "Above: the data, and which class the last checkpoint of each method predicts where, after "
        f"{example.rounds:,} rounds of seed {example.seeds[0]}, on which all methods met the same arrivals; under each "
        "name, that model's accuracy. Points are test examples; colour: the class; p: how often a client is the one "
        "that is heard. Below: test accuracy of the last checkpoint against rounds. Line: mean over "
        f"{len(example.seeds)} seeds; band: one standard deviation."
    )
    return Picture("fig1", example.title, caption, charts(played))


def charts(played: Motivation) -> alt.TopLevelMixin:
    """The whole figure."""
    panels = [_data(played), *(_regions(played, label) for label in played.results)]
    top = alt.hconcat(*panels, spacing=18, bounds="flush")
    return alt.vconcat(top, _curves(played), spacing=26).resolve_scale(color="independent")


def _data(played: Motivation) -> Any:
    points = [row for client in range(len(played.clients)) for row in _examples(played, client, 2 * _SHOWN)]
    names = []
    for client, weight in enumerate(played.weights):
        x, y = np.mean([(row["x"], row["y"]) for row in _examples(played, client)], axis=0)
        out = 1.46  # outwards from the middle of its examples
        names.append({"x": x * out, "y": y * out, "name": f"client {client + 1}", "p": f"p = {weight:.2g}"})
    text = alt.Chart(drawing.inline(names)).encode(x=_axis("x"), y=_axis("y"))
    bold = {"dy": -7, "fontWeight": 600, "color": palette.INK.stand_in}
    plain = {"dy": 7, "color": palette.QUIET.stand_in}
    halo = {"stroke": palette.PAPER.stand_in, "strokeWidth": 4, "strokeJoin": "round"}
    lines = [
        _words(text, line, **look, **around) for line, look in (("name", bold), ("p", plain)) for around in (halo, {})
    ]
    return alt.layer(_points(points), *lines).properties(
        width=_PANEL, height=_PANEL, title=alt.Title("The data", subtitle=["two clusters a client,", "three classes"])
    )


def _words(places: alt.Chart, line: str, **look: Any) -> alt.Chart:
    return places.mark_text(fontSize=11, **look).encode(text=f"{line}:N")


def _regions(played: Motivation, label: str) -> Any:
    groups = ", ".join(
        f"{name.split(' (')[0]} {_last(played, label, group):.0%}" for name, group in played.groups.items()
    )
    cells = (
        alt.Chart(drawing.inline(stretches(played.regions[label])))
        .mark_rect(opacity=0.28)
        .encode(x=_axis("x"), x2="x2:Q", y=_axis("y"), y2="y2:Q", color=_by_class())
    )
    points = [row for client in range(len(played.clients)) for row in _examples(played, client, _SHOWN)]
    title = alt.Title(label, subtitle=[f"all clients {_last(played, label):.0%}", groups])
    return alt.layer(cells, _points(points)).properties(width=_PANEL, height=_PANEL, title=title)


def stretches(region: np.ndarray) -> list[dict[str, float]]:
    """The plane's cells, row by row, those of one class beside one another taken together."""
    size, rows = 2 * REACH / len(region), []
    for k, row in enumerate(region):
        cuts = np.flatnonzero(np.diff(row)) + 1
        for start, stop in zip([0, *cuts.tolist()], [*cuts.tolist(), len(row)], strict=True):
            x, x2, y, y2 = (round(edge * size - REACH, 4) for edge in (start, stop, k, k + 1))
            rows.append({"x": x, "x2": x2, "y": y, "y2": y2, "class": int(row[start]) + 1})
    return rows


def _curves(played: Motivation) -> Any:
    panels = {"all clients": None, **played.groups}
    base = alt.Chart().encode(
        x=alt.X("round:Q", title="round", axis=alt.Axis(tickCount=5)), color=drawing.by_method(list(played.results))
    )
    low, mean = (
        alt.Y(f"{end}:Q", title="test accuracy", scale=alt.Scale(domain=[0, 1]), axis=alt.Axis(format="%", tickCount=5))
        for end in ("low", "mean")
    )
    layers = alt.layer(
        base.mark_area(opacity=0.14).encode(y=low, y2="high:Q"),
        base.mark_line(strokeWidth=1.8).encode(y=mean),
        data=drawing.inline([row for name, group in panels.items() for row in _curve_rows(played, name, group)]),
    ).properties(width=262, height=170)
    return layers.facet(column=alt.Column("panel:N", sort=list(panels), title=None), spacing=30)


def _curve_rows(played: Motivation, panel: str, group: np.ndarray | None) -> list[dict[str, Any]]:
    rows = []
    for label, result in played.results.items():
        values = played.accuracy(label, "last", group)[result.finite]
        if not len(values):
            continue
        mean, std = values.mean(axis=0), values.std(axis=0, ddof=1) if len(values) > 1 else np.zeros(values.shape[1])
        low, high = np.clip(mean - std, 0, 1), np.clip(mean + std, 0, 1)
        rows += [
            {"panel": panel, "method": label, "round": int(at), "mean": m, "low": lo, "high": hi}
            for at, m, lo, hi in zip(result.rounds, mean.tolist(), low.tolist(), high.tolist(), strict=True)
        ]
    return rows


def _last(played: Motivation, label: str, group: np.ndarray | None = None) -> float:
    """The accuracy of the model whose regions are shown."""
    return float(played.accuracy(label, "last", group)[0, -1])


def _examples(played: Motivation, client: int, most: int | None = None) -> list[dict[str, float]]:
    test = played.clients.test
    start, count = int(test.offsets[client]), int(test.lengths[client])
    rows = slice(start, start + min(count, most or count))
    return [
        {"x": round(float(x), 3), "y": round(float(y), 3), "class": int(label) + 1}
        for (x, y), label in zip(np.asarray(test.x[rows]), np.asarray(test.y[rows]), strict=True)
    ]


def _points(rows: Sequence[dict[str, float]]) -> Any:
    return (
        alt.Chart(drawing.inline(rows))
        .mark_circle(size=11, opacity=0.9)
        .encode(x=_axis("x"), y=_axis("y"), color=_by_class())
    )


def _axis(name: str) -> Any:
    channel = {"x": alt.X, "y": alt.Y}[name]
    return channel(f"{name}:Q", scale=alt.Scale(domain=[-REACH, REACH], nice=False), axis=None)


def _by_class() -> alt.Color:
    names = list(range(1, len(CLASSES) + 1))
    return alt.Color(
        "class:N", scale=alt.Scale(domain=names, range=[colour.stand_in for colour in CLASSES]), legend=None
    )
