"""One leg of many runs, as a compiled program.

A leg is so many rounds of `lax.scan`, and then one look. Runs (a method's numbers and a seed) are a `vmap` axis, split
over the devices where there are several. A program is traced and compiled once: for the shapes, not for the numbers.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax.sharding import Mesh, PartitionSpec
from jaxtyping import Array

from federage.core import devices
from federage.core.algorithm import Algorithm, Facts, Method
from federage.core.foresight import Foreseen, block, foresee
from federage.core.look import Leg, Look, leg, look
from federage.core.plan import Watched
from federage.core.problem import Problem
from federage.core.round import Work, play
from federage.core.state import State, initial

Looks = tuple[Leg, dict[str, Look]]

_KEPT = 64  # programs; each holds hundreds of memory maps of the 65,530 Linux gives a process, past which XLA crashes


class Runs(NamedTuple):
    """Runs of one kind, along a leading axis: methods of the same structure, and a seed for each."""

    methods: Method
    seeds: Array


class Begin(NamedTuple):
    """The program that makes the state before the first round, when there is nothing to look at."""

    smooth: bool

    def __call__(
        self, problem: Problem, facts: Facts, algorithm: Algorithm, seed: Array, state: None
    ) -> tuple[State, tuple[()]]:
        return initial(algorithm, problem, seed, self.smooth), ()


class PlayLeg(NamedTuple):
    """The program of one leg; the look it ends with gets an axis of length one, to be joined to the others'."""

    rounds: int
    watch: tuple[Watched, ...]
    decay: float | None

    def __call__(
        self, problem: Problem, facts: Facts, algorithm: Algorithm, seed: Array, state: State
    ) -> tuple[State, Looks]:
        ahead = block(problem, self.rounds)

        def once(state: State, draws: Foreseen) -> tuple[State, Work]:
            return play(algorithm, problem, facts, seed, state, draws, self.decay)

        def some(state: State, _: None) -> tuple[State, Work]:
            law, draws = foresee(problem, seed, state.law, state.round, ahead)
            return jax.lax.scan(once, state._replace(law=law), draws)

        state, works = jax.lax.scan(some, state, None, self.rounds // ahead)
        points = {"last": state.vars, "average": state.average, "smooth": state.smooth}
        looks = leg(state.round, works, state.vars), {name: look(problem, points[name]) for name in self.watch}
        return state, jax.tree.map(lambda a: a[None], looks)


Program = Begin | PlayLeg


def compiled(program: Program, problem: Problem, facts: Facts, runs: Runs, states: Any) -> Callable[..., Any]:
    """The program for arguments that look like these, compiled by the caller's thread for any thread to call."""
    mesh = devices.mesh(len(runs.seeds))
    if mesh is not None:
        return _jitted(program, mesh)  # where the arguments lie is part of what is compiled, which JAX does best itself
    leaves, structure = jax.tree.flatten((appearance((problem, facts, runs)), states))
    context = (jax.config.read("jax_enable_x64"), jax.default_backend())
    return _executable(program, structure, tuple(leaves), context)


def appearance(tree: Any) -> Any:
    """Shapes and dtypes in place of arrays."""
    return jax.tree.map(lambda a: jax.ShapeDtypeStruct(a.shape, a.dtype, weak_type=jax.typeof(a).weak_type), tree)


@functools.lru_cache(maxsize=_KEPT)
def _executable(program: Program, structure: Any, leaves: tuple[Any, ...], context: Any) -> Callable[..., Any]:
    """Compile; `context` is what else the compiled program depends on."""
    shared, states = jax.tree.unflatten(structure, leaves)
    return _jitted(program, None).lower(*shared, states).compile()


@functools.lru_cache(maxsize=_KEPT)
def _jitted(program: Program, mesh: Mesh | None) -> Any:
    def batched(problem: Problem, facts: Facts, runs: Runs, states: State | None) -> Any:
        def one(runs: Runs, state: Any) -> Any:
            with jax.default_matmul_precision(problem.precision):
                return program(problem, facts, runs.methods.parts(), runs.seeds, state)

        return _each(one, runs, states)

    if mesh is not None:
        each, every = PartitionSpec(devices.AXIS), PartitionSpec()
        batched = jax.shard_map(
            batched, mesh=mesh, in_specs=(every, every, each, each), out_specs=each, check_vma=False
        )
    return jax.jit(batched, compiler_options=devices.compiler_options())


def _each(one: Callable[[Runs, Any], Any], runs: Runs, states: Any) -> Any:
    """Batch the runs, but leave a single one without a batch axis.

    The axis would keep XLA from folding the transposes of gradients into products (`benchmarks/README.md`).
    """
    if runs.seeds.shape[0] > 1:
        return jax.vmap(one)(runs, states)
    alone = jax.tree.map(lambda a: a[0], (runs, states))
    return jax.tree.map(lambda a: jnp.expand_dims(a, 0), one(*alone))
