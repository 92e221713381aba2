"""Playing an experiment into a folder: what is there already is read, what is not is played, leg by leg."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from federage.core import devices, processes
from federage.core.plan import plan
from federage.core.problem import Problem
from federage.core.run import Progress
from federage.errors import FederageError, ProcessError
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

    Several processes (`core.devices.join`) all make this call, on one folder that all can read; process 0 writes.

    Args:
      experiment: what to play.
      folder: where to; made if need be.
      tell: called before each cast and after each leg.
      stop: asked after each leg whether to end here, everything safe on the disk.
    """
    problem, cut = experiment.problem(), cut_of(experiment)
    with contextlib.ExitStack() as stack:
        left = _begin(Path(folder), experiment, problem, cut, stack)
        here, before, seconds = environment(), store.sessions(folder), {}
        for number, cast in enumerate(left):
            started = time.perf_counter()

            def told(at: Progress | None, number: int = number, cast: Cast = cast, started: float = started) -> None:
                passed = time.perf_counter() - started
                tell(Tick(tuple(cast.labels), cut.seeds, number, len(left), cut.plan.rounds, passed, at))

            stopped = _play(cast, problem, cut, told, stop)
            seconds |= dict.fromkeys(cast.labels, (time.perf_counter() - started) / len(cast.labels))
            if devices.lead():
                store.note_session(Path(folder), before, here, seconds)
            if stopped:
                break
        processes.words(0)  # all is written before anybody reads it
    return store.open_folder(folder)


def cut_of(experiment: Experiment) -> Cut:
    """How an experiment's runs are cut into legs, and looked at."""
    whole = plan(experiment.rounds, experiment.every, frames.CHECKPOINTS, experiment.smooth)
    return Cut(whole, experiment.every, experiment.seeds)


def _begin(folder: Path, experiment: Experiment, problem: Problem, cut: Cut, stack: contextlib.ExitStack) -> list[Cast]:
    """The casts that are left to play; process 0 holds the folder and writes down what they are, the others read it."""
    assigned, failure = [], None
    if devices.lead():
        try:
            stack.enter_context(disk.held(folder))
            assigned = casts.assign(folder, experiment.methods, problem, cut)
            store.begin(folder, experiment, frames.clients(problem), assigned)
        except FederageError as error:
            failure = error
    if processes.words(int(failure is not None))[0]:
        raise failure or ProcessError("process 0 could not begin; it says why")
    if not devices.lead():
        assigned = casts.assign(folder, experiment.methods, problem, cut)
    left = [cast for cast in assigned if not casts.over(cast.folder, cut.plan.rounds)]
    processes.words(0)  # nobody plays on while another still looks at what is left
    return left


def _play(
    cast: Cast, problem: Problem, cut: Cut, tell: Callable[[Progress | None], None], stop: Callable[[], bool]
) -> bool:
    """Play a cast to its end, or until it is stopped; says which."""
    tell(None)
    due, at, stopped = time.monotonic() + _TABLES_S, None, False
    playing = legs(problem, list(cast.methods.values()), cut, cast.folder, cast.identity, _CHECKPOINT_S)
    for kept in playing:
        at = kept.progress
        if kept.safe and time.monotonic() >= due:
            _write(cast, cut, problem, at)
            due = time.monotonic() + _TABLES_S
        tell(at)
        if stopped := any(processes.words(int(stop()))) and at.round < cut.plan.rounds:
            break
    playing.close()  # which keeps a checkpoint of the last leg
    if at is not None:
        _write(cast, cut, problem, at)
    return stopped


def _write(cast: Cast, cut: Cut, problem: Problem, at: Progress) -> None:
    """Write the parts of the tables that the last ones did not have."""
    if not devices.lead():
        return
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
