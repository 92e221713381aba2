"""What a run carries from round to round; nothing else is remembered."""

from __future__ import annotations

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Int

from federage.core.algorithm import Algorithm, Knowledge
from federage.core.problem import Problem
from federage.core.randomness import Purpose, stream
from federage.core.types import PyTree, Vars
from federage.errors import KnowledgeError


class Memory(NamedTuple):
    """A part's memory: the server's own, and one entry a client along a leading axis [N, ...]."""

    server: PyTree
    clients: PyTree


class State(NamedTuple):
    """Everything the next round needs.

    Attributes:
      round: rounds played.
      vars: the last checkpoint v = (theta, dual), as broadcast.
      average: the mean of the checkpoints of all rounds played: what Algorithms 1 and 2 return.
      smooth: their exponential average, or () if none was asked for.
      server: the server optimizer's memory.
      correction: the correction's memory.
      aggregation: the aggregation's memory.
      law: the law's memory.
      heard: how often each client has got through.
      broke: the first round after which a checkpoint was not finite, or -1.
    """

    round: Int[Array, ""]
    vars: Vars
    average: Vars
    smooth: Any
    server: PyTree
    correction: Memory
    aggregation: Memory
    law: PyTree
    heard: Int[Array, " clients"]
    broke: Int[Array, ""]


def initial(algorithm: Algorithm, problem: Problem, seed: Array, smooth: bool) -> State:
    """The state before the first round; initial weights depend on the seed alone."""
    clients = len(problem.clients)
    start = Vars(problem.init(stream(seed, Purpose.WEIGHTS)), algorithm.risk.init())
    correction = _memory(algorithm.correction.init(start), clients)
    aggregation = _memory(algorithm.aggregation.init(start), clients)
    _declared(correction, algorithm.correction.reads, Knowledge.CLIENT_MEMORY, "correction")
    _declared(aggregation, algorithm.aggregation.reads, Knowledge.SERVER_MEMORY, "aggregation")
    return State(
        round=jnp.zeros((), jnp.int32),
        vars=start,
        average=jax.tree.map(jnp.zeros_like, start),
        smooth=start if smooth else (),
        server=algorithm.server.init(start),
        correction=correction,
        aggregation=aggregation,
        law=problem.law.init(stream(seed, Purpose.LAW)),
        heard=jnp.zeros(clients, jnp.int32),
        broke=jnp.full((), -1, jnp.int32),
    )


def _memory(prototype: tuple[PyTree, PyTree], clients: int) -> Memory:
    server, one = prototype
    return Memory(server, jax.tree.map(lambda a: jnp.broadcast_to(a, (clients, *jnp.shape(a))), one))


def _declared(memory: Memory, reads: frozenset[Knowledge], needed: Knowledge, part: str) -> None:
    if jax.tree.leaves(memory.clients) and needed not in reads:
        raise KnowledgeError(
            f"the {part} keeps an entry a client, but does not declare {needed!s} in its `reads`; declare it"
        )
