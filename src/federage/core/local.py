"""Work: what one client does between two communications.

    v_0     = broadcast
    g_k     = grad_v risk(losses, v_k; batch_k)            batch_k uniform over the size-b subsets of the client's data
    v_{k+1} = v_k + local(correction(g_k))                 k = 0, ..., K-1; `local` may end in a projection
    report  = v_K - v_0, and what the correction has to say

Reference: Algorithms 1 and 2, "Local updates", with K = H-1 counted explicitly.
"""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import optax
from jaxtyping import Array, Int

from federage.core.algorithm import Algorithm, Batch, Report, Step
from federage.core.foresight import batch_rows, client_rows
from federage.core.problem import Problem
from federage.core.randomness import at
from federage.core.types import PyTree, Vars

_UNROLLED = 5  # steps in a row without the loop's copies between them, where that divides K (`benchmarks/README.md`)
_GATHERED_AT_ONCE = 32 * 2**20  # bytes a client: below this a round's batches are gathered in one operation


def local_update(
    algorithm: Algorithm,
    problem: Problem,
    broadcast: Vars,
    server: PyTree,
    client_memory: PyTree,
    client: Int[Array, ""],
    key: Array,
    rows: Int[Array, "steps batch"] | None = None,
    longest: Int[Array, ""] | int = 0,
) -> tuple[Report, PyTree]:
    """Train one client from the broadcast.

    Args:
      algorithm: whose risk, correction and local step are taken.
      problem: whose model, data, batch size and number of local steps.
      broadcast: v as the server sent it.
      server: the correction's memory at the server, broadcast along.
      client_memory: the correction's memory at this client.
      client: its id.
      key: the mini-batches' key at (seed, round).
      rows: the training rows of its mini-batches, where they were foreseen; else they are drawn from `key`.
      longest: where clients differ in their number of local steps, the most that any of this cohort takes.

    Returns:
      The report, and the client's new memory.
    """
    risk, correction, local = algorithm.risk, algorithm.correction, algorithm.local
    key = at(key, client)

    def descend(v: Vars, batch: Batch) -> tuple[Array, Step]:
        return risk.objective(problem.losses, v.theta, v.dual, batch)

    def step(carry: Any, batch: Batch) -> tuple[Any, Step]:
        v, memory, scratch = carry
        gradient, told = jax.grad(descend, has_aux=True)(v, batch)
        gradient, scratch = correction.direct(gradient, v, scratch)
        updates, memory = local.update(gradient, memory, v)
        return (optax.apply_updates(v, updates), memory, scratch), told

    start = (broadcast, local.init(broadcast), correction.start(broadcast, server, client_memory))
    if problem.steps_each is None:
        steps = jnp.asarray(problem.local_steps)
        rows = client_rows(problem, client, key) if rows is None else rows
        (v, _, scratch), told = _fixed_number(problem, step, start, rows)
    else:
        steps = problem.steps_each[client]
        (v, _, scratch), told = _own_number(problem, step, start, client, key, steps, longest)
    client_memory, message = correction.finish(broadcast, v, scratch, server, client_memory, steps)
    delta = jax.tree.map(jnp.subtract, v, broadcast)
    return Report(delta, message, steps, told), client_memory


def _fixed_number(problem: Problem, step: Any, start: Any, rows: Array) -> tuple[Any, Step]:
    """All clients take the same number of steps: a scan, over the batches themselves where they fit."""
    at_once = problem.bytes_per_example * rows.size <= _GATHERED_AT_ONCE

    def take(carry: Any, which: Any) -> tuple[Any, Step]:
        return step(carry, problem.inputs(which if at_once else problem.gather(which)))

    unroll = _UNROLLED if rows.shape[0] % _UNROLLED == 0 else 1
    end, told = jax.lax.scan(take, start, problem.gather(rows) if at_once else rows, unroll=unroll)
    return end, jax.tree.map(jnp.mean, told)


def _own_number(
    problem: Problem, step: Any, start: Any, client: Array, key: Array, steps: Array, longest: Array | int
) -> tuple[Any, Step]:
    """Clients differ: all go on until the longest is done, and a client that is done stands still."""

    def once(k: Array, carry: Any) -> Any:
        old, total = carry
        new, told = step(old, problem.inputs(problem.gather(batch_rows(problem, client, at(key, k)))))
        busy = k < steps
        keep = jax.tree.map(lambda a, b: jnp.where(busy, a, b), new, old)
        return keep, jax.tree.map(lambda t, s: s + jnp.where(busy, t, 0), told, total)

    end, total = jax.lax.fori_loop(0, longest, once, (start, Step(jnp.zeros(()), jnp.zeros(()))))
    return end, jax.tree.map(lambda t: t / steps, total)
