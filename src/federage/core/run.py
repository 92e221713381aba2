"""Runs as programs: `run` (one program), `stream` (legs on the host), `sweep` (methods x seeds in one program).

All three play the same rounds: a leg is `every` rounds of `lax.scan` and then one look; `run` scans the legs as well,
`stream` goes through them on the host. Runs (a method's numbers and a seed) are a `vmap` axis.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Literal, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import PartitionSpec
from jaxtyping import Array

from federage.core import devices
from federage.core.algorithm import Algorithm, Facts, Knowledge, Method
from federage.core.look import Leg, Look, leg, look
from federage.core.problem import Problem
from federage.core.record import record, static
from federage.core.result import Result
from federage.core.round import play
from federage.core.state import State, initial
from federage.errors import RecordError

Watched = Literal["last", "average", "smooth"]
Looks = tuple[Leg, dict[str, Look]]

_CACHE = 2**19  # bytes of model copies that stay near a CPU core (measured: benchmarks/README.md)


@record
class Composed:
    """A bare `Algorithm`, made a method: it has no numbers to sweep."""

    algorithm: Algorithm = static()

    def parts(self) -> Algorithm:
        return self.algorithm


class Plan(NamedTuple):
    """How a run is cut and what its looks look at; part of the program.

    Attributes:
      rounds: T, all of them; the run ends exactly there.
      every: rounds in a leg (the last leg may be shorter).
      watch: the checkpoints each look measures: "last", "average" (of all so far), "smooth" (exponential).
      decay: of the exponential average, or None for none.
    """

    rounds: int
    every: int
    watch: tuple[Watched, ...] = ("last",)
    decay: float | None = None

    @property
    def legs(self) -> int:
        """Whole legs."""
        return self.rounds // self.every

    @property
    def remainder(self) -> int:
        """Rounds in the shorter leg at the end, if any."""
        return self.rounds % self.every


class Progress(NamedTuple):
    """A run between two legs: where it stands, what was seen so far (runs first, then looks), and how to go on."""

    round: int
    looks: Looks
    state: State


def plan(rounds: int, every: int | None, watch: Sequence[Watched], smooth: float | None) -> Plan:
    """Check how a run is to be cut."""
    if rounds < 1:
        raise RecordError(f"rounds={rounds} is not a whole number of at least 1")
    every = min(rounds, max(1, rounds // 20)) if every is None else every
    if every < 1:
        raise RecordError(f"every={every} is not a whole number of at least 1")
    if smooth is not None and not 0 < smooth < 1:
        raise RecordError(
            f"smooth={smooth} is not a decay in (0, 1); pass smooth=.99 for an average over about 100 rounds"
        )
    wanted = ("last", *[name for name in dict.fromkeys(watch) if name != "last"])
    if smooth is not None and "smooth" not in wanted:
        wanted = (*wanted, "smooth")
    for name in wanted:
        if name not in ("last", "average", "smooth"):
            raise RecordError(f"watch has {name!r}, which is none of 'last', 'average', 'smooth'")
    if "smooth" in wanted and smooth is None:
        raise RecordError("watch has 'smooth', but no decay was given; pass smooth=.99")
    return Plan(rounds, min(every, rounds), wanted, smooth)


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
    """Play a method for some rounds on each of several seeds, in one compiled program.

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
    cut = plan(rounds, every, watch, smooth)
    cast = Cast.of(problem, methods, seeds)
    state, looks = cast.perform(_whole, cut)
    return cast.results(cut, state, looks)


