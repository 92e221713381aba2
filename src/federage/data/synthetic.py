"""Small federations whose best model is known, or known well: for tests, theory and figures.

(a) `quadratics`: the optimum in closed form, for any weights of the clients.
(b) `logistic`: convex and smooth; the optimum by Newton's method in float64, for any weights.
(c) `margin`: convex and nonsmooth (hinge loss); a separator of zero loss, so it is optimal for any weights.
(d) `motivating_example`: five clients in the plane, two of them rarely available (the paper's first figure).

Data are rows (x, y), so that a loss is a function of one example. No example is held out for validation.
"""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from federage.core.types import Clients
from federage.data.assemble import Draw, generator
from federage.data.partition import from_lists
from federage.errors import RecordError

AVAILABILITY = (0.3, 0.3, 0.3, 0.05, 0.05)
"""With what probability each client of `motivating_example` takes part."""


def unpack_quadratic(x: Any) -> tuple[Any, Any]:
    """A [d, d] and b [d] of a row of `quadratics`: the first d * d entries are A row by row, the last d are b."""
    d = dimension_of(x.shape[-1])
    return x[..., : d * d].reshape(*x.shape[:-1], d, d), x[..., d * d :]


def dimension_of(width: int) -> int:
    """The d for which a row of `quadratics` has width d * d + d."""
    d = int((np.sqrt(1 + 4 * width) - 1) / 2 + 0.5)
    if d * d + d != width:
        raise RecordError(f"a row of width {width} is not concat([A.ravel(), b]): that has width d * d + d")
    return d


@dataclasses.dataclass(frozen=True, eq=False)
class Quadratics:
    """f_i(x) = 1/2 (x - b_i)^T A_i (x - b_i), up to a constant; matrices and centres are what float32 made of them."""

    clients: Clients
    matrices: np.ndarray  # [clients, d, d] float64
    centres: np.ndarray  # [clients, d] float64

    def optimum(self, p: ArrayLike | None = None) -> np.ndarray:
        """The minimiser of sum_i p_i f_i, that is (sum_i p_i A_i)^-1 sum_i p_i A_i b_i; p is uniform unless given."""
        p = _weights(p, len(self.clients))
        pulls = np.einsum("i,ijk,ik->j", p, self.matrices, self.centres)
        return np.linalg.solve(np.einsum("i,ijk->jk", p, self.matrices), pulls)


def quadratics(
    clients: int = 10,
    dimension: int = 5,
    *,
    matrices: ArrayLike | None = None,
    centres: ArrayLike | None = None,
    condition: float = 10.0,
    spread: float = 1.0,
    examples: int = 1,
    noise: float = 0.0,
    seed: int = 0,
) -> Quadratics:
    """Clients that pull to different centres with different strength in different directions.

    An example is x = concat([A_i.ravel(), b_i + noise]) in float32, and y = 0; its loss is
    1/2 (theta - b)^T A (theta - b), and `unpack_quadratic` gives A and b back.

    Args:
      clients: how many; the length of `matrices` or `centres` if one is given.
      dimension: d; that of `matrices` or `centres` if one is given.
      matrices: A_i, symmetric and positive definite; random ones with eigenvalues in [1, condition] unless given.
      centres: b_i; normal with standard deviation `spread` unless given.
      condition: the largest eigenvalue of the random matrices.
      spread: how far apart the random centres lie.
      examples: how many a client has.
      noise: standard deviation of an example's centre about b_i; a client's noise sums to zero, so its average loss
        has the gradient of f_i everywhere.
      seed: of all draws.
    """
    rng = generator(seed, Draw.EXAMPLES)
    given = np.shape(centres) if centres is not None else np.shape(matrices)[:2] if matrices is not None else ()
    if len(given) == 2:
        clients, dimension = given
    _positive(clients=clients, dimension=dimension, examples=examples)
    if condition < 1 or spread < 0 or noise < 0:
        raise RecordError(f"expected condition >= 1, spread >= 0, noise >= 0, but got {condition}, {spread}, {noise}")
    axes, _ = np.linalg.qr(rng.normal(size=(clients, dimension, dimension)))
    strengths = rng.uniform(1, condition, size=(clients, dimension))
    drawn = (axes * strengths[:, None, :]) @ axes.swapaxes(1, 2)
    a = np.asarray((drawn + drawn.swapaxes(1, 2)) / 2 if matrices is None else matrices, np.float32)
    drawn = spread * rng.normal(size=(clients, dimension))
    b = np.asarray(drawn if centres is None else centres, np.float32)
    if a.shape != (clients, dimension, dimension) or b.shape != (clients, dimension):
        raise RecordError(f"expected matrices [n, d, d] and centres [n, d], but they are {a.shape} and {b.shape}")
    if not np.array_equal(a, a.swapaxes(1, 2)) or np.linalg.eigvalsh(a.astype(float)).min() <= 0:
        raise RecordError("matrices must be symmetric and positive definite: else there is no one optimum")
    shake = noise * rng.normal(size=(clients, examples, dimension))
    places = (b[:, None] + shake - shake.mean(1, keepdims=True)).astype(np.float32)
    rows = np.concatenate([np.broadcast_to(a.reshape(clients, 1, -1), (clients, examples, dimension**2)), places], 2)
    data = from_lists(
        [(x, np.zeros(examples, np.float32)) for x in rows], classes=None, validation=0, name="quadratics"
    )
    return Quadratics(data, a.astype(float), places.astype(float).mean(1))


