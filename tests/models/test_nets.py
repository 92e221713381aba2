"""Every network: its forward pass in NumPy, its size by hand, its start as documented, one example at a time."""

import functools
import math
from typing import Any

import jax
import jax.numpy as jnp
import nets_by_hand as by_hand
import numpy as np
import pytest

from federage.core.types import PyTree
from federage.errors import DataError
from federage.models import MODELS, Model, cnn, hinge_svm, lenet, logistic, mlp, quadratic, small_cnn, softmax

WIDE = small_cnn((4, 8), groups=2)
GREY, COLOUR = (12, 13, 1), (9, 8, 3)
LENET = (16, 17, 2)

CASES: dict[str, tuple[Model, tuple[int, ...], Any]] = {
    "softmax": (softmax(), (4, 3, 1), lambda t, x: by_hand.dense([t], x.reshape(len(x), -1))),
    "mlp": (mlp((7, 5)), (4, 3, 1), lambda t, x: by_hand.dense(t, x.reshape(len(x), -1))),
    "leaky mlp": (mlp((7,), leak=0.2), (6,), lambda t, x: by_hand.dense(t, x, 0.2)),
    "cnn": (cnn(), GREY, lambda t, x: by_hand.pooled_cnn(t, x, padding=2)),
    "lenet": (lenet(), LENET, lambda t, x: by_hand.pooled_cnn(t, x, padding=0)),
    "small cnn": (WIDE, COLOUR, lambda t, x: by_hand.small_cnn(t, x, groups=2)),
}


def example(shape: tuple[int, ...]) -> jax.ShapeDtypeStruct:
    return jax.ShapeDtypeStruct((1, *shape), jnp.float32)


@functools.cache
def start(model: Model, shape: tuple[int, ...]) -> PyTree:
    return jax.jit(lambda key: model.init(key, example(shape), 10))(jax.random.key(0))


def shapes(model: Model, shape: tuple[int, ...], classes: int | None = 10) -> PyTree:
    """Of the parameters: nothing is computed."""
    return jax.eval_shape(lambda key: model.init(key, example(shape), classes), jax.random.key(0))


@pytest.fixture(scope="module", params=list(CASES))
def case(request: pytest.FixtureRequest) -> Any:
    """A model with random weights everywhere (biases and norms too), four inputs, its outputs, and NumPy's."""
    model, shape, by_numpy = CASES[request.param]
    rng = np.random.default_rng(0)
    theta = jax.tree.map(
        lambda a: a + np.float32(0.3) * rng.normal(size=a.shape).astype(np.float32), start(model, shape)
    )
    x = rng.normal(size=(4, *shape)).astype(np.float32)
    apply = jax.jit(model.apply)
    return model, theta, x, apply, by_numpy


def test_forward_passes_are_the_textbooks(case: Any):
    """A few thousand float32 operations on values of order one."""
    _, theta, x, apply, by_numpy = case
    expected = by_numpy(theta, x)
    assert expected.shape == (4, 10)
    np.testing.assert_allclose(apply(theta, x), expected, rtol=0, atol=3e-6 * np.abs(expected).max())


def test_no_example_sees_the_others(case: Any):
    """To the bit at the same batch size, even beside what is not a number; another size may sum in another order."""
    _, theta, x, apply, _ = case
    outputs = np.asarray(apply(theta, x))
    for stranger in (1e3, np.nan):
        others = x.copy()
        others[[0, 1, 3]] = stranger
        np.testing.assert_array_equal(apply(theta, others)[2], outputs[2])
    np.testing.assert_allclose(apply(theta, x[2:3])[0], outputs[2], rtol=0, atol=1e-6 * np.abs(outputs).max())


def test_the_gradient_at_the_start_is_finite(case: Any):
    model, theta, x, _, _ = case
    begin = start(model, x.shape[1:])
    y = jnp.arange(4)
    gradient = jax.jit(jax.grad(lambda theta: model.loss(model.apply(theta, x), y).mean()))(begin)
    assert jax.tree.structure(gradient) == jax.tree.structure(theta)
    assert all(np.isfinite(leaf).all() for leaf in jax.tree.leaves(gradient))
    assert any(np.any(leaf) for leaf in jax.tree.leaves(gradient))
    at_zero = jax.jit(model.apply)(begin, 0 * x)
    np.testing.assert_allclose(model.loss(at_zero, y), np.log(10), rtol=1e-6)  # biases are 0: all classes alike


