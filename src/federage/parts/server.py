"""How the server steps along the pseudo-gradient g = -D, D being the merged change of v.

Each shapes the step of theta alone. The dual passes through plainly, as FedAvg averages it: it is a loss, and steps
that suit parameters have nothing to do with its scale. optax's own transformations take theta and dual alike.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import jax
import jax.numpy as jnp
import optax
from jaxtyping import Array

from federage.core.types import PyTree
from federage.parts.step import per_part

Number = float | Array
Second = Callable[[Array, Array], Array]  # the second moment v and the square of D -> the new v


def momentum(server_lr: Number, beta1: Number) -> optax.GradientTransformation:
    """Heavy ball: m <- beta1 m + D, theta <- theta + server_lr m. Past changes are not damped by 1 - beta1.

    References:
      FedAvgM: Hsu et al., arXiv:1909.06335, Section 4.3; with a server step size, Reddi et al., arXiv:2003.00295.
    """
    return _on_theta(optax.sgd(server_lr, momentum=beta1))


def adagrad_moment() -> Second:
    """Adagrad's: v + D^2."""
    return lambda v, square: v + square


def adam_moment(beta2: Number) -> Second:
    """Adam's: beta2 v + (1 - beta2) D^2."""
    return lambda v, square: beta2 * v + (1 - beta2) * square


def yogi_moment(beta2: Number) -> Second:
    """Yogi's: v - (1 - beta2) D^2 sign(v - D^2)."""
    return lambda v, square: v - (1 - beta2) * square * jnp.sign(v - square)


class Moments(NamedTuple):
    """Running moments of the pseudo-gradient."""

    first: PyTree
    second: PyTree


def adaptive(second: Second, server_lr: Number, beta1: Number, tau: Number) -> optax.GradientTransformation:
    """A step of its own length for every parameter.

        m <- beta1 m + (1 - beta1) D            from 0
        v <- second(v, D^2)                     from tau^2
        theta <- theta + server_lr m / (sqrt(v) + tau)

    Neither moment is corrected for its beginning, as in the paper; `optax.adam` corrects both, and `optax.yogi`
    corrects and starts both at 1e-6: others' numbers may differ for that.

    Args:
      second: `adagrad_moment()`, `adam_moment(beta2)` or `yogi_moment(beta2)`.
      server_lr: eta, about the length of a step where sqrt(v) outgrows tau.
      beta1: how much of the first moment is kept.
      tau: how adaptive: a large one is plain averaging at step size server_lr / (2 tau).

    References:
      Reddi et al., arXiv:2003.00295, Algorithm 2.
    """

    def init(theta: PyTree) -> Moments:
        return Moments(jax.tree.map(jnp.zeros_like, theta), jax.tree.map(lambda a: jnp.full_like(a, tau**2), theta))

    def update(g: PyTree, moments: Moments, theta: PyTree = None) -> tuple[PyTree, Moments]:
        m = jax.tree.map(lambda m, g: beta1 * m + (1 - beta1) * g, moments.first, g)
        v = jax.tree.map(lambda v, g: second(v, g**2), moments.second, g)
        return jax.tree.map(lambda m, v: -server_lr * m / (jnp.sqrt(v) + tau), m, v), Moments(m, v)

    return _on_theta(optax.GradientTransformation(init, update))  # pyright: ignore[reportArgumentType]


class Way(NamedTuple):
    """The way come since the last amplification, and in how many rounds."""

    change: PyTree
    rounds: Array


def amplified(server_lr: Number, period: Number) -> optax.GradientTransformation:
    """Every P rounds theta moves on along the way it has come since: theta <- theta + (server_lr - 1) u.

    u is the sum of the P mean changes, the last one among them; then it starts from 0 again.

    Args:
      server_lr: eta; 1 is the plain average.
      period: P, in rounds.

    References:
      Wang & Ji, arXiv:2205.13648, Algorithm 1.
    """

    def init(theta: PyTree) -> Way:
        return Way(jax.tree.map(jnp.zeros_like, theta), jnp.zeros(()))

    def update(g: PyTree, way: Way, theta: PyTree = None) -> tuple[PyTree, Way]:
        rounds = way.rounds + 1
        due = rounds >= period
        u = jax.tree.map(jnp.subtract, way.change, g)
        step = jax.tree.map(lambda g, u: jnp.where(due, (server_lr - 1) * u - g, -g), g, u)
        return step, Way(jax.tree.map(lambda u: jnp.where(due, 0, u), u), jnp.where(due, 0, rounds))

    return _on_theta(optax.GradientTransformation(init, update))  # pyright: ignore[reportArgumentType]


def _on_theta(step: optax.GradientTransformation) -> optax.GradientTransformation:
    return per_part(theta=step, dual=optax.sgd(1.0))
