"""What an algorithm is: the parts in which it differs from FedAvg.

A round is *admit* (the law), *work* (`risk`, `correction`, `local`), *merge* (`aggregation`), *learn* (`server`, and
whatever memory the parts keep). A part is a few pure functions in a NamedTuple; the engine plays them all and knows
no algorithm by name.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum
from typing import Any, NamedTuple, Protocol, runtime_checkable

import optax
from jaxtyping import Array, Float, Int

from federage.core.types import PyTree, Vars
from federage.errors import KnowledgeError

Batch = tuple[Array, Array]
Losses = Callable[[PyTree, Batch], Float[Array, " batch"]]
Facts = dict[str, Array]  # what the engine hands out about clients, by name: arrays [N]


class Knowledge(StrEnum):
    """What a method may read of the world beyond the arrivals' updates; each is declared in a part's `reads`."""

    CLIENT_MEMORY = "client memory"
    SERVER_MEMORY = "server memory by client"
    SIZES = "client sizes"
    LAW = "the law"


class Step(NamedTuple):
    """What a local step tells the reader, never the algorithm: the batch's mean loss, and if it was in the tail."""

    loss: Float[Array, ""]
    tail: Float[Array, ""]


class Report(NamedTuple):
    """What one arrival sends: its change of v, what its correction has to say, and how the work went."""

    delta: Vars
    message: PyTree
    steps: Int[Array, ""]
    mean: Step


class Known:
    """What `Aggregation.encode` may ask about an arrival, and nothing else.

    `known.clients` (N) and `known.round` (rounds played before this one) are public; `known.size` (n_i),
    `known.inclusion` (pi_i) and `known.weight` (p_i) exist only for a part that declares to read them.
    """

    def __init__(self, clients: int, round: Int[Array, ""], **facts: Any) -> None:
        self.clients = clients
        self.round = round
        self.__dict__.update(facts)

    def __getattr__(self, name: str) -> Any:
        raise KnowledgeError(
            f"the aggregation reads known.{name}, which is not in its declared `reads`; declare it there"
        )


class Risk(NamedTuple):
    """What a client descends.

    Attributes:
      init: the risk's own scalars at the start, `dual`.
      objective: (losses, theta, dual, batch) -> (value to descend, Step), where losses(theta, batch) are by example.
    """

    init: Callable[[], PyTree]
    objective: Callable[[Losses, PyTree, PyTree, Batch], tuple[Float[Array, ""], Step]]


class Correction(NamedTuple):
    """What is added to a client's gradient, and remembered.

    Attributes:
      init: vars -> (the server's memory, one client's memory).
      start: (broadcast, server, client) -> scratch for one round of local work.
      direct: (gradient, v, scratch) -> (corrected gradient, scratch).
      finish: (broadcast, v, scratch, server, client, steps) -> (the client's new memory, message to the server).
      absorb: (server, sum of the arrivals' messages, N) -> the server's new memory.
    """

    init: Callable[[Vars], tuple[PyTree, PyTree]]
    start: Callable[[Vars, PyTree, PyTree], PyTree]
    direct: Callable[[Vars, Vars, PyTree], tuple[Vars, PyTree]]
    finish: Callable[[Vars, Vars, PyTree, PyTree, PyTree, Int[Array, ""]], tuple[PyTree, PyTree]]
    absorb: Callable[[PyTree, PyTree, int], PyTree]
    reads: frozenset[Knowledge] = frozenset()


class Aggregation(NamedTuple):
    """What becomes of the reports: each is encoded, the encodings are *summed* over the arrivals, the sum is read.

    A sum can be taken in pieces and in any grouping: that is what lets a cohort of any size be worked off in chunks,
    and lets the server see no single report where it must not.

    Attributes:
      init: vars -> (the server's memory, the server's memory of one client).
      encode: (report, memory of this client, known) -> (summand, new memory of this client).
      combine: (sum, server's memory) -> (update of v, server's new memory).
    """

    init: Callable[[Vars], tuple[PyTree, PyTree]]
    encode: Callable[[Report, PyTree, Known], tuple[PyTree, PyTree]]
    combine: Callable[[PyTree, PyTree], tuple[Vars, PyTree]]
    reads: frozenset[Knowledge] = frozenset()


class Algorithm(NamedTuple):
    """A method, as the five words in which it may differ from FedAvg."""

    local: optax.GradientTransformation
    risk: Risk
    correction: Correction
    aggregation: Aggregation
    server: optax.GradientTransformation

    @property
    def reads(self) -> frozenset[Knowledge]:
        return self.correction.reads | self.aggregation.reads


@runtime_checkable
class Method(Protocol):
    """A record that names an algorithm and its numbers: `FedAvg(lr=.1)`."""

    def parts(self) -> Algorithm: ...
