"""Playing an experiment into a folder: what is there already is read, what is not is played, leg by leg."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from typing import NamedTuple

from federage.core.plan import plan
from federage.core.problem import Problem
from federage.core.run import Progress
from federage.experiments import casts, disk, frames, store
from federage.experiments.audit import audit
from federage.experiments.casts import Cast
from federage.experiments.environment import environment
from federage.experiments.experiment import Experiment
from federage.experiments.resumable import Cut, legs
from federage.experiments.store import Recorded

_CHECKPOINT_S = 1.0  # between checkpoints, at least
_TABLES_S = 10.0  # between parts of the tables: what they do not hold yet, the checkpoint does


class Tick(NamedTuple):
    """How far one cast has come; `progress` is None before its first leg."""

    labels: tuple[str, ...]
    seeds: tuple[int, ...]
    number: int
    casts: int
    rounds: int
    seconds: float
    progress: Progress | None


def play(
    experiment: Experiment,
    folder: str | os.PathLike[str],
    *,
    tell: Callable[[Tick], None] = lambda tick: None,
    stop: Callable[[], bool] = lambda: False,
) -> Recorded:
    """Play what is left of an experiment, and give what the folder then holds.

    Methods whose records differ in numbers only are played together, in one program. Whatever ends the program, at
    most about a second of work is lost (or a leg, if that takes longer); the same call again goes on from there, and
    ends with the same tables. A method that was changed is played anew, the others are not.

    Args:
      experiment: what to play.
      folder: where to; made if need be.
      tell: called before each cast and after each leg.
      stop: asked after each leg whether to end here, everything safe on the disk.
    """
    problem = experiment.problem()
    cut = Cut(
        plan(experiment.rounds, experiment.every, frames.CHECKPOINTS, experiment.smooth),
        experiment.every,
        experiment.seeds,
    )
    with disk.held(folder) as place:
        assigned = casts.assign(place, experiment.methods, problem, cut)
        store.begin(place, experiment, frames.clients(problem), assigned)
        here, seconds = environment(), {}
        left = [cast for cast in assigned if not casts.over(cast.folder, cut.plan.rounds)]
        for number, cast in enumerate(left):
            started = time.perf_counter()
            stopped = _play(
                cast,
                problem,
                cut,
                lambda at, n=number, c=cast, s=started: tell(
                    Tick(tuple(c.labels), cut.seeds, n, len(left), cut.plan.rounds, time.perf_counter() - s, at)
                ),
                stop,
            )
            each = (time.perf_counter() - started) / len(cast.labels)
            seconds |= dict.fromkeys(cast.labels, each)
            store.note_session(place, here, seconds)
            if stopped:
                break
    return store.open_folder(folder)


def _play(
    cast: Cast, problem: Problem, cut: Cut, tell: Callable[[Progress | None], None], stop: Callable[[], bool]
) -> bool:
    """Play a cast to its end, or until it is stopped; says which."""
    tell(None)
    due, at = time.monotonic() + _TABLES_S, None
    playing = legs(problem, list(cast.methods.values()), cut, cast.folder, cast.identity, _CHECKPOINT_S)
    stopped = False
    for kept in playing:
        at = kept.progress
        if kept.safe and time.monotonic() >= due:
            _write(cast, cut, problem, at)
            due = time.monotonic() + _TABLES_S
        tell(at)
        if stopped := stop() and at.round < cut.plan.rounds:
            break
    playing.close()  # which keeps a checkpoint of the last leg
    if at is not None:
        _write(cast, cut, problem, at)
    return stopped


def _write(cast: Cast, cut: Cut, problem: Problem, at: Progress) -> None:
    """Write the parts of the tables that the last ones did not have."""
    labels, seeds, over = cast.labels, cut.seeds, at.round == cut.plan.rounds
    makers = {
        "looks": lambda after: frames.looks(labels, seeds, at, after),
        "by_client": lambda after: frames.by_client(labels, seeds, at, after, over),
        "heard": lambda after: frames.heard(labels, seeds, at),
    }
    if over:
        makers["audit"] = lambda after: audit(cast.methods, seeds, problem, at)
    for table, make in makers.items():
        after = max((part.to for part in casts.parts(cast.folder, table)), default=0)
        if after < at.round:
            casts.append(cast.folder, table, make(after), after, at.round)
