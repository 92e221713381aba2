"""A program is traced once for its shapes: never again from leg to leg, at a second run, or for other numbers."""

import dataclasses
from typing import Any

import jax
import numpy as np
import pytest

import federage as fr
from federage.testing import tiny


class Counted:
    """A problem whose model notes when Python comes by: only while a program is traced."""

    def __init__(self) -> None:
        self.passes = 0
        small = tiny()

        def apply(theta: Any, x: jax.Array) -> jax.Array:
            self.passes += 1
            return small.model.apply(theta, x)

        self.problem = dataclasses.replace(small, model=small.model._replace(apply=apply))

    def during(self, play: Any) -> int:
        before = self.passes
        play()
        return self.passes - before


HOW: dict[str, Any] = {"rounds": 8, "every": 2, "seeds": 2}


@pytest.fixture(scope="module")
def counted() -> Counted:
    """Already played once; problems are checked by tracing too, when they are made."""
    counted = Counted()
    assert counted.during(lambda: fr.run(counted.problem, fr.FedeRage(lr=0.1), **HOW)) > 0
    return counted


@pytest.mark.parametrize(
    ("method", "changed"),
    [
        (fr.FedeRage(lr=0.1), {}),
        (fr.FedeRage(lr=0.1), {"rounds": 12}),
        (fr.FedeRage(lr=0.1), {"seeds": [5, 9]}),
        (fr.FedeRage(lr=0.03, beta_lr=0.2, alpha=0.7, gamma=0.1), {}),
        (fr.FedeRage(lr=1), {}),
        (fr.FedeRage(lr=np.float64(0.1)), {}),
    ],
    ids=["again", "longer", "other seeds", "other numbers", "a whole number", "a NumPy number"],
)
def test_nothing_is_traced_again(method: fr.Method, changed: dict[str, Any], counted: Counted):
    assert counted.during(lambda: fr.run(counted.problem, method, **{**HOW, **changed})) == 0


def test_nothing_is_compiled_again(counted: Counted):
    """Not even the smallest operation between programs."""
    compiled = []

    def note(event: str, seconds: float, **about: Any) -> None:
        if event.endswith("backend_compile_duration"):
            compiled.append(event)

    jax.monitoring.register_event_duration_secs_listener(note)
    jax.jit(lambda x: x + len(compiled))(1.0)
    assert compiled  # the event is still called so
    compiled.clear()
    fr.run(counted.problem, fr.FedeRage(lr=0.1), **HOW)
    assert not compiled


def test_no_leg_is_traced_after_the_first(counted: Counted):
    assert counted.during(lambda: list(fr.stream(counted.problem, fr.FedeRage(lr=0.1), **HOW))) == 0


def test_other_data_of_the_same_shape_are_not_another_program(counted: Counted):
    clients = counted.problem.clients
    other = dataclasses.replace(clients, train=clients.train._replace(x=clients.train.x[::-1]))
    problem = dataclasses.replace(counted.problem, clients=other)
    assert counted.during(lambda: fr.run(problem, fr.FedeRage(lr=0.1), **HOW)) == 0


def test_something_new_is_traced(counted: Counted):
    """A field that was None and is a number is another structure: this test can tell."""
    bounded = fr.FedeRage(lr=0.1, within=fr.Ball(1.0))
    assert counted.during(lambda: fr.run(counted.problem, bounded, **HOW)) > 0
