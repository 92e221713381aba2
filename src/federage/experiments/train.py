"""A run that outlives its program: legs on the host, a checkpoint after each, and on from there the next time."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from federage.core.algorithm import Algorithm, Method, Step
from federage.core.look import leg, look
from federage.core.plan import Plan, Watched, plan
from federage.core.problem import Problem
from federage.core.result import Result
from federage.core.round import Work
from federage.core.run import Progress, result_of, stream
from federage.core.state import initial
from federage.core.types import PyTree
from federage.errors import CheckpointMismatch
from federage.experiments import checkpoint
from federage.experiments.identity import describe


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
    which = tuple(range(seeds)) if isinstance(seeds, (int, np.integer)) else tuple(seeds)
    every = cut.every if every is None else every
    identity = describe(problem, method, seeds=which, every=every, watch=cut.watch, smooth=smooth)
    with checkpoint.held(folder) as place:
        at = checkpoint.load(place, identity, _like(problem, method, len(which), every, cut))
        if at is not None:
            _can_go_on(place, at.round, rounds, every)
        legs = stream(problem, method, rounds=rounds, seeds=seeds, every=every, watch=watch, smooth=smooth, start=at)
        for at in legs:
            checkpoint.save(place, at, identity)
            if progress is not None:
                progress(at)
    assert at is not None  # a plan has at least one leg
    return result_of(problem, method, seeds, at)


def _can_go_on(folder: Path, done: int, rounds: int, every: int) -> None:
    """Whether the legs that are left end where those of an undisturbed run of `rounds` rounds do."""
    if done > rounds:
        raise CheckpointMismatch(
            f"the run in {folder} has played {done} rounds, more than rounds={rounds}; "
            f"pass rounds={done} or more, or another folder"
        )
    if done < rounds and done % every:
        raise CheckpointMismatch(
            f"the run in {folder} ended at round {done}, inside a leg of every={every} rounds, so its last look is "
            f"not one of a run of {rounds} rounds; pass rounds={done} to read it, or another folder to play {rounds}"
        )


def _like(problem: Problem, method: Method | Algorithm, runs: int, every: int, cut: Plan) -> Callable[[int], Progress]:
    """What the progress at a round looks like, without playing: shapes and dtypes."""

    def one() -> Any:
        algorithm = method if isinstance(method, Algorithm) else method.parts()
        state = initial(algorithm, problem, jnp.uint32(0), cut.decay is not None)
        points = {"last": state.vars, "average": state.average, "smooth": state.smooth}
        works = Work(jnp.zeros(1), Step(jnp.zeros(1), jnp.zeros(1)))
        looks = leg(state.round, works, state.vars), {name: look(problem, points[name]) for name in cut.watch}
        return looks, state

    def at(round: int) -> Progress:
        looks, state = jax.eval_shape(one)
        return Progress(round, _stacked(looks, runs, -(-round // every)), _stacked(state, runs))

    return at


def _stacked(tree: PyTree, *axes: int) -> PyTree:
    return jax.tree.map(lambda leaf: jax.ShapeDtypeStruct((*axes, *leaf.shape), leaf.dtype), tree)