def stream(
    problem: Problem,
    method: Method | Algorithm,
    *,
    rounds: int,
    seeds: int | Sequence[int] = 1,
    every: int | None = None,
    watch: Sequence[Watched] = ("last",),
    smooth: float | None = None,
    start: Progress | None = None,
) -> Iterator[Progress]:
    """The same run leg by leg: yields after each leg, and goes on when asked to.

    Args:
      problem: as for `run`.
      method: as for `run`.
      rounds: as for `run`.
      seeds: as for `run`.
      every: as for `run`.
      watch: as for `run`.
      smooth: as for `run`.
      start: a leg's `Progress`, to go on from there instead of from the beginning.
    """
    cut = plan(rounds, every, watch, smooth)
    cast = Cast.of(problem, [method], seeds)
    if start is None:
        done, seen, state = 0, None, cast.perform(begin, cut)
    else:
        done, seen, state = start.round, start.looks, start.state
    while done < rounds:
        length = min(cut.every, rounds - done)
        state, new = cast.perform(go_on, cut._replace(rounds=length), state)
        state, new = jax.device_get((state, new))
        seen = new if seen is None else jax.tree.map(lambda a, b: np.concatenate([a, b], axis=1), seen, new)
        done += length
        yield Progress(done, seen, state)


def result_of(problem: Problem, method: Method | Algorithm, seeds: int | Sequence[int], progress: Progress) -> Result:
    """What a streamed run has come to."""
    cast = Cast.of(problem, [method], seeds)
    return cast.results(Plan(progress.round, 1), progress.state, progress.looks)[0]


