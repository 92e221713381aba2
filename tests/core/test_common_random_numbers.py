"""What a seed brings, arrivals, mini-batches and initial weights, is the same for every method: comparisons are paired.

Every example is a unit vector of its own and the loss is linear: a step moves the weights of just the examples it saw.
"""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import federage as fr
from federage.core.state import initial
from federage.testing import arrivals, rows

SIZES, BATCH, STEPS, ROUNDS = (5, 7, 6, 4), 2, 2, 6
EXAMPLES = sum(SIZES)


@pytest.fixture(scope="module")
def visible() -> fr.Problem:
    ends = np.cumsum(SIZES)
    data = [(np.eye(EXAMPLES)[end - n : end], np.zeros(n)) for n, end in zip(SIZES, ends, strict=True)]
    model = fr.Model.of(
        init=lambda key: jnp.zeros(EXAMPLES),
        apply=lambda theta, x: x @ theta,
        loss=lambda z, y: z,
        score=lambda z, y: z,
    )
    clients = fr.partition.from_lists(data, classes=None, validation=0)
    return fr.Problem(model, clients, fr.participation.uniform(4, 2), STEPS, BATCH)


def seen(problem: fr.Problem, method: fr.Method) -> np.ndarray:
    """How far each example's weight fell in each round, [seeds, rounds, examples]."""
    theta = np.stack([leg.state.vars.theta for leg in fr.stream(problem, method, rounds=ROUNDS, every=1, seeds=2)], 1)
    return -np.diff(theta, axis=1, prepend=0)


@pytest.fixture(scope="module")
def plain(visible: fr.Problem) -> np.ndarray:
    return seen(visible, fr.FedAvg(lr=BATCH))


@pytest.mark.parametrize("seed", [0, 1])
def test_the_rounds_are_what_the_addresses_say(seed: int, visible: fr.Problem, plain: np.ndarray):
    """At lr = b a step moves each of its examples by 1, and the mean of two arrivals halves that: exact numbers."""
    came, drawn = arrivals(visible.law, seed, ROUNDS), rows(visible, seed, ROUNDS)
    for t in range(ROUNDS):
        counts = sum(np.bincount(drawn[t][client].ravel(), minlength=EXAMPLES) for client in came[t])
        np.testing.assert_array_equal(plain[seed, t], counts / 2)


def test_another_method_meets_the_same_examples(visible: fr.Problem, plain: np.ndarray):
    """FedeRage moves by other lengths (kappa is 3.1 in the tail and .1 below), but the same weights."""
    other = seen(visible, fr.FedeRage(lr=0.5, beta_lr=0.1))
    assert not np.allclose(other, plain, rtol=0.1)
    np.testing.assert_array_equal(other > 0, plain > 0)


def test_seeds_differ(plain: np.ndarray):
    same = (plain[0] > 0) == (plain[1] > 0)
    assert not same.all(axis=1).any()


def test_methods_are_heard_alike(problem: fr.Problem, whole: fr.Result):
    """The shared run and the law drawn outside of it; every method gets its arrivals from there."""
    for seed in range(3):
        came = arrivals(problem.law, seed, 17)
        expected = np.bincount([client for cohort in came for client in cohort], minlength=6)
        assert whole.heard[seed].tolist() == expected.tolist()
    assert len({tuple(heard) for heard in whole.heard.tolist()}) == 3


def test_initial_weights_depend_on_the_seed_alone(problem: fr.Problem):
    def weights(method: fr.Method, seed: int) -> np.ndarray:
        theta = jax.jit(lambda: initial(method.parts(), problem, jnp.uint32(seed), False).vars.theta)()
        return np.asarray(theta[0]["weights"])

    first = weights(fr.FedAvg(lr=0.1), 0)
    np.testing.assert_array_equal(first, weights(fr.FedeRageCV(lr=0.3), 0))
    assert not np.any(first == weights(fr.FedAvg(lr=0.1), 1))
