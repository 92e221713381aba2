"""Legs that outlive their program: a checkpoint from time to time, and on from there the next time."""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from federage.core import devices
from federage.core.algorithm import Algorithm, Method, Step
from federage.core.look import leg, look
from federage.core.plan import Plan
from federage.core.problem import Problem
from federage.core.round import Work
from federage.core.run import Progress, stream
from federage.core.state import initial
from federage.core.types import PyTree
from federage.errors import CheckpointMismatch
from federage.experiments import checkpoint
from federage.experiments.identity import Description, describe

_SHARE = 30  # a checkpoint is due again after so many times as long as the last one took to write


class Kept(NamedTuple):
    """Runs between two legs: whether they are on the disk as they stand, and whether a leg was just played."""

    progress: Progress
    safe: bool
    played: bool = True


class Cut(NamedTuple):
    """How runs are cut into legs: a plan, with `every` as it was asked for and not shortened to a short run."""

    plan: Plan
    every: int
    seeds: tuple[int, ...]

    def identity(self, problem: Problem, methods: Any) -> Description:
        """What makes runs these and no others."""
        plan = self.plan
        return describe(problem, methods, seeds=self.seeds, every=self.every, watch=plan.watch, smooth=plan.decay)


def legs(
    problem: Problem,
    methods: Sequence[Method | Algorithm],
    cut: Cut,
    folder: Path,
    identity: Description,
    seconds: float = 0.0,
) -> Generator[Kept]:
    """Play legs from the checkpoint in the folder on, or from the beginning; what is over is yielded once, as it is.

    Args:
      problem: as for `stream`.
      methods: as for `stream`; records of one kind.
      cut: how they are cut.
      folder: where the checkpoint lies, held by the caller.
      identity: what the checkpoint must be of.
      seconds: between two checkpoints at least, and so long that writing them takes a thirtieth of the time; 0 keeps
        one after every leg. After the last leg there always is one, and also where the caller stops before.
    """
    plan = cut.plan
    start = checkpoint.load(folder, identity, _like(problem, methods[0], len(methods) * len(cut.seeds), cut))
    if start is not None:
        _can_go_on(folder, start.round, plan.rounds, cut.every)
        if start.round == plan.rounds:
            yield Kept(start, safe=True, played=False)
            return
    at, safe, due = start, True, time.monotonic() + seconds
    try:
        for at in stream(
            problem,
            methods,
            rounds=plan.rounds,
            seeds=cut.seeds,
            every=plan.every,
            watch=plan.watch,
            smooth=plan.decay,
            start=start,
        ):
            safe = time.monotonic() >= due or at.round == plan.rounds
            if safe and devices.lead():
                began = time.monotonic()
                checkpoint.save(folder, at, identity)
                ended = time.monotonic()
                due = ended + max(seconds, _SHARE * (ended - began)) if seconds else ended
            yield Kept(at, safe)
    finally:
        if not safe and at is not None and devices.lead():
            checkpoint.save(folder, at, identity)


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


def _like(problem: Problem, method: Method | Algorithm, runs: int, cut: Cut) -> Callable[[int], Progress]:
    """What the progress at a round looks like, without playing: shapes and dtypes."""

    def one() -> Any:
        algorithm = method if isinstance(method, Algorithm) else method.parts()
        state = initial(algorithm, problem, jnp.uint32(0), cut.plan.decay is not None)
        points = {"last": state.vars, "average": state.average, "smooth": state.smooth}
        works = Work(jnp.zeros(1), Step(jnp.zeros(1), jnp.zeros(1)))
        looks = leg(state.round, works, state.vars), {name: look(problem, points[name]) for name in cut.plan.watch}
        return looks, state

    def at(round: int) -> Progress:
        looks, state = jax.eval_shape(one)
        return Progress(round, _stacked(looks, runs, -(-round // cut.every)), _stacked(state, runs))

    return at


def _stacked(tree: PyTree, *axes: int) -> PyTree:
    return jax.tree.map(lambda leaf: jax.ShapeDtypeStruct((*axes, *leaf.shape), leaf.dtype), tree)
