"""A run that is no longer finite is marked with its round, and leaves the others alone.

One client holds a number that squares to more than float32: whoever hears it breaks, in that round. The arrivals of a
seed say which round that is.
"""

import jax.numpy as jnp
import numpy as np
import pytest
from same_numbers import assert_same_bits, runs

import federage as fr
from federage.testing import arrivals

POISONED, ROUNDS, SEEDS = 3, 8, (0, 1, 2, 3)


@pytest.fixture(scope="module")
def problem() -> fr.Problem:
    def held(*values: float) -> list[tuple[np.ndarray, np.ndarray]]:
        return [(np.full((2, 1), x), np.full(2, x)) for x in values]

    train, test = held(1, 2, 3, 1e25), held(1, 2, 3, 4)
    model = fr.Model.of(
        init=lambda key: jnp.zeros(1),
        apply=lambda theta, x: x @ theta,
        loss=lambda z, y: (z - y) ** 2,
        score=lambda z, y: jnp.abs(z - y) < 1,
    )
    law = fr.participation.Weighted([4, 4, 4, 1], 1)
    return fr.Problem(model, fr.partition.from_lists(train, test, classes=None, validation=0), law, 1, 2)


@pytest.fixture(scope="module")
def first_heard(problem: fr.Problem) -> list[int]:
    """The round in which each seed first hears the poisoned client, or -1."""
    came = [[POISONED in cohort for cohort in arrivals(problem.law, seed, ROUNDS)] for seed in SEEDS]
    rounds = [1 + heard.index(True) if any(heard) else -1 for heard in came]
    assert -1 in rounds
    assert any(1 < r < ROUNDS for r in rounds)
    return rounds


@pytest.fixture(scope="module")
def legs(problem: fr.Problem) -> list[fr.Progress]:
    return list(fr.stream(problem, fr.FedAvg(lr=0.01), rounds=ROUNDS, every=1, seeds=SEEDS))


@pytest.fixture(scope="module")
def result(problem: fr.Problem) -> fr.Result:
    return fr.run(problem, fr.FedAvg(lr=0.01), rounds=ROUNDS, every=ROUNDS, seeds=SEEDS)


def test_the_round_is_exact(result: fr.Result, first_heard: list[int], legs: list[fr.Progress]):
    assert result.broke.tolist() == first_heard
    for k, broke in enumerate(first_heard):
        finite = [bool(np.isfinite(leg.state.vars.theta[k]).all()) for leg in legs]
        assert finite == [broke < 0 or leg.round < broke for leg in legs]
        assert legs[-1].looks[0].finite[k].tolist() == finite
    assert result.finite.tolist() == [broke < 0 for broke in first_heard]


def test_the_batch_goes_on(result: fr.Result):
    assert result.state.round.tolist() == [ROUNDS] * 4
    assert result.heard.sum(axis=1).tolist() == [ROUNDS] * 4


def test_the_result_says_so(result: fr.Result, first_heard: list[int]):
    lost = sum(broke > 0 for broke in first_heard)
    mean = result.accuracy[result.finite, -1].mean()
    assert repr(result).endswith(f"after 8 rounds, 4 seed(s), {lost} of 4 runs not finite>")
    assert f"accuracy {mean:.4f}" in repr(result)
    assert "nan" not in repr(result)


def test_other_records_of_the_batch_are_not_touched(problem: fr.Problem, result: fr.Result):
    """The same program twice, once beside a record whose step overflows in its first round: to the bit."""
    good, huge = fr.FedAvg(lr=0.01), fr.FedAvg(lr=3e38)
    how = {"rounds": ROUNDS, "every": ROUNDS, "seeds": SEEDS}
    beside_itself, _ = fr.sweep(problem, [good, good], **how)
    beside_huge, broken = fr.sweep(problem, [good, huge], **how)
    assert broken.broke.tolist() == [1] * 4
    assert repr(broken) == "<FedAvg: no finite run after 8 rounds, 4 seed(s), 4 of 4 runs not finite>"
    assert_same_bits(beside_huge.state, beside_itself.state)
    finite = np.flatnonzero(result.finite).tolist()
    assert_same_bits(beside_huge.looks["last"].loss[finite], beside_itself.looks["last"].loss[finite])
    np.testing.assert_allclose(runs(beside_huge.last.theta, finite), runs(result.last.theta, finite), rtol=1e-6)
