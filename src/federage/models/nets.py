"""Neural networks: an MLP, the predecessor's CNN, a LeNet, and a stronger small CNN for 32 x 32 colour images.

Weights start uniform on +-sqrt(3 gain / fan_in) (gain 2 before a ReLU: He et al., arXiv:1502.01852), biases at 0.
The same model is the same object, so that a problem built twice compiles once.
"""

from __future__ import annotations

import functools
import itertools
import math

import jax
import jax.numpy as jnp
from jaxtyping import Array

from federage.core.model import Model
from federage.core.types import PyTree
from federage.errors import DataError
from federage.models.convolution import convolve, convolve_and_pool, group_norm, pool_output


def flatten(x: Array) -> Array:
    return x.reshape(x.shape[0], -1)


def classes_or_refuse(classes: int | None, name: str) -> int:
    if classes is None:
        raise DataError(
            f"{name} classifies, but the data have no classes; pass classes= with the data, or another model"
        )
    return classes


def _weights(key: Array, shape: tuple[int, ...], gain: float = 2.0) -> Array:
    bound = math.sqrt(3 * gain / math.prod(shape[:-1]))
    return jax.random.uniform(key, shape, minval=-bound, maxval=bound)


def _layer(key: Array, shape: tuple[int, ...]) -> PyTree:
    return {"weights": _weights(key, shape), "bias": jnp.zeros(shape[-1])}


def _dense_stack(key: Array, sizes: tuple[int, ...]) -> list[PyTree]:
    """Dense layers [inputs, outputs], then the one that feeds the softmax, with gain 1 and one row a class.

    By rows because it has few outputs: the product that gives its gradient is then the wide way round.
    """
    *hidden, last = jax.random.split(key, len(sizes) - 1)
    layers = [_layer(k, shape) for k, shape in zip(hidden, itertools.pairwise(sizes[:-1]), strict=True)]
    rows = _weights(last, sizes[-2:], gain=1.0).T
    return [*layers, {"weights": rows, "bias": jnp.zeros(sizes[-1])}]


def _dense(layers: list[PyTree], x: Array, leak: float = 0.0) -> Array:
    for layer in layers[:-1]:
        x = jax.nn.leaky_relu(x @ layer["weights"] + layer["bias"], leak)
    return x @ layers[-1]["weights"].T + layers[-1]["bias"]


def mlp(hidden: tuple[int, ...] = (128, 128), leak: float = 0.0) -> Model:
    """Dense layers with (leaky) ReLU between them. The predecessor's on MNIST: `mlp((128, 128), leak=.01)`."""
    return _mlp(tuple(hidden), float(leak))


@functools.cache
def _mlp(hidden: tuple[int, ...], leak: float) -> Model:
    def init(key: Array, example: jax.ShapeDtypeStruct, classes: int | None) -> PyTree:
        return _dense_stack(key, (example.size, *hidden, classes_or_refuse(classes, "mlp")))

    def apply(theta: PyTree, x: Array) -> Array:
        return _dense(theta, flatten(x), leak)

    return Model(init, apply, name=f"mlp{hidden}" + (f"+leak{leak}" if leak else ""))


def _pooled_cnn(name: str, channels: tuple[int, ...], dense: tuple[int, ...], size: int, padding: int) -> Model:
    """Blocks of convolution, 2 x 2 maximum pooling, bias and ReLU, then dense layers.

    Bias and ReLU are monotone, so taking them after the maximum gives the same values for a quarter of the work.
    """

    def init(key: Array, example: jax.ShapeDtypeStruct, classes: int | None) -> PyTree:
        _, height, width, inputs = _image(example, name)
        keys = jax.random.split(key, len(channels) + 1)
        blocks = []
        for k, outputs in zip(keys[:-1], channels, strict=True):
            blocks.append(_layer(k, (size, size, inputs, outputs)))
            height, width, inputs = (*(pool_output(side, size, padding, 2) for side in (height, width)), outputs)
        if height < 1 or width < 1:
            raise DataError(
                f"{name} does not fit images of {example.shape[1]} x {example.shape[2]}: "
                "nothing is left after its pooling; use larger images, or an mlp"
            )
        sizes = (height * width * inputs, *dense, classes_or_refuse(classes, name))
        return {"blocks": blocks, "dense": _dense_stack(keys[-1], sizes)}

    def apply(theta: PyTree, x: Array) -> Array:
        for block in theta["blocks"]:
            x = jax.nn.relu(convolve_and_pool(x, block["weights"], padding) + block["bias"])
        return _dense(theta["dense"], flatten(x))

    return Model(init, apply, name=name)


def _image(example: jax.ShapeDtypeStruct, name: str) -> tuple[int, int, int, int]:
    if len(example.shape) != 4:
        raise DataError(
            f"{name} takes images [height, width, channels], but examples have shape {tuple(example.shape[1:])}"
        )
    return example.shape  # pyright: ignore[reportReturnType]


@functools.cache
def cnn() -> Model:
    """The predecessor's CNN: 5 x 5 with 6 and 16 channels, padding 2, each pooled by 2; dense 120, 84."""
    return _pooled_cnn("cnn", (6, 16), (120, 84), size=5, padding=2)


@functools.cache
def lenet() -> Model:
    """A LeNet: 5 x 5 with 6 and 16 channels, no padding, each pooled by 2; dense 120."""
    return _pooled_cnn("lenet", (6, 16), (120,), size=5, padding=0)


def small_cnn(widths: tuple[int, ...] = (32, 64, 128), groups: int = 8) -> Model:
    """For 32 x 32 colour images: per width two 3 x 3 convolutions with group norm and ReLU, pooled by 2; then dense.

    Group norm looks at one example at a time; batch norm would let examples, and through its statistics clients, mix.
    """
    return _small_cnn(tuple(widths), groups)


@functools.cache
def _small_cnn(widths: tuple[int, ...], groups: int) -> Model:
    def init(key: Array, example: jax.ShapeDtypeStruct, classes: int | None) -> PyTree:
        _, height, width, inputs = _image(example, "small_cnn")
        blocks = []
        for outputs in widths:
            for _ in range(2):
                key, own = jax.random.split(key)
                norm = {"scale": jnp.ones(outputs), "shift": jnp.zeros(outputs)}
                blocks.append({"weights": _weights(own, (3, 3, inputs, outputs)), **norm})
                inputs = outputs
            height, width = height // 2, width // 2
        if height < 1 or width < 1:
            raise DataError(
                f"small_cnn does not fit images of {example.shape[1]} x {example.shape[2]}; pass fewer widths"
            )
        return {"blocks": blocks, "dense": _dense_stack(key, (inputs, classes_or_refuse(classes, "small_cnn")))}

    def apply(theta: PyTree, x: Array) -> Array:
        for k, block in enumerate(theta["blocks"]):
            x = convolve(x, block["weights"], padding=1)
            x = jax.nn.relu(group_norm(x, block["scale"], block["shift"], groups))
            if k % 2:
                x = _halve(x)
        return _dense(theta["dense"], jnp.mean(x, axis=(1, 2)))

    return Model(init, apply, name=f"small_cnn{widths}")


def _halve(x: Array) -> Array:
    """Maximum over 2 x 2 windows."""
    batch, height, width, channels = x.shape
    x = x[:, : height // 2 * 2, : width // 2 * 2].reshape(batch, height // 2, 2, width // 2, 2, channels)
    rows = jnp.maximum(x[:, :, 0], x[:, :, 1])
    return jnp.maximum(rows[:, :, :, 0], rows[:, :, :, 1])
