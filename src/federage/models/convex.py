"""Models whose local objectives are convex: those the theorems are about. All start at theta = 0, as in the paper."""

from __future__ import annotations

import functools

import jax
import jax.numpy as jnp
from jaxtyping import Array

from federage.core.model import Model, no_score
from federage.core.types import PyTree
from federage.data.synthetic import unpack_quadratic
from federage.models.nets import classes_or_refuse, flatten


@functools.cache
def softmax() -> Model:
    """Multinomial logistic regression, one row of weights a class."""

    def init(key: Array, example: jax.ShapeDtypeStruct, classes: int | None) -> PyTree:
        inputs = example.size
        outputs = classes_or_refuse(classes, "softmax")
        return {"weights": jnp.zeros((outputs, inputs)), "bias": jnp.zeros(outputs)}

    def apply(theta: PyTree, x: Array) -> Array:
        return flatten(x) @ theta["weights"].T + theta["bias"]

    return Model(init, apply, name="softmax")


def _linear(name: str, loss: object, bias: bool) -> Model:
    def init(key: Array, example: jax.ShapeDtypeStruct, classes: int | None) -> PyTree:
        return jnp.zeros(example.size + bias)

    def apply(theta: PyTree, x: Array) -> Array:
        x = flatten(x)
        return x @ theta[:-1] + theta[-1] if bias else x @ theta

    def score(outputs: Array, y: Array) -> Array:
        return ((outputs > 0) == (y > 0)).astype(jnp.float32)

    return Model(init, apply, loss, score, name)  # pyright: ignore[reportArgumentType]


@functools.cache
def logistic() -> Model:
    """Two-class logistic regression, theta = [weights, bias]: log(1 + exp(-s z)), s = 2y - 1."""
    return _linear("logistic", lambda z, y: jax.nn.softplus(-(2 * y - 1) * z), bias=True)


@functools.cache
def hinge_svm() -> Model:
    """Linear support vector machine without bias: max(0, 1 - s z), s = 2y - 1; nonsmooth."""
    return _linear("hinge_svm", lambda z, y: jnp.maximum(0.0, 1 - (2 * y - 1) * z), bias=False)


@functools.cache
def quadratic() -> Model:
    """f(theta; (A, b)) = (theta - b)^T A (theta - b) / 2, with (A, b) as `data.synthetic.quadratics` packs it."""

    def init(key: Array, example: jax.ShapeDtypeStruct, classes: int | None) -> PyTree:
        packed = jnp.zeros(example.shape[1:])
        return jnp.zeros(unpack_quadratic(packed)[1].shape)

    def apply(theta: PyTree, x: Array) -> Array:
        matrices, centres = jax.vmap(unpack_quadratic)(x)
        away = theta - centres
        return 0.5 * jnp.einsum("bi,bij,bj->b", away, matrices, away)

    return Model(init, apply, loss=lambda value, y: value, score=no_score, name="quadratic")