@dataclasses.dataclass(frozen=True, eq=False)
class Logistic:
    """Logistic regression: f_i is the mean over client i of log(1 + exp(-s theta^T [x, 1])), s = 2 y - 1."""

    clients: Clients

    def value(self, theta: ArrayLike, p: ArrayLike | None = None, ridge: float = 0.0) -> float:
        """The weighted risk sum_i p_i f_i(theta) + ridge/2 |theta|^2; theta has d weights and then the bias."""
        z, weight = self._rows(p)
        theta = np.asarray(theta, float)
        return float(weight @ np.logaddexp(0, -z @ theta) + ridge / 2 * theta @ theta)

    def optimum(self, p: ArrayLike | None = None, ridge: float = 0.0) -> np.ndarray:
        """The minimiser of `value`, to a gradient below 1e-10, by Newton's method with halved steps.

        Separable examples have none without a ridge: the longer theta, the smaller the risk.
        """
        z, weight = self._rows(p)
        theta = np.zeros(z.shape[1])
        for _ in range(100):
            margins = z @ theta
            if ridge == 0 and margins[weight > 0].min() > 0:
                break
            s = np.exp(-np.logaddexp(0, margins))  # the slope of each example's loss, without its sign
            gradient = ridge * theta - z.T @ (weight * s)
            if np.abs(gradient).max() < 1e-10:
                return theta
            curvature = (z.T * (weight * s * (1 - s))) @ z + ridge * np.eye(len(theta))
            step, here = np.linalg.solve(curvature, gradient), self.value(theta, p, ridge)
            while np.abs(step).max() > 1e-12 and self.value(theta - step, p, ridge) > here:
                step = step / 2
            theta = theta - step
        raise RecordError("the examples can be separated, so there is no optimum; pass a ridge, or less separation")

    def _rows(self, p: ArrayLike | None) -> tuple[np.ndarray, np.ndarray]:
        """The signed row s [x, 1] of each example, and its weight p_i / n_i."""
        x, y = np.asarray(self.clients.train.x, float), np.asarray(self.clients.train.y)
        lengths = np.asarray(self.clients.train.lengths)
        signs = 2.0 * y[:, None] - 1
        weights = _weights(p, len(lengths)) / lengths
        return signs * np.concatenate([x, np.ones((len(x), 1))], 1), np.repeat(weights, lengths)


def logistic(
    clients: int = 10,
    dimension: int = 5,
    *,
    examples: int = 100,
    separation: float = 1.0,
    spread: float = 1.0,
    test: int = 0,
    seed: int = 0,
) -> Logistic:
    """Two classes of Gaussians that lie elsewhere, and come in other shares, for each client.

    Class y of client i is normal around (2 y - 1) separation u + spread v_i, with one direction u for all and a
    normal v_i for each; the share of class 1 is uniform on [0.1, 0.9], client by client.

    Args:
      clients: how many.
      dimension: of x.
      examples: how many a client has for training.
      separation: half the distance of the two classes, in standard deviations; they overlap.
      spread: how far the clients lie apart.
      test: how many further examples a client has for test.
      seed: of all draws.
    """
    _positive(clients=clients, dimension=dimension, examples=examples)
    rng = generator(seed, Draw.EXAMPLES)
    u = _direction(rng, dimension)
    shifts = spread * rng.normal(size=(clients, dimension))
    shares = rng.uniform(0.1, 0.9, size=clients)

    def some(client: int, n: int) -> tuple[np.ndarray, np.ndarray]:
        y = (rng.random(n) < shares[client]).astype(np.int64)
        x = (2 * y[:, None] - 1) * separation * u + shifts[client] + rng.normal(size=(n, dimension))
        return x.astype(np.float32), y

    data = from_lists(
        [some(client, examples) for client in range(clients)],
        [some(client, test) for client in range(clients)] if test else None,
        classes=2,
        validation=0,
        name="logistic",
    )
    return Logistic(data)


