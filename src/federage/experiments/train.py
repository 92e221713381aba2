"""A run that outlives its program: legs on the host, a checkpoint after each, and on from there the next time."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import Any

from federage.core.algorithm import Algorithm, Method
from federage.core.plan import Watched, plan, seeds_of
from federage.core.problem import Problem
from federage.core.result import Result
from federage.core.run import Progress, result_of
from federage.experiments import disk
from federage.experiments.resumable import Cut, legs


def train(
    problem: Problem,
    method: Method | Algorithm,
    *,
    folder: str | os.PathLike[str],
    rounds: int,
    seeds: int | Sequence[int] = 1,
    every: int | None = None,
    watch: Sequence[Watched] = ("last",),
    smooth: float | None = None,
    progress: Callable[[Progress], Any] | None = None,
) -> Result:
    """Play a method as `run` does, keeping a checkpoint in a folder; go on from the one that is there.

    Whatever ends the program, at most the leg in progress is lost: the same call again goes on from the last leg, and
    ends with the same numbers as if nothing had happened. A run that is finished is read, not played. A call for more
    rounds extends it, if it ended between two whole legs: `every` must stay the same, and divide the old rounds.

    Args:
      problem: as for `run`.
      method: as for `run`.
      folder: the run's own; made if need be.
      rounds: as for `run`.
      seeds: as for `run`.
      every: as for `run`; also the rounds between two checkpoints.
      watch: as for `run`.
      smooth: as for `run`.
      progress: called after each leg, once it is safe on the disk.

    Raises:
      CheckpointMismatch: the folder's checkpoint belongs to another experiment; the message says what differs.
      CheckpointError: it is damaged, or the folder cannot be written to, or another program is at work in it.
    """
    cut = plan(rounds, every, watch, smooth)
    how = Cut(cut, cut.every if every is None else every, seeds_of(seeds))
    identity = how.identity(problem, method)
    with disk.held(folder) as place:
        kept = None
        for kept in legs(problem, [method], how, place, identity):
            if progress is not None and kept.played:
                progress(kept.progress)
    assert kept is not None  # a plan has at least one leg
    return result_of(problem, method, seeds, kept.progress)
