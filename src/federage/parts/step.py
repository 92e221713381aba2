"""Local and server steps are optax transformations over v = (theta, dual); here is what optax has no word for."""

from __future__ import annotations

from typing import Any, Protocol

import jax
import jax.numpy as jnp
import optax

from federage.core.record import number, positive, record, require
from federage.core.types import PyTree, Vars
from federage.errors import RecordError


class Set(Protocol):
    """A convex set with its Euclidean projection."""

    def nearest(self, point: PyTree) -> PyTree: ...


@record
class Ball:
    """All parameters together within `radius` of the origin."""

    radius: float

    def __post_init__(self) -> None:
        positive("radius", self.radius)

    def nearest(self, point: PyTree) -> PyTree:
        norm = optax.tree.norm(point)
        scale = jnp.where(norm > self.radius, self.radius / jnp.where(norm > 0, norm, 1), 1)
        return jax.tree.map(lambda a: a * scale, point)


@record
class Box:
    """Every parameter within [low, high]; for a single scalar, an interval."""

    low: float
    high: float

    def __post_init__(self) -> None:
        for name, end in (("low", self.low), ("high", self.high)):
            require(name, end, lambda v: v == v, "a number")
        if number(self.low) and number(self.high) and not self.low <= self.high:
            raise RecordError(f"Box(low={self.low}, high={self.high}) is empty; pass low <= high")

    def nearest(self, point: PyTree) -> PyTree:
        return jax.tree.map(lambda a: jnp.clip(a, self.low, self.high), point)


Interval = Box


def project(theta: Set | None = None, dual: Set | None = None) -> optax.GradientTransformation:
    """End a step on C x B: v + u becomes Proj(v + u). None stands for no constraint.

    References:
      FedeRage, Algorithm 2, line 12.
    """
    sets = Vars(theta, dual)

    def update(updates: Vars, state: Any, params: Vars | None = None) -> tuple[Vars, Any]:
        if params is None:
            raise ValueError("project() needs the parameters: call update(updates, state, params)")

        def inside(u: PyTree, v: PyTree, within: Set | None) -> PyTree:
            if within is None:
                return u
            nearest = within.nearest(jax.tree.map(jnp.add, v, u))
            return jax.tree.map(jnp.subtract, nearest, v)

        return Vars(*(inside(u, v, within) for u, v, within in zip(updates, params, sets, strict=True))), state

    return optax.GradientTransformation(lambda params: optax.EmptyState(), update)  # pyright: ignore[reportArgumentType]


def per_part(theta: optax.GradientTransformation, dual: optax.GradientTransformation) -> optax.GradientTransformation:
    """One transformation for the model, another for the risk's scalars."""
    both = Vars(theta, dual)

    def init(params: Vars) -> tuple[Any, ...]:
        return tuple(part.init(p) for part, p in zip(both, params, strict=True))

    def update(updates: Vars, state: tuple[Any, ...], params: Vars | None = None) -> tuple[Vars, tuple[Any, ...]]:
        given = (None, None) if params is None else params
        done = [part.update(u, s, p) for part, u, s, p in zip(both, updates, state, given, strict=True)]
        return Vars(*(u for u, _ in done)), tuple(s for _, s in done)

    return optax.GradientTransformation(init, update)  # pyright: ignore[reportArgumentType]
