"""Fixed size with given inclusion probabilities."""

from __future__ import annotations

import math

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, UInt32
from numpy.typing import ArrayLike

from federage.core.record import fill, static
from federage.core.types import Cohort, Marginals, PyTree
from federage.errors import RecordError
from federage.participation import checks
from federage.participation.law import record


@record
class Prescribed:
    """M clients with P(i in S) = inclusion[i] exactly, by systematic sampling.

    Lay the inclusion probabilities end to end on [0, M], in an order shuffled once by `seed`; draw u uniform in [0, 1)
    and take the clients that own u, u + 1, ..., u + M - 1. Intervals are no longer than 1, so nobody is taken twice.
    The inclusion probabilities do not fix R(S): joint probabilities are those of systematic sampling, under which many
    pairs never meet; another `seed` gives another R(S) of the same pi.

    Positions are 64-bit integers in two words, f bits of them behind the point: cumulative sums in float32 would lose
    clients at N = 1,000,000. A draw costs O(M log N).

    Args:
        inclusion: One number in [0, 1] a client; they sum to an integer M.
        seed: Of the order of the clients.
    """

    clients: int = static()
    capacity: int = static()
    typical: int = static()
    target: Float[Array, " clients"]
    order: Int[Array, " clients"]
    high: UInt32[Array, " clients"]
    low: UInt32[Array, " clients"]

    def __init__(self, inclusion: ArrayLike, seed: int = 0):
        target = checks.probabilities("inclusion", inclusion)
        size = round(float(target.sum()))
        if size < 1 or abs(target.sum() - size) > 1e-6 * size:
            raise RecordError(
                f"inclusion takes numbers that sum to an integer M >= 1, but they sum to {target.sum():.9g}; "
                "rescale them (Coins has a random size)"
            )
        units = _exactly(target, size, _fraction_bits(size))
        order = np.random.default_rng(seed).permutation(target.size)
        ends = np.cumsum(units[order])
        fill(
            self,
            clients=target.size,
            capacity=size,
            typical=size,
            target=np.ldexp(units, -_fraction_bits(size)),
            order=jnp.asarray(order, jnp.int32),
            high=jnp.asarray(ends >> 32, jnp.uint32),
            low=jnp.asarray(ends & 0xFFFFFFFF, jnp.uint32),
        )

    def init(self, key: Array) -> PyTree:
        return ()

    def draw(self, state: PyTree, key: Array, round: Array | int) -> tuple[PyTree, Cohort]:
        bits = _fraction_bits(self.capacity) - 32
        word, low = jax.random.bits(key, (2,), jnp.uint32)
        number = jnp.arange(self.capacity, dtype=jnp.uint32)
        place = self._owner((number << bits) | (word & ((1 << bits) - 1)), low)
        return state, Cohort(jnp.sort(self.order[place]), jnp.int32(self.capacity))

    def _owner(self, high: UInt32[Array, " points"], low: UInt32[Array, ""]) -> Int[Array, " points"]:
        """Per point, the first interval that ends beyond it: bisection, all points at once."""

        def halve(_: Array, bounds: tuple[Array, Array]) -> tuple[Array, Array]:
            least, most = bounds
            middle = (least + most) // 2
            beyond = (self.high[middle] > high) | ((self.high[middle] == high) & (self.low[middle] > low))
            return jnp.where(beyond, least, middle + 1), jnp.where(beyond, middle, most)

        bounds = jnp.zeros(high.shape, jnp.int32), jnp.full(high.shape, self.clients - 1, jnp.int32)
        return jax.lax.fori_loop(0, math.ceil(math.log2(self.clients)), halve, bounds, unroll=True)[0]

    def inclusion(self) -> Marginals:
        return Marginals(np.array(self.target, np.float64), "by definition")

    def weights(self) -> Marginals:
        target = np.array(self.target, np.float64)
        return Marginals(target / target.sum(), "by definition")


def _fraction_bits(size: int) -> int:
    """As many as leave room for the integers up to M in 63 bits."""
    return 62 - size.bit_length()


def _exactly(target: np.ndarray, size: int, bits: int) -> np.ndarray:
    """Integers near target * 2^bits that sum to size * 2^bits; 0 and 1 stay what they are."""
    one = 1 << bits
    units = np.rint(np.ldexp(target, bits)).astype(np.int64)
    excess = int(units.sum()) - size * one
    room = np.minimum(units, one - units)
    if excess:
        units -= (room * (excess / room.sum(dtype=np.float64))).astype(np.int64)
        excess = int(units.sum()) - size * one
        units[np.argsort(room)[::-1][: abs(excess)]] -= np.sign(excess)
    return units
