"""Uniform numbers that are fine near zero.

`jax.random.uniform` has 2^23 values: an event of probability 1e-8 would happen with probability 1.2e-7 (when the
draw is exactly 0) or never. Rare clients are the point of this package, so their coins are tossed with 64 bits.
"""

from __future__ import annotations

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float


def uniform(key: Array, shape: tuple[int, ...] = ()) -> Float[Array, " *shape"]:
    """Uniform in (0, 1): P(u < x) = x within a relative 1e-7, down to x = 1e-19.

    The first word gives u in steps of 2^-32; where it is small, float32 has digits left, which the second word fills.
    """
    high, low = jax.random.bits(key, (2, *shape), jnp.uint32)
    u = (high.astype(jnp.float32) + (low.astype(jnp.float32) + 0.5) * 2.0**-32) * 2.0**-32
    return jnp.minimum(u, 1 - 2.0**-24)
