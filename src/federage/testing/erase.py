"""A round the long way: train every client, then erase all but the arrivals.

All clients restart from the broadcast, so a client that does not get through leaves no trace, and the engine trains
the arrivals only. That it may is a claim about every method; here is the round of which it claims to be a shortcut.

Reference: Algorithms 1 and 2, where all clients take local steps and the server averages the arrivals.
"""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import optax
from jaxtyping import Array

from federage.core.algorithm import Algorithm, Facts, Known
from federage.core.local import local_update
from federage.core.problem import Problem
from federage.core.randomness import Purpose, at, stream
from federage.core.state import Memory, State
from federage.core.types import PyTree


def train_all_then_erase(algorithm: Algorithm, problem: Problem, facts: Facts, seed: Array, state: State) -> State:
    """One round of N clients; what only a reader looks at (averages, `broke`) is left as it was."""
    clients = len(problem.clients)
    law, cohort = problem.law.draw(state.law, at(stream(seed, Purpose.ARRIVALS), state.round), state.round)
    came = jnp.zeros(clients, bool).at[cohort.ids].set(True, mode="drop")
    batches = at(stream(seed, Purpose.BATCHES), state.round)
    longest = 0 if problem.steps_each is None else jnp.max(problem.steps_each)

    def train(client: Array, own: PyTree, noted: PyTree, known: Facts) -> Any:
        server = state.correction.server
        report, own = local_update(algorithm, problem, state.vars, server, own, client, batches, longest=longest)
        summand, noted = algorithm.aggregation.encode(report, noted, Known(clients, state.round, **known))
        return summand, report.message, own, noted

    def erased(old: Array, new: Array) -> Array:
        return jnp.where(came.reshape(-1, *[1] * (new.ndim - 1)), new, old)

    tables = (state.correction.clients, state.aggregation.clients)
    summands, messages, *new = jax.vmap(train)(jnp.arange(clients), *tables, facts)
    total, message = jax.tree.map(lambda a: erased(jnp.zeros_like(a), a).sum(axis=0), (summands, messages))
    correction, aggregation = jax.tree.map(erased, tables, tuple(new))

    update, learnt = algorithm.aggregation.combine(total, state.aggregation.server)
    descent, server = algorithm.server.update(jax.tree.map(jnp.negative, update), state.server, state.vars)
    return state._replace(
        round=state.round + 1,
        law=law,
        vars=optax.apply_updates(state.vars, descent),
        server=server,
        correction=Memory(algorithm.correction.absorb(state.correction.server, message, clients), correction),
        aggregation=Memory(learnt, aggregation),
        heard=state.heard + came,
    )
