"""The shared problem's network again, in float64 NumPy: dense layers with ReLU between them."""

from typing import Any

import numpy as np

import federage as fr


def outputs(theta: list[dict[str, Any]], x: np.ndarray) -> np.ndarray:
    *hidden, last = jaxless(theta)
    for layer in hidden:
        x = np.maximum(x @ layer["weights"] + layer["bias"], 0)
    return x @ last["weights"].T + last["bias"]


def jaxless(theta: list[dict[str, Any]]) -> list[dict[str, np.ndarray]]:
    return [{name: np.asarray(a, np.float64) for name, a in layer.items()} for layer in theta]


def stored(clients: fr.Clients, split: str = "test") -> tuple[np.ndarray, np.ndarray]:
    """A split's inputs as the model takes them, and its labels."""
    flat, inputs = getattr(clients, split), clients.inputs
    x = np.asarray(flat.x, np.float64) * np.asarray(inputs.scale) + np.asarray(inputs.shift)
    return x, np.asarray(flat.y)


def score_and_loss(theta: list[dict[str, Any]], clients: fr.Clients, split: str = "test") -> tuple[Any, Any]:
    """1 or 0, and -log softmax(outputs)[y], example by example."""
    x, y = stored(clients, split)
    z = outputs(theta, x)
    losses = np.log(np.exp(z - z.max(1, keepdims=True)).sum(1)) + z.max(1) - z[np.arange(len(y)), y]
    return (z.argmax(1) == y).astype(float), losses


def accuracy_and_loss(theta: list[dict[str, Any]], clients: fr.Clients) -> tuple[float, float]:
    score, losses = score_and_loss(theta, clients)
    return float(score.mean()), float(losses.mean())
