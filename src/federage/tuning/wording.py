"""A search in words: the notes of the experiment it ends in, and a table for a terminal."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from federage.core.algorithm import Method
from federage.experiments.experiment import Experiment
from federage.report.tables import METRICS
from federage.tuning.draw import cells
from federage.tuning.rungs import Rung, rungs
from federage.tuning.scores import Edge, Found, Tried
from federage.tuning.search import Search, search_of

MARK = "Tuning: "
"""What notes about a search begin with, so that those of the next one take their place."""

_STRATEGIES = {"random": "drawn at random", "grid": "on a grid", "halving": "drawn at random, by successive halving"}


def notes(
    search: Search,
    ladder: Sequence[Rung],
    methods: Mapping[str, Found],
    averse: Mapping[str, Method],
    follow: Mapping[str, str],
    environment: Mapping[str, str],
) -> list[str]:
    """What a reader of the tuned experiment must know."""
    said = [_how(search, ladder, environment), *warnings(search, methods)]
    said += [
        f"{control} is not tuned: it is FedAvg at {label}'s step size times κ = {averse[control].kappa:.4g}."  # pyright: ignore[reportAttributeAccessIssue]
        for control, label in follow.items()
    ]
    return [MARK + note for note in said]


def told(experiment: Experiment) -> list[str]:
    """Of a tuned experiment's notes those about the search."""
    return [note.removeprefix(MARK) for note in experiment.notes if note.startswith(MARK)]


def plan(experiment: Experiment) -> str:
    """What is about to be searched."""
    search = search_of(experiment)
    return f"Tuning {', '.join(search.spaces)} on validation examples: {_budget(search, rungs(search, experiment))}"


def table(
    search: Search, methods: Mapping[str, Method], tuned: Mapping[str, Found]
) -> tuple[list[str], list[list[str]]]:
    """The columns, and a row a method of the tuned experiment."""
    metric = METRICS[search.metric]
    score = f"accuracy in %, {metric.name}" if metric.share else metric.name
    columns = ["method", "chosen", score, "within one s.e.", "on the edge"]
    rows = []
    for label, method in methods.items():
        found = tuned.get(label)
        if found is None or found.chosen is None:
            step = f"lr={method.lr:g}" if found is None else "-"  # pyright: ignore[reportAttributeAccessIssue]
            rows.append([label, step, "not tuned" if found is None else "none finite", "", ""])
            continue
        of = f"{len(found.near)} of {found.configurations}"
        edges = ", ".join(f"{edge.key} ({edge.end})" for edge in found.edges)
        rows.append([label, _numbers(found.chosen), _score(found.chosen, 100 if metric.share else 1), of, edges])
    return columns, rows


def warnings(search: Search, methods: Mapping[str, Found]) -> Iterator[str]:
    """Where to look again: what lies on an edge, was lost, or was not searched at all."""
    for label, found in methods.items():
        if search.strategy == "grid" and (whole := cells(search, label)) > found.configurations:
            yield f"{label}: {found.configurations} of the {whole:,} points of its grid were tried, drawn at random."
        yield from (_edge(label, edge) for edge in found.edges)
        if found.lost:
            few = found.lost[:3]
            more = f", and {len(found.lost) - len(few)} more" if len(found.lost) > len(few) else ""
            which = "; ".join(map(_numbers, few)) + more
            yield f"{label}: {len(found.lost)} of {found.configurations} configurations became non-finite ({which})."
        if found.chosen is None:
            yield f"{label}: no configuration stayed finite, so its numbers are the file's; search lower step sizes."
        elif found.configurations == 1:
            yield f"{label}: one configuration, for there is nothing to choose."


def _how(search: Search, ladder: Sequence[Rung], environment: Mapping[str, str]) -> str:
    metric = METRICS[search.metric]
    date = environment.get("date", "an unknown day").split()[0]
    return (
        f"{date}, {_budget(search, ladder)}; chosen by {'accuracy, ' if metric.share else ''}{metric.name}, of the "
        f"{search.checkpoint} checkpoint on the clients' validation examples, mean over the last "
        f"{100 * search.over:g} % of the rounds. Nobody looked at the test examples."
    )


def _budget(search: Search, ladder: Sequence[Rung]) -> str:
    drops = ", ".join(f"{rung.configurations} for {rung.rounds:,} rounds" for rung in ladder)
    return (
        f"{search.budget} configurations a method, {_STRATEGIES[search.strategy]}"
        f"{f' ({drops})' if len(ladder) > 1 else ''}, seeds {', '.join(map(str, search.seeds))}, "
        f"{search.rounds:,} rounds"
    )


def _edge(label: str, edge: Edge) -> str:
    quoted = label if re.fullmatch(r"[\w-]+", label, re.ASCII) else json.dumps(label, ensure_ascii=False)
    return (
        f"{label}: {edge.key} = {edge.value:g} lies at the {edge.end} edge of what was searched, {edge.low:g} to "
        f"{edge.high:g}: widen [tune.space.{quoted}] {edge.key}."
    )


def _numbers(one: Tried) -> str:
    return " ".join(f"{key}={_short(value)}" for key, value in one.numbers.items()) or "as it is"


def _short(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)


def _score(one: Tried, scale: int) -> str:
    assert one.score is not None
    spread = "" if one.stderr is None else f" ± {scale * one.stderr:.2f}"
    return f"{scale * one.score:.2f}{spread}"
