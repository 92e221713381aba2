"""Runs that tests of algorithms share: six clients, softmax regression, the arrivals of every law in turn."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

import federage as fr
from federage.participation import Trace
from federage.testing import arrivals, every_law, tiny

ROUNDS = 48
DECAY = 0.9
UNEVEN = (1, 2, 3, 3, 2, 4)

ROUNDING = 1.2e-5
"""How far two float32 runs that agree in exact arithmetic may lie apart, relative to numbers of size 1.

A step makes an error of a few units in the last place, 6e-8, and a convex loss does not amplify it. There are at most
ROUNDS * 4 = 192 steps; 200 * 6e-8 = 1.2e-5 if all errors went the same way.
"""


@cache
def every_law_replayed(rounds: int = ROUNDS) -> Trace:
    """Three turns of every law, drawn beforehand: the same arrivals, in a program that compiles quickly."""
    return Trace(arrivals(every_law(), 0, rounds))


@cache
def problem(steps: Any = 4) -> fr.Problem:
    """`steps`: K, or one for each client."""
    return tiny(every_law_replayed(), local_steps=steps, look_at="train")


@cache
def play(method: Any, steps: Any = 4) -> fr.Result:
    """48 rounds on seed 0; a look after each."""
    return fr.run(problem(steps), method, rounds=ROUNDS, every=1, smooth=DECAY)


def matrix(theta: Any) -> np.ndarray:
    """Weights and bias as one array [..., classes, inputs + 1]."""
    return np.concatenate([theta["weights"], theta["bias"][..., None]], axis=-1)


def assert_close(came: Any, expected: Any) -> None:
    np.testing.assert_allclose(came, expected, rtol=0, atol=ROUNDING * max(1.0, np.abs(expected).max()))