class Cast(NamedTuple):
    """The runs of one program: stacked methods and seeds, and everything they share."""

    problem: Problem
    methods: tuple[Method, ...]
    seeds: tuple[int, ...]
    facts: Facts

    @classmethod
    def of(cls, problem: Problem, methods: Sequence[Method | Algorithm], seeds: int | Sequence[int]) -> Cast:
        cast = tuple(Composed(m) if isinstance(m, Algorithm) else m for m in methods)
        if not cast:
            raise RecordError("no method was given; pass at least one record, such as FedAvg(lr=.1)")
        kinds = {jax.tree.structure(m) for m in cast}
        if len(kinds) > 1:
            names = ", ".join(sorted({type(m).__name__ for m in cast}))
            raise RecordError(
                f"one sweep takes records of one kind that differ in numbers only, but came {names}; sweep each kind"
            )
        which = tuple(range(seeds)) if isinstance(seeds, (int, np.integer)) else tuple(int(s) for s in seeds)
        if not which or min(which) < 0 or len(set(which)) < len(which):
            raise RecordError(
                f"seeds={seeds!r} is neither a number of at least 1 nor a list of different non-negative numbers"
            )
        return cls(problem, cast, which, _facts(problem, cast[0].parts()))

    def perform(self, program: Callable[..., Any], cut: Plan, state: State | None = None) -> Any:
        """Run a program over all runs: batched, and split over the devices there are."""
        runs = [(m, s) for m in self.methods for s in self.seeds]
        mesh = devices.mesh()
        split = mesh is not None and len(runs) >= mesh.size
        extra = -len(runs) % mesh.size if mesh is not None and split else 0
        runs += [runs[-1]] * extra  # shards are of one size: the last run fills them up and is dropped again
        methods = jax.tree.map(
            lambda *leaves: jnp.stack([jnp.asarray(a, jnp.float32) for a in leaves]), *[m for m, _ in runs]
        )
        seeds = jnp.asarray([s for _, s in runs], jnp.uint32)
        if state is not None and extra:
            state = jax.tree.map(lambda a: np.concatenate([a, np.repeat(a[-1:], extra, axis=0)]), state)
        width = self._runs_at_once()
        out = _compiled(program, cut, split, width)(self.problem, self.facts, methods, seeds, state)
        return jax.tree.map(lambda a: a[: len(runs) - extra], out) if extra else out

    def _runs_at_once(self) -> int | None:
        """How many runs to batch: all (None) on an accelerator; on a CPU as many as share its nearest caches.

        Batching saves dispatch, which is most of a small model's time; but once the arrivals' models no longer fit,
        every step goes to memory and back, and one run after another is faster.
        """
        if jax.default_backend() != "cpu":
            return None
        theta = jax.eval_shape(self.problem.init, jax.random.key(0))
        model = sum(leaf.size * leaf.dtype.itemsize for leaf in jax.tree.leaves(theta))
        return max(1, _CACHE // (model * self.problem.arrivals_at_once))

    def results(self, cut: Plan, state: State, looks: Looks) -> list[Result]:
        """One result a method: its runs are consecutive."""
        state, (legs, seen) = jax.device_get((state, looks))
        names = [type(m).__name__ if not isinstance(m, Composed) else "composed" for m in self.methods]
        count = len(self.seeds)

        def of(k: int, tree: Any) -> Any:
            return jax.tree.map(lambda a: a[k * count : (k + 1) * count], tree)

        return [
            Result(name, method, self.seeds, of(k, legs), of(k, seen), of(k, state))
            for k, (name, method) in enumerate(zip(names, self.methods, strict=True))
        ]


@functools.cache
def _compiled(program: Callable[..., Any], cut: Plan, split: bool, width: int | None) -> Callable[..., Any]:
    """A program over runs, `width` of them batched, compiled; kept, so that the second leg does not trace again."""
    mesh = devices.mesh() if split else None

    def batched(problem: Problem, facts: Facts, methods: Method, seeds: Array, states: State | None) -> Any:
        def one(run: tuple[Method, Array, State | None]) -> Any:
            method, seed, state = run
            return program(cut, problem, facts, method.parts(), seed, state)

        runs = (methods, seeds, states)
        if width is None or width >= len(seeds) > 1:
            return jax.vmap(one)(runs)
        return jax.lax.map(one, runs, batch_size=width if width > 1 and len(seeds) > 1 else None)

    if mesh is not None:
        each, every = PartitionSpec(devices.AXIS), PartitionSpec()
        batched = jax.shard_map(
            batched, mesh=mesh, in_specs=(every, every, each, each, each), out_specs=each, check_vma=False
        )
    return jax.jit(batched, compiler_options=devices.compiler_options(split))


def begin(cut: Plan, problem: Problem, facts: Facts, algorithm: Algorithm, seed: Array, _: None) -> State:
    return initial(algorithm, problem, seed, cut.decay is not None)


def _play_leg(
    cut: Plan, length: int, problem: Problem, facts: Facts, algorithm: Algorithm, seed: Array, state: State
) -> tuple[State, Looks]:
    def once(state: State, _: None) -> Any:
        return play(algorithm, problem, facts, seed, state, cut.decay)

    state, works = jax.lax.scan(once, state, None, length=length)
    points = {"last": state.vars, "average": state.average, "smooth": state.smooth}
    return state, (leg(state.round, works, state.vars), {name: look(problem, points[name]) for name in cut.watch})


def go_on(
    cut: Plan, problem: Problem, facts: Facts, algorithm: Algorithm, seed: Array, state: State
) -> tuple[State, Looks]:
    """One leg of cut.rounds rounds; its look gets an axis of length one, to be joined to the others'."""
    state, looks = _play_leg(cut, cut.rounds, problem, facts, algorithm, seed, state)
    return state, jax.tree.map(lambda a: a[None], looks)


def _whole(cut: Plan, problem: Problem, facts: Facts, algorithm: Algorithm, seed: Array, _: None) -> Any:
    rest = (problem, facts, algorithm, seed)
    state, looks = jax.lax.scan(
        lambda state, _: _play_leg(cut, cut.every, *rest, state),
        initial(algorithm, problem, seed, cut.decay is not None),
        None,
        cut.legs,
    )
    if cut.remainder:
        state, last = _play_leg(cut, cut.remainder, *rest, state)
        looks = jax.tree.map(lambda a, b: jnp.concatenate([a, b[None]]), looks, last)
    return state, looks


def _facts(problem: Problem, algorithm: Algorithm) -> Facts:
    """What the algorithm has declared to read about clients, and no more."""
    facts: Facts = {}
    if Knowledge.SIZES in algorithm.reads:
        facts["size"] = jnp.asarray(problem.clients.train.lengths, jnp.float32)
    if Knowledge.LAW in algorithm.reads:
        facts["inclusion"] = jnp.asarray(problem.law.inclusion().values, jnp.float32)
        facts["weight"] = jnp.asarray(problem.law.weights().values, jnp.float32)
    return facts
