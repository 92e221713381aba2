"""The layers again in float64 NumPy, as textbooks write them: no tiles, no reordering."""

from typing import Any

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view


def convolution(x: np.ndarray, kernel: Any, padding: int = 0) -> np.ndarray:
    """Cross-correlation with stride 1 of [batch, height, width, inputs]."""
    x = np.pad(np.asarray(x, np.float64), ((0, 0), (padding, padding), (padding, padding), (0, 0)))
    kernel = np.asarray(kernel, np.float64)
    return np.einsum("bhwcij,ijco->bhwo", sliding_window_view(x, kernel.shape[:2], axis=(1, 2)), kernel)


def max_pool(x: np.ndarray, pool: int = 2) -> np.ndarray:
    return sliding_window_view(x, (pool, pool), axis=(1, 2)).max(axis=(4, 5))[:, ::pool, ::pool]


def relu(x: np.ndarray, leak: float = 0.0) -> np.ndarray:
    return np.where(x > 0, x, leak * x)


def group_norm(x: np.ndarray, scale: Any, shift: Any, groups: int, epsilon: float = 1e-5) -> np.ndarray:
    """(x - mean) / sqrt(variance + epsilon) over the pixels and channels of a group, one example at a time."""
    out = np.empty_like(x, np.float64)
    for example in range(len(x)):
        for members in np.split(np.arange(x.shape[3]), groups):
            part = np.asarray(x[example][:, :, members], np.float64)
            out[example][:, :, members] = (part - part.mean()) / np.sqrt(part.var() + epsilon)
    return out * np.asarray(scale) + np.asarray(shift)


def dense(layers: list[dict[str, Any]], x: np.ndarray, leak: float = 0.0) -> np.ndarray:
    """The last layer's weights are one row a class."""
    *hidden, last = layers
    for layer in hidden:
        x = relu(x @ np.asarray(layer["weights"], np.float64) + np.asarray(layer["bias"]), leak)
    return x @ np.asarray(last["weights"], np.float64).T + np.asarray(last["bias"])


def pooled_cnn(theta: dict[str, Any], x: np.ndarray, padding: int) -> np.ndarray:
    """Convolution, bias, ReLU, and only then the maximum."""
    for block in theta["blocks"]:
        x = max_pool(relu(convolution(x, block["weights"], padding) + np.asarray(block["bias"])))
    return dense(theta["dense"], x.reshape(len(x), -1))


def small_cnn(theta: dict[str, Any], x: np.ndarray, groups: int) -> np.ndarray:
    for number, block in enumerate(theta["blocks"]):
        x = relu(group_norm(convolution(x, block["weights"], padding=1), block["scale"], block["shift"], groups))
        x = max_pool(x) if number % 2 else x
    return dense(theta["dense"], x.mean(axis=(1, 2)))
