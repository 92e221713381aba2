"""A cast: the runs of one kind (methods x seeds), and how they are played together, leg by leg."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, NamedTuple, Self

import jax
import jax.numpy as jnp
import numpy as np

from federage.core import devices, processes
from federage.core.algorithm import Algorithm, Facts, Knowledge, Method
from federage.core.plan import Plan, seeds_of
from federage.core.problem import Problem
from federage.core.program import Begin, Looks, PlayLeg, Program, Runs, appearance, compiled
from federage.core.record import record, static
from federage.core.state import State
from federage.errors import ProcessError, RecordError

_CACHE = 2**16  # bytes of the arrivals' models, about what a CPU core's nearest cache holds


@record
class Composed:
    """A bare `Algorithm`, made a method: it has no numbers to sweep."""

    algorithm: Algorithm = static()

    def parts(self) -> Algorithm:
        return self.algorithm


class Moment(NamedTuple):
    """The runs between two legs: rounds played, and by group of runs the states and the leg's look."""

    round: int
    states: list[State]
    looks: list[Looks]


class Cast(NamedTuple):
    """The runs of one program: methods that differ in their numbers only, seeds, and everything they share.

    Runs are numbered method by method, and seed by seed within a method.
    """

    problem: Problem
    methods: tuple[Method, ...]
    seeds: tuple[int, ...]
    facts: Facts

    @classmethod
    def of(cls, problem: Problem, methods: Sequence[Method | Algorithm], seeds: int | Sequence[int]) -> Self:
        cast = tuple(Composed(m) if isinstance(m, Algorithm) else m for m in methods)
        if not cast:
            raise RecordError("no method was given; pass at least one record, such as FedAvg(lr=.1)")
        kinds = {jax.tree.structure(m) for m in cast}
        if len(kinds) > 1:
            names = ", ".join(sorted({type(m).__name__ for m in cast}))
            raise RecordError(
                f"one sweep takes records of one kind that differ in numbers only, but came {names}; sweep each kind"
            )
        facts = _facts(problem, cast[0].parts())
        return cls(jax.tree.map(jnp.asarray, problem), cast, seeds_of(seeds), facts)

    @property
    def runs(self) -> int:
        return len(self.methods) * len(self.seeds)

    def legs(self, cut: Plan, done: int = 0, state: State | None = None) -> Iterator[Moment]:
        """Play the legs that are left after `done` rounds, yielding after each while the next is under way.

        Groups of runs go their own ways in threads: a group's leg waits for its own leg before, not for the others.
        """
        if len(starts := set(processes.words(done))) > 1:
            raise ProcessError(
                f"the processes go on from different rounds, {sorted(starts)}; give each the same start, from a folder "
                "that all can read"
            )
        groups = self.groups()
        with ThreadPoolExecutor(min(devices.threads(), len(groups)), thread_name_prefix="runs") as pool:

            def submit(program: Program, like: Any, before: list[Future[Any]]) -> list[Future[Any]]:
                play = compiled(program, self.problem, self.facts, groups[0], like)

                def once(runs: Runs, before: Future[Any]) -> Any:
                    # Threads take jobs in the order of submission, so what this one waits for has been started.
                    return jax.block_until_ready(play(self.problem, self.facts, runs, before.result()[0]))

                return [pool.submit(once, runs, b) for runs, b in zip(groups, before, strict=True)]

            if state is None:
                latest = submit(Begin(cut.decay is not None), None, [_known(None)] * len(groups))
            else:
                latest = [_known(part) for part in self._split(state, groups)]
            like = appearance(latest[0].result()[0])
            under_way: deque[tuple[int, list[Future[Any]]]] = deque()
            try:
                for length in cut.lengths(done):
                    done += length
                    latest = submit(PlayLeg(length, cut.watch, cut.decay), like, latest)
                    under_way.append((done, latest))
                    if len(under_way) > 1:
                        yield self._moment(*under_way.popleft())
                while under_way:
                    yield self._moment(*under_way.popleft())
            finally:
                pool.shutdown(cancel_futures=True)

    def groups(self) -> list[Runs]:
        """This process's share of the runs, in groups of one width, one program each."""
        methods = [m for m in self.methods for _ in self.seeds]
        seeds = list(self.seeds) * len(self.methods)
        groups = []
        for which in self._shared(self._width()):
            stacked = jax.tree.map(_stack, *[methods[k] for k in which])
            groups.append(Runs(stacked, jnp.asarray([seeds[k] for k in which], jnp.uint32)))
        return groups

    def _shared(self, width: int) -> list[list[int]]:
        """The runs of each of this process's groups; the last run fills up the last group."""
        starts = range(0, self.runs, width)
        return processes.share([[min(k, self.runs - 1) for k in range(start, start + width)] for start in starts])

    def _width(self) -> int:
        """How many runs to batch in one program.

        On an accelerator all that fall to a process, filled up to a multiple of its devices. On a CPU batching saves
        dispatch, which is most of a tiny model's time; but once the arrivals' models fill the nearest cache, one run
        after another is faster; how many processes there are does not show.
        """
        if jax.default_backend() != "cpu" or len(jax.local_devices()) > 1:
            runs = -(-self.runs // jax.process_count())
            split = min(runs, len(jax.local_devices()))
            return -(-runs // split) * split
        theta = jax.eval_shape(self.problem.init, jax.random.key(0))
        model = sum(leaf.size * leaf.dtype.itemsize for leaf in jax.tree.leaves(theta))
        fits = max(1, _CACHE // (model * self.problem.arrivals_at_once))
        threads = processes.words(devices.threads())[0]  # all cut as process 0 does
        groups = -(-self.runs // min(fits, -(-self.runs // threads)))
        return -(-self.runs // groups)

    def _split(self, state: State, groups: list[Runs]) -> list[State]:
        """The states by group, filled up like the groups."""
        rows = self._shared(len(groups[0].seeds))
        return [jax.tree.map(lambda a, which=which: np.asarray(a)[which], state) for which in rows]

    def _moment(self, done: int, futures: list[Future[Any]]) -> Moment:
        played = [future.result() for future in futures]
        return Moment(done, [state for state, _ in played], [looks for _, looks in played])

    def on_host(self, parts: list[Any]) -> Any:
        """What came by group, of all processes, as one tree of NumPy arrays, runs first."""
        every = processes.gather(jax.device_get(parts))
        return jax.tree.map(lambda *leaves: np.concatenate(leaves)[: self.runs], *every)


def _known(state: Any) -> Future[Any]:
    """What need not be waited for."""
    future: Future[Any] = Future()
    future.set_result((state, ()))
    return future


def _stack(*numbers: Any) -> jax.Array:
    return jnp.stack([jnp.asarray(a, jnp.float32) for a in numbers])


def _facts(problem: Problem, algorithm: Algorithm) -> Facts:
    """What the algorithm has declared to read about clients, and no more."""
    facts: Facts = {}
    if Knowledge.SIZES in algorithm.reads:
        facts["size"] = jnp.asarray(problem.clients.train.lengths, jnp.float32)
    if Knowledge.LAW in algorithm.reads:
        facts["inclusion"] = jnp.asarray(problem.law.inclusion().values, jnp.float32)
        facts["weight"] = jnp.asarray(problem.law.weights().values, jnp.float32)
    return facts
