"""What looks say, against plain NumPy on the weights the run had at that round.

Batches are whole clients and K = 1, so that a round's losses are the arrivals' losses at the checkpoint before it.
"""

from typing import Any

import jax
import numpy as np
import pytest
from mlp_by_hand import score_and_loss

import federage as fr
from federage.testing import arrivals

CLIENTS, SIZE, ROUNDS = 12, 8, 10
TESTS = [90, 0, 40, 61, 100, 7, 1, 88, 50, 0, 33, 147]  # 617 in all: three pieces of 206, which is one too many
RARE = [1, 5, 11]  # one of them without test examples
METHOD = fr.FedeRage(lr=0.3, beta_lr=0.3, alpha=0.5, gamma=0.8)


def federation(rare: list[int] | int) -> fr.Clients:
    rng = np.random.default_rng(2)

    def some(client: int, n: int) -> tuple[np.ndarray, np.ndarray]:
        y = (client + rng.integers(0, 2, n)) % 3
        return np.eye(3)[y] + 0.7 * rng.normal(size=(n, 3)), y

    return fr.partition.from_lists(
        [some(k, SIZE) for k in range(CLIENTS)],
        [some(k, n) for k, n in enumerate(TESTS)],
        classes=3,
        validation=0,
        rare=rare,
    )


@pytest.fixture(scope="module")
def problem() -> fr.Problem:
    law = fr.participation.Coins(0.3, CLIENTS)
    return fr.Problem(fr.models.mlp((4,)), federation(RARE), law, local_steps=1, batch=SIZE)


@pytest.fixture(scope="module")
def legs(problem: fr.Problem) -> list[fr.Progress]:
    return list(fr.stream(problem, METHOD, rounds=ROUNDS, every=1, seeds=2))


@pytest.fixture(scope="module")
def result(problem: fr.Problem, legs: list[fr.Progress]) -> fr.Result:
    return fr.result_of(problem, METHOD, 2, legs[-1])


def weights(leg: fr.Progress, seed: int) -> Any:
    return jax.tree.map(lambda a: a[seed], leg.state.vars.theta)


@pytest.mark.parametrize("seed", [0, 1])
def test_accuracies_and_losses(seed: int, problem: fr.Problem, legs: list[fr.Progress], result: fr.Result):
    """A loss is rounded like a sum of 617 numbers, a mean of ones and zeros like one division."""
    owner = np.repeat(np.arange(CLIENTS), TESTS)
    for t, leg in enumerate(legs):
        score, losses = score_and_loss(weights(leg, seed), problem.clients)
        by_client = [score[owner == k].mean() if n else np.nan for k, n in enumerate(TESTS)]
        np.testing.assert_allclose(result.by_client[seed, t], by_client, rtol=1e-6)
        np.testing.assert_allclose(result.accuracy[seed, t], score.mean(), rtol=1e-6)
        np.testing.assert_allclose(result.loss[seed, t], losses.mean(), rtol=1e-5)
        np.testing.assert_allclose(result.worst[seed, t], np.nanmin(by_client), rtol=1e-6)
        least = sorted(a for a in by_client if not np.isnan(a))[:1]  # ten clients have examples: a tenth is one
        np.testing.assert_allclose(result.worst_tenth[seed, t], np.mean(least), rtol=1e-6)
        np.testing.assert_allclose(result.rare[seed, t], score[np.isin(owner, RARE)].mean(), rtol=1e-6)
    assert np.ptp(result.accuracy[seed]) > 0.05


@pytest.mark.parametrize("seed", [0, 1])
def test_the_local_work(seed: int, problem: fr.Problem, legs: list[fr.Progress], result: fr.Result):
    """Arrivals, their losses and how many of them were in the tail, with beta as it was broadcast."""
    owner = np.repeat(np.arange(CLIENTS), SIZE)
    came = arrivals(problem.law, seed, ROUNDS)
    assert result.legs.arrivals[seed].tolist() == [len(cohort) for cohort in came]
    np.testing.assert_array_equal(result.dual[seed], [leg.state.vars.dual[seed] for leg in legs])
    for t in range(1, ROUNDS):
        losses = score_and_loss(weights(legs[t - 1], seed), problem.clients, "train")[1]
        of_arrivals = np.array([losses[owner == k].mean() for k in came[t]])
        np.testing.assert_allclose(result.legs.train_loss[seed, t], of_arrivals.mean(), rtol=1e-5)
        in_tail = (of_arrivals >= legs[t - 1].state.vars.dual[seed]).mean()
        np.testing.assert_allclose(result.tail[seed, t], in_tail, rtol=1e-6)
    assert result.tail[seed, 0] == 1  # beta starts at 0
    assert ((result.tail[seed] > 0) & (result.tail[seed] < 1)).any()
    assert result.legs.finite.all()


def test_a_leg_sums_up_its_rounds(problem: fr.Problem, result: fr.Result):
    """Ten rounds at once: losses and tail by arrival, not by round. Another split is looked at."""
    changed = fr.Problem(problem.model, federation(0), problem.law, local_steps=1, batch=SIZE, look_at="train")
    leg = fr.run(changed, METHOD, rounds=ROUNDS, every=ROUNDS, seeds=2)
    each = result.legs.arrivals
    np.testing.assert_allclose(leg.legs.arrivals[:, 0], each.mean(axis=1), rtol=1e-6)
    np.testing.assert_allclose(leg.tail[:, 0], (each * result.tail).sum(1) / each.sum(1), rtol=1e-5)
    np.testing.assert_allclose(
        leg.legs.train_loss[:, 0], (each * result.legs.train_loss).sum(1) / each.sum(1), rtol=1e-5
    )
    assert np.isnan(leg.rare).all()
    for seed in range(2):
        score, losses = score_and_loss(jax.tree.map(lambda a, k=seed: a[k], leg.last.theta), changed.clients, "train")
        by_client = score.reshape(CLIENTS, SIZE).mean(axis=1)
        np.testing.assert_allclose(leg.by_client[seed, 0], by_client, rtol=1e-6)
        np.testing.assert_allclose(leg.worst_tenth[seed, 0], np.sort(by_client)[:2].mean(), rtol=1e-6)  # 2 of 12
        np.testing.assert_allclose(leg.loss[seed, 0], losses.mean(), rtol=1e-5)


def test_where_nothing_is_defined():
    """A regression has no accuracy; a split without examples has no loss either."""
    data = fr.data.synthetic.quadratics(clients=3, dimension=2).clients
    problem = fr.Problem(fr.models.quadratic(), data, fr.participation.full(3), 1, 1, look_at="validation")
    looked = fr.run(problem, fr.FedAvg(lr=0.1), rounds=1)
    assert np.isnan([looked.accuracy, looked.loss, looked.worst, looked.worst_tenth]).all()
    assert np.isnan(looked.by_client).all()
    assert np.isfinite(looked.legs.train_loss).all()
    assert looked.legs.finite.all()
    assert looked.tail == 0


def test_where_nothing_is_looked_at_a_result_says_so():
    arrays = [(np.ones((4, 2)), np.arange(4) % 2)] * 3
    clients = fr.partition.from_lists(arrays, validation=0)
    problem = fr.Problem(fr.models.softmax(), clients, fr.participation.full(3), batch=2)
    assert repr(fr.run(problem, fr.FedAvg(lr=0.1), rounds=2)) == "<FedAvg: nothing looked at after 2 rounds, 1 seed(s)>"
