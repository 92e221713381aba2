"""Clients that come and go and stay for a while."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float
from numpy.typing import ArrayLike

from federage.core.record import fill, static
from federage.core.types import Cohort, Marginals
from federage.errors import RecordError
from federage.participation import checks, cohorts, fine
from federage.participation.coins import Coins
from federage.participation.law import record


@record
class Markov:
    """Every client is on or off, by a chain of its own; the arrivals are those who are on.

        P(off next | on) = on_to_off[i] = a_i,   P(on next | off) = off_to_on[i] = b_i

    A client is on a fraction b_i / (a_i + b_i) of the time, and forgets at the rate 1 - a_i - b_i. Rounds in which
    nobody is on do not count: time goes on until someone is. That wait needs no loop: from the moment all are off, the
    first to come on are independent coins b_i, given that someone comes.

    Started from the stationary law given that someone is on, the chain keeps it: in *every* round the arrivals have
    the law Coins(b / (a + b)), whose pi and p are therefore these; only rounds depend on each other.

    Args:
        on_to_off: a, one number in [0, 1] a client, or a scalar for everybody.
        off_to_on: b, likewise.
        clients: N, where both are scalars.
    """

    clients: int = static()
    capacity: int = static()
    typical: int = static()
    leaving: Float[Array, " clients"]
    stationary: Coins
    waking: Coins

    def __init__(self, on_to_off: ArrayLike, off_to_on: ArrayLike, clients: int | None = None):
        if clients is None:
            clients = max(np.size(on_to_off), np.size(off_to_on)) if np.ndim(on_to_off) or np.ndim(off_to_on) else None
        leaving = checks.probabilities("on_to_off", on_to_off, clients)
        coming = checks.probabilities("off_to_on", off_to_on, clients)
        moves = leaving + coming
        for at in np.flatnonzero((moves == 0) | (moves == 2))[:1]:
            raise RecordError(
                f"on_to_off and off_to_on take numbers that are not both 0 and not both 1, but client {at} has both "
                f"{leaving[at]:g}, so that it never forgets how it started; move one of them"
            )
        if not coming.any():
            raise RecordError(
                f"off_to_on takes at least one number > 0, but all {coming.size} are zero; let some client come on"
            )
        stationary = Coins(coming / moves)
        fill(
            self,
            clients=stationary.clients,
            capacity=stationary.capacity,
            typical=stationary.typical,
            leaving=leaving,
            stationary=stationary,
            waking=Coins(coming),
        )

    def init(self, key: Array) -> Bool[Array, " clients"]:
        return self.stationary.present(key)

    def draw(
        self, state: Bool[Array, " clients"], key: Array, round: Array | int
    ) -> tuple[Bool[Array, " clients"], Cohort]:
        key_step, key_wake = jax.random.split(key)
        u = fine.uniform(key_step, (self.clients,))
        stepped = jnp.where(state, u >= self.leaving, u < self.waking.chances)
        present = jax.lax.cond(stepped.any(), lambda: stepped, lambda: self.waking.present(key_wake))
        return present, cohorts.of_present(present)

    def inclusion(self) -> Marginals:
        return self.stationary.inclusion()

    def weights(self) -> Marginals:
        return self.stationary.weights()
