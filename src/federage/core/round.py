"""One round, played: admit, work, merge, learn.

    S            ~ law                                       admit (`foresight`)
    reports_i    = local_update(broadcast), i in S           work: only the arrivals are trained
    update       = combine(sum_{i in S} encode(report_i))    merge
    v           <- v + server(-update)                       learn: the pseudo-gradient is -update

Reference: Algorithms 1 and 2, "Global communication", with the server's plain average written as an optimizer's step of
length one along the mean change (as Reddi et al., arXiv:2003.00295, Algorithm 1). The two agree up to rounding.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import optax
from jaxtyping import Array, Int

from federage.core.algorithm import Algorithm, Facts, Known, Report, Step
from federage.core.foresight import Foreseen, seats
from federage.core.local import local_update
from federage.core.problem import Problem
from federage.core.randomness import Purpose, at, stream
from federage.core.state import Memory, State
from federage.core.types import PyTree


class Work(NamedTuple):
    """How a round's local work went, summed over the arrivals."""

    arrivals: Array
    step: Step  # each arrival's mean over its steps


def play(
    algorithm: Algorithm,
    problem: Problem,
    facts: Facts,
    seed: Array,
    state: State,
    draws: Foreseen,
    decay: float | None = None,
) -> tuple[State, Work]:
    """Play one round with these draws; `decay` is that of the exponential average of checkpoints, if there is one."""
    batches = at(stream(seed, Purpose.BATCHES), state.round)
    total, message, work, correction, aggregation = _work_off(algorithm, problem, facts, state, draws, batches)

    update, aggregation_server = algorithm.aggregation.combine(total, aggregation.server)
    correction_server = algorithm.correction.absorb(correction.server, message, len(problem.clients))
    descent, server = algorithm.server.update(jax.tree.map(jnp.negative, update), state.server, state.vars)
    checkpoint: Any = optax.apply_updates(state.vars, descent)

    played = state.round + 1
    finite = jnp.all(jnp.stack([jnp.all(jnp.isfinite(leaf)) for leaf in jax.tree.leaves(checkpoint)]))
    next_state = State(
        round=played,
        vars=checkpoint,
        average=jax.tree.map(lambda mean, new: mean + (new - mean) / played, state.average, checkpoint),
        smooth=()
        if decay is None
        else jax.tree.map(lambda a, b: decay * a + (1 - decay) * b, state.smooth, checkpoint),
        server=server,
        correction=correction._replace(server=correction_server),
        aggregation=aggregation._replace(server=aggregation_server),
        law=state.law,
        heard=state.heard.at[draws.cohort.ids].add(1, mode="drop"),
        broke=jnp.where((state.broke < 0) & ~finite, played, state.broke),
    )
    return next_state, work


def _work_off(
    algorithm: Algorithm, problem: Problem, facts: Facts, state: State, draws: Foreseen, batches: Array
) -> tuple[PyTree, PyTree, Work, Memory, Memory]:
    """Train the arrivals in chunks of a fixed width, as many as came: the cost grows with who came, not with N."""
    width, nobody = problem.arrivals_at_once, len(problem.clients)
    ids = seats(problem, draws.cohort.ids)

    def chunk(mine: Array, correction: PyTree, aggregation: PyTree) -> tuple[Any, PyTree, PyTree]:
        present = mine < nobody
        reports, kept = _train(algorithm, problem, state, mine, correction, batches, draws.rows)
        summands, noted = _encode(algorithm, state, reports, _entries(aggregation, mine), nobody, _entries(facts, mine))
        parts = (summands, reports.message, Work(jnp.ones(width), reports.mean))
        sums = jax.tree.map(lambda a: _sum_present(present, a), parts)
        return sums, _write(correction, mine, kept), _write(aggregation, mine, noted)

    tables = (state.correction.clients, state.aggregation.clients)
    if ids.shape[0] == width:
        (total, message, work), *tables = chunk(ids, *tables)
    else:
        zeros = jax.tree.map(lambda a: jnp.zeros(a.shape, a.dtype), jax.eval_shape(chunk, ids[:width], *tables)[0])

        def once(k: Array, carry: Any) -> Any:
            sums, *tables = carry
            more, *tables = chunk(jax.lax.dynamic_slice(ids, (k * width,), (width,)), *tables)
            return jax.tree.map(jnp.add, sums, more), *tables

        came = (draws.cohort.count + width - 1) // width
        (total, message, work), *tables = jax.lax.fori_loop(0, came, once, (zeros, *tables))
    return total, message, work, Memory(state.correction.server, tables[0]), Memory(state.aggregation.server, tables[1])


def _train(
    algorithm: Algorithm, problem: Problem, state: State, ids: Array, table: PyTree, batches: Array, rows: Array | None
) -> tuple[Report, PyTree]:
    """The reports of some arrivals, and their memories afterwards."""

    def one(client: Int[Array, ""], entry: PyTree, rows: Array | None) -> tuple[Report, PyTree]:
        server = state.correction.server
        return local_update(algorithm, problem, state.vars, server, entry, client, batches, rows, longest)

    steps = problem.steps_each
    longest = 0 if steps is None else jnp.max(jnp.where(ids < len(problem.clients), steps[ids], 0))
    return jax.vmap(one)(ids, _entries(table, ids), rows)


def _encode(
    algorithm: Algorithm, state: State, reports: Report, entries: PyTree, clients: int, facts: Facts
) -> tuple[PyTree, PyTree]:
    def one(report: Report, entry: PyTree, facts: Facts) -> tuple[PyTree, PyTree]:
        return algorithm.aggregation.encode(report, entry, Known(clients, state.round, **facts))

    return jax.vmap(one)(reports, entries, facts)


def _sum_present(present: Array, values: Array) -> Array:
    """Sum over the arrivals; what was computed for padding is dropped, finite or not."""
    mask = present.reshape(-1, *[1] * (values.ndim - 1))
    return jnp.sum(jnp.where(mask, values, 0), axis=0)


def _entries(table: PyTree, ids: Array) -> PyTree:
    return jax.tree.map(lambda a: a[ids], table)


def _write(table: PyTree, ids: Array, entries: PyTree) -> PyTree:
    """Put the arrivals' entries back; the padding's id N lies outside the table and is dropped."""
    return jax.tree.map(lambda a, e: a.at[ids].set(e, mode="drop"), table, entries)
