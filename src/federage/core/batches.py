"""Exact mini-batches: uniform over the size-b subsets of {0, ..., n-1}, at a cost that grows with b and not with n.

Floyd's algorithm draws t_j uniform on {0, ..., j} for j = n-b, ..., n-1 and keeps t_j, or j itself if t_j is already
in the set. Sequentially that takes b steps; here the question "already in the set?" is answered for all j at once.

A value v < n-b is in the set before step j exactly if some earlier t_i equals v. A value v >= n-b is in it if some
earlier t_i equals v, or if step v kept v because *its* draw was already in the set: a chain j -> t_j -> ... of
ever earlier steps. `seen` is the OR of the first condition along the chain, found by pointer doubling.
"""

from __future__ import annotations

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Int

_PAIRWISE = 256  # up to here comparing all pairs is cheaper than sorting (b^2 comparisons vectorise, a sort does not)


def draw(key: Array, population: Int[Array, ""] | int, size: int) -> Int[Array, " size"]:
    """One subset of `size` out of `population`, uniform over all such subsets.

    Reference: Bentley & Floyd, "A sample of brilliance", CACM 30(9), 1987.
    """
    step = jnp.arange(size)
    last = population - size + step  # j
    t = jax.random.randint(key, (size,), 0, last + 1)
    seen = _repeats_an_earlier(t)
    earlier_step = t - (population - size)
    link = jnp.where((earlier_step >= 0) & (earlier_step < step), earlier_step, step)
    for _ in range((size - 1).bit_length()):
        seen = seen | seen[link]
        link = link[link]
    return jnp.where(seen, last, t)


def _repeats_an_earlier(t: Int[Array, " size"]) -> Bool[Array, " size"]:
    """Whether t_i = t_j for some i < j."""
    size = t.shape[0]
    if size <= _PAIRWISE:
        earlier = jnp.tri(size, k=-1, dtype=bool)
        return jnp.any((t[:, None] == t[None, :]) & earlier, axis=1)
    order = jnp.argsort(t, stable=True)
    in_order = t[order]
    repeats = jnp.concatenate([jnp.zeros(1, bool), in_order[1:] == in_order[:-1]])
    return jnp.zeros(size, bool).at[order].set(repeats)
