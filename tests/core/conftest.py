"""One hard problem that the room shares, because compiling takes longer than playing.

Every kind of law takes its turn, cohorts have one to six arrivals worked off two at a time, clients differ in their
number of local steps and start from random weights, and the method keeps a memory of every client.
"""

from typing import Any

import pytest

import federage as fr
from federage.testing import every_law, tiny

ROUNDS = 17  # every law twice, and one round more than two legs
EVERY = 8


@pytest.fixture(scope="session")
def problem() -> fr.Problem:
    some = tiny(every_law(), local_steps=[1, 2, 3, 3, 2, 4], chunk=2)
    return fr.Problem(fr.models.mlp((4,)), some.clients, some.law, [1, 2, 3, 3, 2, 4], batch=4, chunk=2)


@pytest.fixture(scope="session")
def method() -> fr.FedeRageCV:
    return fr.FedeRageCV(lr=0.1, alpha=0.5, gamma=0.6)


@pytest.fixture(scope="session")
def how() -> dict[str, Any]:
    return {"rounds": ROUNDS, "seeds": 3, "every": EVERY, "watch": ("average",), "smooth": 0.75}


@pytest.fixture(scope="session")
def whole(problem: fr.Problem, method: fr.FedeRageCV, how: dict[str, Any]) -> fr.Result:
    return fr.run(problem, method, **how)


@pytest.fixture(scope="session")
def round_by_round(problem: fr.Problem, method: fr.FedeRageCV, how: dict[str, Any]) -> list[fr.Progress]:
    """The same run, seen after every round."""
    return list(fr.stream(problem, method, **{**how, "every": 1}))