@pytest.mark.parametrize(
    ("model", "shape", "by_layer"),
    [
        (softmax(), (28, 28, 1), [784 * 10 + 10]),
        (mlp((128, 128), leak=0.01), (28, 28, 1), [784 * 128 + 128, 128 * 128 + 128, 128 * 10 + 10]),
        (cnn(), (28, 28, 1), [25 * 6 + 6, 25 * 6 * 16 + 16, 7 * 7 * 16 * 120 + 120, 120 * 84 + 84, 84 * 10 + 10]),
        (lenet(), (28, 28, 1), [25 * 6 + 6, 25 * 6 * 16 + 16, 4 * 4 * 16 * 120 + 120, 120 * 10 + 10]),
        (cnn(), (32, 32, 3), [75 * 6 + 6, 25 * 6 * 16 + 16, 8 * 8 * 16 * 120 + 120, 120 * 84 + 84, 84 * 10 + 10]),
        (
            small_cnn(),
            (32, 32, 3),
            [27 * 32, 288 * 32, 288 * 64, 576 * 64, 576 * 128, 1152 * 128, 4 * (32 + 64 + 128), 128 * 10 + 10],
        ),
        (logistic(), (5,), [5 + 1]),
        (hinge_svm(), (5,), [5]),
        (quadratic(), (12,), [3]),
    ],
)
def test_the_number_of_parameters(model: Model, shape: tuple[int, ...], by_layer: list[int]):
    theta = shapes(model, shape)
    assert sum(leaf.size for leaf in jax.tree.leaves(theta)) == sum(by_layer)


def test_the_predecessors_sizes():
    """An MLP of 118,282 numbers and a CNN of 107,786, on 28 x 28 images."""
    for model, numbers in ((mlp((128, 128)), 118_282), (cnn(), 107_786)):
        theta = shapes(model, (28, 28, 1))
        assert sum(leaf.size for leaf in jax.tree.leaves(theta)) == numbers


@pytest.mark.parametrize(
    ("model", "shape", "place", "fan_in", "gain"),
    [
        (mlp((200,)), (300,), (0,), 300, 2.0),
        (mlp((200,)), (300,), (1,), 200, 1.0),
        (cnn(), (28, 28, 1), ("blocks", 0), 25, 2.0),
        (cnn(), (28, 28, 1), ("blocks", 1), 150, 2.0),
        (cnn(), (28, 28, 1), ("dense", 0), 784, 2.0),
        (small_cnn((16,)), (4, 4, 3), ("blocks", 1), 144, 2.0),
    ],
    ids=["before a ReLU", "before the softmax", "kernels", "second kernels", "after the images", "before a norm"],
)
def test_weights_start_uniform_with_variance_gain_over_fan_in(
    model: Model, shape: tuple[int, ...], place: tuple[Any, ...], fan_in: int, gain: float
):
    """A sample variance of n uniform numbers is off by .9 / sqrt(n) of itself, the mean by one over sqrt(n)."""
    layer = functools.reduce(lambda tree, step: tree[step], place, start(model, shape))
    weights = np.asarray(layer["weights"], np.float64)
    variance, bound = gain / fan_in, math.sqrt(3 * gain / fan_in)
    assert np.abs(weights).max() <= bound * (1 + 1e-6)
    assert np.abs(weights).max() > 0.9 * bound
    assert abs(weights.var() / variance - 1) < 5 * 0.9 / math.sqrt(weights.size)
    assert abs(weights.mean()) < 5 * math.sqrt(variance / weights.size)


def test_layers_start_differently_and_seeds_too():
    model = mlp((6, 6, 6))
    one, other = (model.init(jax.random.key(k), example((6,)), 6) for k in range(2))
    drawn = [np.asarray(layer["weights"]) for theta in (one, other) for layer in theta]
    for k, a in enumerate(drawn):
        assert not any(np.array_equal(a, b) for b in drawn[k + 1 :])


@pytest.mark.parametrize(
    ("model", "shape", "sentence"),
    [
        (lenet(), (12, 28, 1), "lenet does not fit images of 12 x 28: nothing is left after its pooling; "),
        (cnn(), (28, 3, 1), "cnn does not fit images of 28 x 3: nothing is left after its pooling; "),
        (small_cnn(), (7, 32, 3), "small_cnn does not fit images of 7 x 32; pass fewer widths"),
        (cnn(), (784,), "cnn takes images [height, width, channels], but examples have shape (784,)"),
        (small_cnn(), (32, 32), "small_cnn takes images [height, width, channels], but examples have shape (32, 32)"),
    ],
)
def test_inputs_that_do_not_fit(model: Model, shape: tuple[int, ...], sentence: str):
    with pytest.raises(DataError) as error:
        shapes(model, shape)
    assert str(error.value).startswith(sentence)


@pytest.mark.parametrize(("model", "side"), [(lenet(), 16), (cnn(), 4), (small_cnn(), 8)])
def test_the_smallest_images_that_fit(model: Model, side: int):
    theta = shapes(model, (side, side, 1))
    assert jax.eval_shape(model.apply, theta, jax.ShapeDtypeStruct((2, side, side, 1), jnp.float32)).shape == (2, 10)


@pytest.mark.parametrize("name", ["softmax", "mlp", "cnn", "lenet", "small_cnn"])
def test_data_without_classes(name: str):
    with pytest.raises(DataError) as error:
        shapes(MODELS[name](), (32, 32, 3), classes=None)
    assert str(error.value) == (
        f"{name} classifies, but the data have no classes; pass classes= with the data, or another model"
    )


def test_the_same_call_gives_the_same_object():
    """So that a problem built twice compiles once."""
    for make in MODELS.values():
        assert make() is make()
    assert mlp((3,)) is mlp((3,))
    assert mlp((3,)) is not mlp((4,))
