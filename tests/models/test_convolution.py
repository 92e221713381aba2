"""Convolutions by tiles are convolutions: against XLA's own, in value and gradient, and against NumPy."""

from typing import Any

import jax
import jax.numpy as jnp
import nets_by_hand as by_hand
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from federage.models.convolution import convolve, convolve_and_pool, group_norm, pool_output

CLOSE = 2e-6
"""Of the largest value: sums of at most a few thousand products, in another order, at 6e-8 each."""


def reference(x: jax.Array, kernel: jax.Array, padding: int, pool: int) -> jax.Array:
    sides = [(padding, padding)] * 2
    layout = ("NHWC", "HWIO", "NHWC")
    out = jax.lax.conv_general_dilated(x, kernel, (1, 1), sides, dimension_numbers=layout, precision="highest")
    window = (1, pool, pool, 1)
    return jax.lax.reduce_window(out, -jnp.inf, jax.lax.max, window, window, "VALID")


def assert_close(a: Any, b: Any) -> None:
    for x, y in zip(jax.tree.leaves(a), jax.tree.leaves(b), strict=True):
        assert x.shape == y.shape
        np.testing.assert_allclose(x, y, rtol=0, atol=CLOSE * max(1.0, float(np.abs(y).max(initial=0))))


def normal(seed: int, *shape: int) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=shape).astype(np.float32)


TABLE = [
    # height, width, kernel, inputs, outputs, padding, pool
    (28, 28, 5, 1, 6, 2, 2),
    (14, 14, 5, 6, 16, 2, 2),
    (9, 11, 3, 2, 3, 0, 2),  # 7 x 9 outputs: the last row and column are cut off
    (8, 7, 3, 1, 5, 1, 3),
    (6, 6, 3, 4, 70, 1, 1),
    (5, 5, 5, 3, 2, 0, 1),  # one output
    (4, 9, 1, 2, 2, 0, 2),
    (7, 5, 2, 1, 1, 3, 2),  # padding wider than the kernel
]


@pytest.mark.parametrize(("height", "width", "size", "inputs", "outputs", "padding", "pool"), TABLE)
def test_values_and_gradients(height: int, width: int, size: int, inputs: int, outputs: int, padding: int, pool: int):
    x, kernel = normal(0, 3, height, width, inputs), normal(1, size, size, inputs, outputs)
    shape = (3, *(pool_output(side, size, padding, pool) for side in (height, width)), outputs)
    direction = normal(2, *shape)

    @jax.jit
    def both(x: jax.Array, kernel: jax.Array) -> Any:
        pair = []
        for layer in (convolve_and_pool, reference):
            value, pull = jax.vjp(lambda x, kernel, layer=layer: layer(x, kernel, padding, pool), x, kernel)
            pair.append((value, *pull(direction)))
        return pair

    tiles, plain = both(x, kernel)
    assert tiles[0].shape == shape
    assert_close(tiles, plain)


def test_clients_with_kernels_of_their_own():
    """The case they are made for: a `vmap` over kernels and inputs, with its gradients."""
    x, kernels = normal(0, 4, 2, 9, 8, 2), normal(1, 4, 3, 3, 2, 3)

    @jax.jit
    def both(x: jax.Array, kernels: jax.Array) -> Any:
        def summed(layer: Any) -> Any:
            return lambda x, kernel: jnp.sum(jnp.sin(layer(x, kernel, 1, 2)))

        return [
            jax.vmap(jax.value_and_grad(summed(f), argnums=(0, 1)))(x, kernels) for f in (convolve_and_pool, reference)
        ]

    tiles, plain = both(x, kernels)
    assert_close(tiles, plain)


@settings(max_examples=10, deadline=None)
@given(st.data())
def test_any_shape(data: st.DataObject):
    """Against NumPy, also where pooling cuts off and where padding is all that a window sees."""
    size, pool, padding = (data.draw(st.integers(low, 4)) for low in (1, 1, 0))
    least = max(1, size + pool - 1 - 2 * padding)
    height, width = (data.draw(st.integers(least, least + 6)) for _ in range(2))
    batch, inputs, outputs = (data.draw(st.integers(1, 3)) for _ in range(3))
    x, kernel = normal(0, batch, height, width, inputs), normal(1, size, size, inputs, outputs)
    expected = by_hand.max_pool(by_hand.convolution(x, kernel, padding), pool)
    assert_close(jax.jit(convolve_and_pool, static_argnums=(2, 3))(x, kernel, padding, pool), expected)


def test_convolve_is_not_pooled():
    x, kernel = normal(0, 2, 6, 5, 2), normal(1, 3, 3, 2, 3)
    assert_close(jax.jit(convolve, static_argnums=2)(x, kernel, 1), by_hand.convolution(x, kernel, 1))


@pytest.mark.parametrize(("channels", "groups"), [(6, 1), (6, 3), (6, 6)])
def test_group_norm(channels: int, groups: int):
    x = 3 + 2 * normal(0, 4, 5, 7, channels)
    scale, shift = normal(1, channels), normal(2, channels)
    assert_close(group_norm(jnp.asarray(x), scale, shift, groups), by_hand.group_norm(x, scale, shift, groups))


def test_group_norm_of_a_constant_image_is_its_shift():
    """No variance to divide by: epsilon keeps value and gradient finite."""
    x, shift = jnp.full((1, 4, 4, 2), 7.0), jnp.array([1.0, -2.0])
    np.testing.assert_array_equal(group_norm(x, jnp.ones(2), shift, 1)[0, 0, 0], shift)
    assert jnp.isfinite(jax.grad(lambda x: group_norm(x, jnp.ones(2), shift, 1).sum())(x)).all()
