"""The problem: a model, clients' data, a participation law, and how much local work a round holds.

Everything in which the methods of a comparison agree; a method's record holds everything in which they differ.
"""

from __future__ import annotations

import math
from typing import Any, Literal, get_args

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from federage.core.algorithm import Batch
from federage.core.model import Model
from federage.core.record import fill, record, static
from federage.core.types import Clients, Flat, PyTree
from federage.errors import DataError, RecordError
from federage.participation.law import Law

Split = Literal["train", "validation", "test"]
Precision = Literal["float32", "tensorfloat32", "bfloat16"]


@record
class Problem:
    """What is to be learnt, from whom, and who will answer.

    Attributes:
      model: how inputs become outputs, and outputs losses.
      clients: their data.
      law: who gets through in a round.
      local_steps: K, the local steps between two communications: one number, or one for each client.
        The paper's "at t mod H = 0 communicate, else step" makes K = H-1.
      batch: b, the size of the set whose mean loss is one outcome of the risk (part of the problem, not of a solver).
      local_epochs: instead of `local_steps`: client i takes ceil(epochs * n_i / b) steps.
      look_at: the split that looks measure on.
      chunk: how many arrivals are worked on at once (None: chosen from the law).
      precision: of the products of matrices, where the hardware has a choice: "float32" gives a GPU a CPU's numbers up
        to rounding; "tensorfloat32" and "bfloat16" are faster there and keep 10 and 7 bits of each factor.
      steps_each: filled in where clients differ in their number of steps; `local_steps` is then None.
    """

    model: Model = static()
    clients: Clients
    law: Law
    local_steps: Any = static(default=None)
    batch: int = static(default=32)
    local_epochs: float | None = static(default=None)
    look_at: Split = static(default="test")
    chunk: int | None = static(default=None)
    precision: Precision = static(default="float32")
    steps_each: Array | None = None

    def __post_init__(self) -> None:
        _check(self)
        if self.steps_each is None:
            lengths = np.asarray(self.clients.train.lengths)
            steps = _local_steps(self.local_steps, self.local_epochs, lengths, self.batch)
            alike = steps.min() == steps.max()
            each = None if alike else jnp.asarray(steps, jnp.int32)
            fill(self, local_steps=int(steps[0]) if alike else None, steps_each=each, local_epochs=None)

    def losses(self, theta: PyTree, batch: Batch) -> Float[Array, " batch"]:
        """The loss of each example at theta."""
        x, y = batch
        return self.model.loss(self.model.apply(theta, x), y)

    def gather(self, rows: Array) -> Batch:
        """Training examples by row, as stored but flat: a CPU copies a row in one run, not pixel by pixel."""
        train = self.clients.train
        flat = train.x.reshape(train.x.shape[0], -1)
        return flat.at[rows].get(mode="promise_in_bounds"), train.y.at[rows].get(mode="promise_in_bounds")

    def inputs(self, stored: Batch) -> Batch:
        """Stored examples, flat or not, as the model takes them."""
        x, y = stored
        return self.clients.inputs(x.reshape(-1, *self.clients.train.x.shape[1:])), y

    def init(self, key: Array) -> PyTree:
        """The model's parameters at the start."""
        x = self.clients.train.x
        example = jax.ShapeDtypeStruct((1, *x.shape[1:]), jnp.float32)
        return self.model.init(key, example, self.clients.classes)

    @property
    def bytes_per_example(self) -> int:
        x = self.clients.train.x
        return math.prod(x.shape[1:]) * x.dtype.itemsize

    @property
    def looked_at(self) -> Flat:
        return getattr(self.clients, self.look_at)

    @property
    def arrivals_at_once(self) -> int:
        """The width of a chunk: all arrivals of a law of fixed size if they are few, else about a typical round's."""
        return self.chunk or max(1, min(self.law.capacity, self.law.typical, 64))


def _local_steps(steps: Any, epochs: float | None, lengths: np.ndarray, batch: int) -> np.ndarray:
    """K_i of every client."""
    if steps is not None and epochs is not None:
        raise RecordError("both local_steps and local_epochs were given; pass one of them")
    if epochs is not None:
        if not epochs > 0:
            raise RecordError(f"local_epochs={epochs} is not a positive number")
        return np.ceil(epochs * lengths / batch - 1e-9)
    counts = np.asarray(10 if steps is None else steps)
    if counts.ndim and counts.shape != lengths.shape:
        raise RecordError(
            f"local_steps has shape {counts.shape}, but there are {len(lengths)} clients; "
            f"pass one number, or {len(lengths)}"
        )
    if counts.dtype.kind not in "iuf" or not np.all(counts == np.round(counts)) or counts.min() < 1:
        raise RecordError(f"local_steps={steps!r} is not a whole number of at least 1, or one for each client")
    return np.broadcast_to(counts, lengths.shape)


def _check(problem: Problem) -> None:
    clients, law, batch = problem.clients, problem.law, problem.batch
    if law.clients != len(clients):
        raise RecordError(f"the law is over {law.clients} clients, the data over {len(clients)}; make them agree")
    if batch < 1:
        raise RecordError(f"batch={batch} is not a whole number of at least 1")
    lengths = np.asarray(clients.train.lengths)
    smallest = int(lengths.argmin())
    if lengths[smallest] == 0:
        raise DataError(f"client {smallest} has no training examples; drop it or give it some")
    if batch > lengths[smallest]:
        raise DataError(
            f"batch={batch} exceeds the {lengths[smallest]} training examples of client {smallest}, "
            f"and mini-batches are drawn without replacement; pass batch <= {lengths[smallest]}, "
            f"or give every client at least {batch}"
        )
    if problem.look_at not in get_args(Split):
        raise RecordError(f"look_at={problem.look_at!r} is not one of 'train', 'validation', 'test'")
    if problem.precision not in get_args(Precision):
        raise RecordError(f"precision={problem.precision!r} is not one of 'float32', 'tensorfloat32', 'bfloat16'")
    if problem.chunk is not None and problem.chunk < 1:
        raise RecordError(f"chunk={problem.chunk} is not a whole number of at least 1")
    _check_labels(problem)


def _check_labels(problem: Problem) -> None:
    """Run the model abstractly on one example: shapes that do not fit are found before anything is compiled."""
    train = problem.clients.train
    x = jax.ShapeDtypeStruct((1, *train.x.shape[1:]), jnp.float32)
    try:
        theta = jax.eval_shape(problem.init, jax.random.key(0))
        outputs = jax.eval_shape(problem.model.apply, theta, x)
    except (TypeError, ValueError) as error:
        raise DataError(
            f"the model {problem.model.name} does not take examples of shape {train.x.shape[1:]}: {error}"
        ) from error
    if problem.model.classes_from_outputs:
        top = int(train.y.max()) if train.y.size else 0
        if outputs.shape[-1] <= top:
            raise DataError(
                f"the labels go up to {top}, but the model {problem.model.name} has {outputs.shape[-1]} outputs; "
                f"give it at least {top + 1}"
            )
    losses = jax.eval_shape(problem.losses, theta, (x, jax.ShapeDtypeStruct((1, *train.y.shape[1:]), train.y.dtype)))
    if losses.shape != (1,):
        raise DataError(
            f"the model's loss gave shape {losses.shape} for a batch of 1; it must give one loss an example, shape (1,)"
        )