@dataclasses.dataclass(frozen=True, eq=False)
class Margin:
    """Separable data with a margin: max(0, 1 - s separator^T x) = 0 for every example, s = 2 y - 1.

    So `separator` (no bias) is optimal for the hinge loss under any weights of the clients, and the optimum is 0.
    """

    clients: Clients
    separator: np.ndarray


def margin(
    clients: int = 10,
    dimension: int = 5,
    *,
    examples: int = 100,
    width: float = 0.2,
    spread: float = 1.0,
    flipped: float = 0.0,
    test: int = 0,
    seed: int = 0,
) -> Margin:
    """Data for a support vector machine, y in {0, 1} for the signs s = 2 y - 1.

    Client i draws x around its own centre; a common hyperplane through the origin decides y, and every example is
    moved away from it until its distance is at least `width`.

    Args:
      clients: how many.
      dimension: of x.
      examples: how many a client has for training.
      width: the margin, the least distance to the separating hyperplane.
      spread: how far the clients' centres lie apart.
      flipped: the fraction of labels that are flipped; above 0 the data cannot be separated and 0 is not reached.
      test: how many further examples a client has for test.
      seed: of all draws.
    """
    _positive(clients=clients, dimension=dimension, examples=examples)
    if width <= 0 or not 0 <= flipped < 0.5:
        raise RecordError(f"expected width > 0 and flipped in [0, 0.5), but got {width} and {flipped}")
    rng = generator(seed, Draw.EXAMPLES)
    u = _direction(rng, dimension)
    centres = spread * rng.normal(size=(clients, dimension))

    def some(client: int, n: int) -> tuple[np.ndarray, np.ndarray]:
        x = centres[client] + rng.normal(size=(n, dimension))
        side = np.where(x @ u >= 0, 1.0, -1.0)
        # A hair more than the width, which float32 may otherwise round away.
        x = x + np.maximum(width * (1 + 1e-5) - side * (x @ u), 0)[:, None] * side[:, None] * u
        flip = rng.random(n) < flipped
        return x.astype(np.float32), np.where(flip, side < 0, side > 0).astype(np.int64)

    data = from_lists(
        [some(client, examples) for client in range(clients)],
        [some(client, test) for client in range(clients)] if test else None,
        classes=2,
        validation=0,
        name="margin",
    )
    return Margin(data, u / width)


def motivating_example(*, examples: int = 200, test: int = 100, seed: int = 0) -> Clients:
    """Five clients in the plane, each with two clusters of its own: strongly non-IID, with three classes.

    Ten normal clusters with standard deviation 0.8 lie evenly on a circle of radius 4. Client i owns the neighbours
    2 i and 2 i + 1, half of its examples in each, and cluster k has the class k mod 3. Neighbours overlap a little,
    so whoever is heard less gives ground to the others. Clients 3 and 4 are the rare group: `AVAILABILITY`.
    """
    _positive(examples=examples, test=test)
    rng = generator(seed, Draw.EXAMPLES)

    def some(client: int, n: int) -> tuple[np.ndarray, np.ndarray]:
        cluster = 2 * client + np.arange(n) % 2
        angle = 2 * np.pi * cluster / 10
        x = 4 * np.stack([np.cos(angle), np.sin(angle)], 1) + 0.8 * rng.normal(size=(n, 2))
        return x.astype(np.float32), cluster % 3

    return from_lists(
        [some(client, examples) for client in range(5)],
        [some(client, test) for client in range(5)],
        classes=3,
        rare=[3, 4],
        validation=0,
        name="motivating_example",
    )


def _direction(rng: np.random.Generator, dimension: int) -> np.ndarray:
    u = rng.normal(size=dimension)
    return u / np.linalg.norm(u)


def _weights(p: ArrayLike | None, clients: int) -> np.ndarray:
    weights = np.full(clients, 1 / clients) if p is None else np.asarray(p, float)
    if weights.shape != (clients,) or (weights < 0).any() or not weights.sum() > 0:
        raise RecordError(f"p must be {clients} weights, none negative and not all zero, but is {p}")
    return weights / weights.sum()


def _positive(**counts: int) -> None:
    for name, count in counts.items():
        if count < 1:
            raise RecordError(f"{name}={count} must be at least 1")
