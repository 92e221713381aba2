"""A model: four pure functions. Ours are in `federage.models`; anybody's `(init, apply)` becomes one by `Model.of`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from federage.core.types import PyTree


def cross_entropy(outputs: Float[Array, "batch classes"], y: Array) -> Float[Array, " batch"]:
    """-log softmax(outputs)[y], example by example."""
    # A one-hot product rather than a gather: its derivative is dense, where a gather's is a scatter.
    chosen = jnp.sum(outputs * jax.nn.one_hot(y, outputs.shape[-1], dtype=outputs.dtype), axis=-1)
    return jax.nn.logsumexp(outputs, axis=-1) - chosen


def correct(outputs: Float[Array, "batch classes"], y: Array) -> Float[Array, " batch"]:
    """1 where the largest output is the label's."""
    return (jnp.argmax(outputs, axis=-1) == y).astype(jnp.float32)


def no_score(outputs: Any, y: Array) -> Float[Array, " batch"]:
    """For problems without labels: accuracy is not defined."""
    return jnp.full(y.shape[:1], jnp.nan)


class Model(NamedTuple):
    """How inputs become outputs, and outputs losses and scores.

    Attributes:
      init: (key, example, classes) -> theta; `example` is the shape of one input with a leading axis of 1.
      apply: (theta, x[batch, ...]) -> outputs; no example may depend on the others of its batch.
      loss: (outputs, y) -> one loss an example.
      score: (outputs, y) -> 1 or 0 an example (accuracy is its mean).
      name: what it is called in tables and checkpoints.
    """

    init: Callable[[Array, jax.ShapeDtypeStruct, int | None], PyTree]
    apply: Callable[[PyTree, Array], Any]
    loss: Callable[[Any, Array], Float[Array, " batch"]] = cross_entropy
    score: Callable[[Any, Array], Float[Array, " batch"]] = correct
    name: str = "model"

    @staticmethod
    def of(
        init: Callable[[Array], PyTree],
        apply: Callable[[PyTree, Array], Any],
        loss: Callable[[Any, Array], Array] = cross_entropy,
        score: Callable[[Any, Array], Array] = correct,
        name: str = "custom",
    ) -> Model:
        """A model from anybody's pair: init(key) -> theta, apply(theta, x) -> outputs."""
        return Model(lambda key, example, classes: init(key), apply, loss, score, name)

    @property
    def classes_from_outputs(self) -> bool:
        """Whether the last axis of the outputs is the classes."""
        return self.score is correct
