"""Small problems: six clients, a law of every kind, and a model that compiles in seconds."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp
import numpy as np

from federage.core.problem import Problem
from federage.core.types import Affine, Clients
from federage.data import partition
from federage.models import softmax
from federage.participation import Coins, Cyclic, Law, Markov, Prescribed, RandomSize, Table, Trace, Weighted

CLIENTS = 6
"""How many the federation and the laws of this module have."""


def federation() -> Clients:
    """Clients of 8 to 13 examples in three classes: mostly two classes each, the last two clients rare.

    Inputs are stored as uint8 and mapped by an affine map, as images are.
    """
    rng = np.random.default_rng(7)
    centres = rng.normal(size=(3, 4))

    def some(client: int, n: int) -> tuple[np.ndarray, np.ndarray]:
        y = np.where(rng.random(n) < 0.1, rng.integers(0, 3, n), (client + rng.integers(0, 2, n)) % 3)
        x = centres[y] + rng.normal(size=(n, 4))
        return np.clip(128 + 32 * x, 0, 255).astype(np.uint8), y

    return partition.from_lists(
        [some(client, 8 + client) for client in range(CLIENTS)],
        [some(client, 5) for client in range(CLIENTS)],
        classes=3,
        inputs=Affine(jnp.float32(1 / 32), jnp.float32(-4)),
        validation=0,
        rare=2,
        name="six clients",
    )


def laws() -> dict[str, Law]:
    """One law of every kind, over six clients, uneven: cohorts of one, of all, of a fixed and of a random size."""
    return {
        "weighted": Weighted([6, 5, 4, 3, 2, 1], arrivals=2),
        "prescribed": Prescribed([0.9, 0.6, 0.5, 0.5, 0.3, 0.2]),
        "coins": Coins([0.6, 0.5, 0.4, 0.3, 0.2, 0.1]),
        "random size": RandomSize([3, 3, 2, 2, 1, 1], sizes={1: 0.4, 3: 0.3, 6: 0.3}),
        "table": Table([[0], [0, 1, 2, 3, 4, 5], [2, 5]], [0.3, 0.3, 0.4]),
        "markov": Markov(0.3, [0.5, 0.4, 0.3, 0.2, 0.2, 0.1]),
        "cyclic": Cyclic.of_groups([[0, 1, 2], [3, 4, 5]], arrivals=2),
        "trace": Trace([[1, 4], [5], [0, 2, 3]]),
    }


def every_law(rounds_each: int = 2) -> Cyclic:
    """All of `laws()` in one: they take turns."""
    return Cyclic(list(laws().values()), rounds_each)


def tiny(law: Law | None = None, **changes: Any) -> Problem:
    """Softmax regression over `federation()`: batches of 4, three local steps, unless changed."""
    changes = {"local_steps": 3, "batch": 4, **changes}
    return Problem(softmax(), federation(), laws()["weighted"] if law is None else law, **changes)
