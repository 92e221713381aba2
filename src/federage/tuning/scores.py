"""What configurations are worth, which is chosen, how sure that is, and whether it lies on the edge of its space."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping, Sequence
from typing import Any, Literal, NamedTuple

import numpy as np
import polars as pl

from federage.core.algorithm import Method
from federage.errors import RecordError
from federage.experiments.store import Recorded
from federage.report.tables import METRICS
from federage.tuning.search import Range, Search, Space

EDGE = 0.1
"""The part of a range at either end that counts as its edge."""

_INFORMATIVE = 3  # values in a list: of two, one end is always the best


class Tried(NamedTuple):
    """A configuration: its place in the draw, its record and numbers; its score, None if a seed did not stay finite."""

    place: int
    method: Method
    numbers: Mapping[str, Any]
    score: float | None
    stderr: float | None
    by_seed: tuple[float, ...]


class Edge(NamedTuple):
    """A chosen number at an end of what it was chosen from."""

    key: str
    value: float
    end: Literal["lower", "upper"]
    low: float
    high: float


@dataclasses.dataclass(frozen=True)
class Found:
    """What the search has come to for one method.

    Attributes:
      method: the record with the chosen numbers; as the file has it, where no configuration stayed finite.
      chosen: the configuration with the best score; None where there is none.
      near: those within one standard error of the best, the chosen one among them: noise alone may order them.
      lost: those that became non-finite on some seed, and so have no score.
      edges: numbers of the chosen one that lie on the edge of their space.
      configurations: how many were tried.
    """

    method: Method
    chosen: Tried | None
    near: tuple[Tried, ...]
    lost: tuple[Tried, ...]
    edges: tuple[Edge, ...]
    configurations: int


def scores(recorded: Recorded, search: Search) -> dict[str, list[float] | None]:
    """The score on each seed by label; None for a configuration that did not stay finite on all of them.

    A run's score is the mean of the metric over the looks of the last `over` of its rounds: one look alone is noisy.
    """
    rounds = recorded.experiment.rounds
    late = pl.col("round") > (1 - search.over) * rounds
    runs = (
        recorded.looks.filter(pl.col("checkpoint") == search.checkpoint)
        .group_by("method", "seed", maintain_order=True)
        .agg(pl.col(search.metric).filter(late).mean().alias("value"), finite=pl.col("finite").all())
    )
    found: dict[str, list[float] | None] = {}
    for (label,), part in runs.partition_by("method", as_dict=True).items():
        values = part["value"].fill_null(math.nan).to_list()
        whole = bool(part["finite"].all()) and all(map(math.isfinite, values))
        found[str(label)] = values if whole else None
    return found


def tried(place: int, method: Method, space: Space, values: Sequence[float] | None) -> Tried:
    """A configuration with the mean of its seeds' scores, and the standard error of that mean."""
    numbers = {key: getattr(method, key) for key in space}
    if values is None:
        return Tried(place, method, numbers, None, None, ())
    stderr = float(np.std(values, ddof=1) / math.sqrt(len(values))) if len(values) > 1 else None
    return Tried(place, method, numbers, float(np.mean(values)), stderr, tuple(values))


def ranked(several: Sequence[Tried], search: Search) -> list[Tried]:
    """Those that have a score, the best first; of equal ones the one drawn first."""
    scored = [(-METRICS[search.metric].sign * one.score, one.place, one) for one in several if one.score is not None]
    return [one for *_, one in sorted(scored, key=lambda entry: entry[:2])]


def found(
    method: Method, space: Space, at_the_end: Sequence[Tried], lost: Sequence[Tried], search: Search, count: int
) -> Found:
    """Choose among the configurations that came to the end."""
    order = ranked(at_the_end, search)
    if not order:
        return Found(method, None, (), tuple(lost), (), count)
    best = order[0]
    assert best.score is not None
    near = tuple(one for one in order if abs(one.score - best.score) <= (best.stderr or 0.0))  # pyright: ignore[reportOptionalOperand]
    return Found(best.method, best, near, tuple(lost), edges(best.method, space), count)


def edges(method: Method, space: Space) -> tuple[Edge, ...]:
    """The numbers of a record that lie on the edge of their space: beyond it may be better ones.

    Of a range, a tenth at either end is its edge; of a list of at least three numbers, the least and the greatest. An
    end beyond which the record takes no value is none.
    """
    lying: list[Edge] = []
    for key, axis in space.items():
        value = getattr(method, key)
        if isinstance(axis, Range):
            low, high, place = axis.low, axis.high, axis.place(value)
            at = "lower" if place <= EDGE else "upper" if place >= 1 - EDGE else None
        elif len(axis) >= _INFORMATIVE and all(isinstance(point, (int, float)) for point in axis):
            low, high = min(axis), max(axis)
            at = "lower" if value == low else "upper" if value == high else None
        else:
            continue
        if at is not None and _goes_on(method, key, low if at == "lower" else high, at):
            lying.append(Edge(key, value, at, low, high))
    return tuple(lying)


def _goes_on(method: Method, key: str, end: float, at: str) -> bool:
    """Whether the record takes values beyond an end."""
    beyond = math.nextafter(end, -math.inf if at == "lower" else math.inf)
    try:
        dataclasses.replace(method, **{key: beyond})  # pyright: ignore[reportArgumentType]
    except RecordError:
        return False
    return True
