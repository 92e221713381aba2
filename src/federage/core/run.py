"""Runs: `run` (a method), `sweep` (methods x seeds), `stream` (leg by leg).

All three play the same legs of the same compiled program (`program`), in the same way (`cast`): they differ in what
they hand out, and when.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import jax
import numpy as np

from federage.core.algorithm import Algorithm, Method
from federage.core.cast import Cast, Composed
from federage.core.plan import Watched, plan
from federage.core.problem import Problem
from federage.core.program import Looks
from federage.core.result import Result
from federage.core.state import State


class Progress(NamedTuple):
    """A run between two legs: where it stands, what was seen so far (runs first, then looks), and how to go on."""

    round: int
    looks: Looks
    state: State


def run(
    problem: Problem,
    method: Method | Algorithm,
    *,
    rounds: int,
    seeds: int | Sequence[int] = 1,
    every: int | None = None,
    watch: Sequence[Watched] = ("last",),
    smooth: float | None = None,
) -> Result:
    """Play a method for some rounds on each of several seeds.

    Args:
      problem: model, data, law, local work.
      method: a record such as `FedeRage(...)`, or an `Algorithm` composed of parts.
      rounds: T.
      seeds: how many (0, 1, ...), or which. Every method meets the same arrivals and batches on a seed.
      every: rounds between two looks; a twentieth of all, if None.
      watch: which checkpoints looks measure, beside the last: "average", "smooth".
      smooth: decay of an exponential average of checkpoints, if wanted.
    """
    return sweep(problem, [method], rounds=rounds, seeds=seeds, every=every, watch=watch, smooth=smooth)[0]


def sweep(
    problem: Problem,
    methods: Sequence[Method | Algorithm],
    *,
    rounds: int,
    seeds: int | Sequence[int] = 1,
    every: int | None = None,
    watch: Sequence[Watched] = ("last",),
    smooth: float | None = None,
) -> list[Result]:
    """Play records of one kind (they differ in their numbers only) on every seed, all in one compiled program."""
    cast = Cast.of(problem, methods, seeds)
    looks, states = [], []
    for moment in cast.legs(plan(rounds, every, watch, smooth)):
        looks.append(cast.on_host(moment.looks))
        states = moment.states
    state = cast.on_host(states)
    return _results(cast, Progress(rounds, jax.tree.map(_joined, *looks), state))


def stream(
    problem: Problem,
    methods: Method | Algorithm | Sequence[Method | Algorithm],
    *,
    rounds: int,
    seeds: int | Sequence[int] = 1,
    every: int | None = None,
    watch: Sequence[Watched] = ("last",),
    smooth: float | None = None,
    start: Progress | None = None,
) -> Iterator[Progress]:
    """The same runs leg by leg: yields after each leg, while the next is under way.

    Args:
      problem: as for `run`.
      methods: one, as for `run`, or several, as for `sweep`.
      rounds: as for `run`.
      seeds: as for `run`.
      every: as for `run`.
      watch: as for `run`.
      smooth: as for `run`.
      start: a leg's `Progress`, to go on from there instead of from the beginning.
    """
    cut = plan(rounds, every, watch, smooth)
    cast = Cast.of(problem, _several(methods), seeds)
    done, seen, state = (0, None, None) if start is None else (start.round, start.looks, start.state)
    for moment in cast.legs(cut, done, state):
        new = cast.on_host(moment.looks)
        seen = new if seen is None else jax.tree.map(_joined, seen, new)
        yield Progress(moment.round, seen, cast.on_host(moment.states))


def result_of(problem: Problem, method: Method | Algorithm, seeds: int | Sequence[int], progress: Progress) -> Result:
    """What a streamed run has come to."""
    return _results(Cast.of(problem, [method], seeds), progress)[0]


def _several(methods: Method | Algorithm | Sequence[Method | Algorithm]) -> Sequence[Method | Algorithm]:
    """One method is a sequence of one. An `Algorithm`, though a tuple of parts, is one method."""
    return [methods] if isinstance(methods, (Algorithm, Method)) else methods


def _joined(*looks: np.ndarray) -> np.ndarray:
    """Looks one after the other: runs are the first axis, looks the second."""
    return np.concatenate(looks, axis=1)


def _results(cast: Cast, progress: Progress) -> list[Result]:
    """One result a method: its runs are consecutive."""
    count = len(cast.seeds)
    legs, seen = progress.looks

    def of(k: int, tree: Any) -> Any:
        return jax.tree.map(lambda a: a[k * count : (k + 1) * count], tree)

    return [
        Result(
            "composed" if isinstance(method, Composed) else type(method).__name__,
            method,
            cast.seeds,
            of(k, legs),
            of(k, seen),
            of(k, progress.state),
        )
        for k, method in enumerate(cast.methods)
    ]
