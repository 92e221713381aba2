"""Effective weights where they are known: batches that are whole clients, and batches that can all be listed."""

import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import federage as fr
from federage.analysis import effective, effective_weights, tail_weights, var
from federage.core import batches
from federage.core.randomness import Purpose, at, stream
from federage.errors import RecordError
from federage.testing import tiny

CLIENTS, EXAMPLES = 5, 6
P = np.array([0.1, 0.3, 0.2, 0.15, 0.25])
VALUES = [np.linspace(0, 1, 24) ** 3, np.linspace(0.2, 1, 30), np.linspace(0, 0.6, 12)]
SHARES = np.array([0.7, 0.2, 0.1])


def quadratics(batch, clients=CLIENTS):
    """A problem, a theta, and each client's mean loss there in float64."""
    data = fr.data.synthetic.quadratics(clients, 3, examples=EXAMPLES, noise=0.4, seed=3)
    theta = np.linspace(-1, 1, 3).astype(np.float32)
    problem = fr.Problem(fr.models.quadratic(), data.clients, fr.participation.full(clients), 1, batch)
    matrices, centres = fr.data.synthetic.unpack_quadratic(np.asarray(data.clients.train.x, float))
    away = theta - centres
    losses = 0.5 * np.einsum("ei,eij,ej->e", away, matrices, away)
    return problem, theta, losses.reshape(clients, EXAMPLES).mean(axis=1)


def showing(batch=2):
    """A model that shows its input whatever theta: the loss of a batch is the mean of its inputs."""
    model = fr.Model.of(
        lambda key: jnp.zeros(2), lambda theta, x: x[:, 0], loss=lambda out, y: out, score=lambda out, y: 0 * out
    )
    data = [(values[:, None].astype(np.float32), np.zeros(len(values), np.int32)) for values in VALUES]
    law = fr.participation.Weighted(SHARES, arrivals=1)
    return fr.Problem(model, fr.partition.from_lists(data, validation=0), law, 1, batch), jnp.zeros(2)


@pytest.mark.parametrize("alpha", [0.05, 0.3, 0.8])
@pytest.mark.parametrize("gamma", [0.4, 1.0])
def test_a_batch_that_is_the_client_leaves_no_chance(alpha, gamma):
    problem, theta, losses = quadratics(batch=EXAMPLES)
    found = effective_weights(problem, theta, alpha, gamma, P, draws=7)
    np.testing.assert_allclose(found.loss, losses, rtol=1e-6)
    np.testing.assert_allclose(found.shares, tail_weights(losses, alpha, gamma, P), rtol=1e-12)
    assert found.quantile == pytest.approx(var(losses, alpha, P), rel=1e-6)
    assert found.draws.tolist() == [7] * CLIENTS
    assert found.how == "7 mini-batches of each client"


@pytest.mark.parametrize(("alpha", "gamma"), [(1.0, 0.7), (0.2, 0.0)])
@pytest.mark.parametrize("budget", [2**18, 8])
def test_without_a_tail_the_weights_are_the_law_s(alpha, gamma, budget):
    problem, theta, _ = quadratics(batch=2)
    found = effective_weights(problem, theta, alpha, gamma, P, budget=budget)
    np.testing.assert_array_equal(found.shares, P / P.sum())


def test_the_law_s_own_weights():
    problem, theta, _ = quadratics(batch=2)
    law = fr.participation.Weighted([5, 4, 3, 2, 1], arrivals=2)
    p = law.weights()
    np.testing.assert_allclose(effective_weights(problem, theta, 1.0, 0.5, p).shares, p.values, rtol=1e-12)


def every_outcome():
    """The losses of all batches of two, whose they are, and their probabilities."""
    means = [np.array([(a + b) / 2 for a, b in itertools.combinations(values, 2)]) for values in VALUES]
    owner = np.repeat(np.arange(3), [len(m) for m in means])
    return np.concatenate(means), owner, SHARES[owner] / np.array([len(m) for m in means])[owner]


@pytest.mark.parametrize("alpha", [0.05, 0.3])
def test_many_draws_come_to_what_all_batches_give(alpha):
    """To within four standard errors, those of an average of `draws` bounded numbers for each client."""
    problem, theta = showing()
    draws, gamma = 20_000, 0.9
    losses, owner, weights = every_outcome()
    found = effective_weights(problem, theta, alpha, gamma, SHARES, draws=draws)
    expected = np.bincount(owner, tail_weights(losses, alpha, gamma, weights))
    assert np.abs(expected - SHARES).max() > 0.1
    spread = SHARES * gamma / alpha / (2 * np.sqrt(draws))  # of p_i (gamma / alpha) 1{f > v}, at most
    assert (np.abs(found.shares - expected) < 4 * np.hypot(spread, spread.sum() * SHARES)).all()
    near = [var(losses, alpha + shift, weights) for shift in (0.01, -0.01)]
    assert near[0] <= found.quantile <= near[1]
    np.testing.assert_allclose(found.loss, [values.mean() for values in VALUES], atol=4 * 0.25 / np.sqrt(draws))
    assert found.shares.sum() == pytest.approx(1, rel=1e-12)


def test_mini_batches_are_the_engine_s():
    """The subset at (seed, round, client, step), of a round that is never played."""
    problem, theta = showing(batch=5)
    found = effective_weights(problem, theta, 0.5, 0.5, SHARES, draws=3, seed=4)
    key = at(stream(4, Purpose.BATCHES), 2**31 - 1)
    for client, values in enumerate(VALUES):
        drawn = [batches.draw(at(key, client, step), len(values), 5) for step in range(3)]
        np.testing.assert_allclose(found.loss[client], np.mean([values[d] for d in drawn]), rtol=1e-6)
    other = effective_weights(problem, theta, 0.5, 0.5, SHARES, draws=3, seed=5)
    assert (found.loss != other.loss).all()


def test_equal_mini_batches_are_one_atom():
    """Clients that hold the same examples share the tail alike, though it holds half of either's weight only."""
    values = np.random.default_rng(0).random((64, 1)).astype(np.float32)
    model = showing()[0].model
    clients = fr.partition.from_lists([(values, np.zeros(64, int)), (values, np.zeros(64, int))], validation=0)
    problem = fr.Problem(model, clients, fr.participation.full(2), 1, 64)
    found = effective_weights(problem, jnp.zeros(2), 0.25, 1.0, [0.5, 0.5], draws=9)
    assert found.loss[0] == found.loss[1]
    np.testing.assert_allclose(found.shares, [0.5, 0.5], rtol=1e-12)


def test_who_never_comes_has_no_share_and_costs_nothing():
    problem, theta, losses = quadratics(batch=2)
    everybody = effective_weights(problem, theta, 0.3, 0.8, P)
    p = np.where(np.arange(CLIENTS) == np.argmax(losses), 0, P)
    found = effective_weights(problem, theta, 0.3, 0.8, p)
    gone = p == 0
    assert (found.shares[gone], found.draws[gone]) == (0, 0)
    assert np.isnan(found.loss[gone])
    np.testing.assert_allclose(found.loss[~gone], everybody.loss[~gone], rtol=1e-6)  # nobody else draws differently
    assert found.shares.sum() == pytest.approx(1, rel=1e-12)


def test_a_budget_takes_draws_from_all_alike():
    problem, theta, _ = quadratics(batch=2)
    found = effective_weights(problem, theta, 0.3, 0.8, P, draws=64, budget=2 * CLIENTS * 10 + 9)
    assert found.draws.tolist() == [10] * CLIENTS
    assert found.how == "10 mini-batches of each client, as many as the budget allows"
    again = effective_weights(problem, theta, 0.3, 0.8, P, draws=10)
    np.testing.assert_array_equal(found.shares, again.shares)


def test_a_budget_below_one_draw_each_samples_clients_by_their_weights():
    """Each client comes m p_i times, rounded up or down, and on average exactly so."""
    problem, theta, losses = quadratics(batch=EXAMPLES, clients=30)
    p = np.arange(30) / np.arange(30).sum()
    budget, seeds, alpha, gamma = EXAMPLES * 12 + 1, 200, 0.4, 0.6
    found = [effective_weights(problem, theta, alpha, gamma, p, budget=budget, seed=k) for k in range(seeds)]
    draws = np.stack([one.draws for one in found])
    assert (draws.sum(axis=1) == 12).all()
    assert ((draws == np.floor(12 * p)) | (draws == np.ceil(12 * p))).all()
    error = np.sqrt(12 * p * (1 - np.minimum(12 * p, 1)) / seeds)
    assert (np.abs(draws.mean(axis=0) - 12 * p) <= 4 * error + 1e-9).all()
    assert found[0].how == "12 mini-batches, as many as the budget allows, of clients drawn by their weights"
    for one in found[:3]:
        seen = one.draws > 0
        np.testing.assert_array_equal(np.isnan(one.loss), ~seen)
        np.testing.assert_allclose(one.loss[seen], losses[seen], rtol=1e-6)
        np.testing.assert_allclose(one.shares, tail_weights(losses, alpha, gamma, one.draws), rtol=1e-12)


def test_pieces_change_nothing(monkeypatch):
    problem = tiny()
    theta = jax.tree.map(lambda a: a + 0.3 * jnp.arange(a.size).reshape(a.shape), problem.init(jax.random.key(0)))
    p = problem.law.weights()
    whole = effective_weights(problem, theta, 0.2, 0.9, p, draws=11)
    monkeypatch.setattr(effective, "_AT_ONCE", 5 * 4 * 4 * problem.batch)  # five mini-batches of four inputs a piece
    pieces = effective_weights(problem, theta, 0.2, 0.9, p, draws=11)
    np.testing.assert_allclose(pieces.shares, whole.shares, rtol=1e-5)
    np.testing.assert_allclose(pieces.loss, whole.loss, rtol=1e-6)
    assert pieces.quantile == pytest.approx(whole.quantile, rel=1e-6)


def test_inputs_are_gathered_in_pieces(monkeypatch):
    """40,000 mini-batches of 32 kB would be 1.3 GB; the program asks for less than 64 MB."""
    asked = []

    def measured(*args):
        asked.append(jax.jit(effective._losses).lower(*args).compile().memory_analysis().temp_size_in_bytes)
        return np.zeros(args[-1].shape)

    monkeypatch.setattr(effective, "_compiled", lambda: measured)
    data = [(np.zeros((2, 4096), np.float32), np.zeros(2, int))] * 2
    clients = fr.partition.from_lists(data, classes=3, validation=0)
    problem = fr.Problem(fr.models.softmax(), clients, fr.participation.full(2), 1, 2)
    effective_weights(problem, problem.init(jax.random.key(0)), 0.5, 0.5, [0.5, 0.5], draws=20_000, budget=2**20)
    assert asked[0] < 2**26


def test_a_checkpoint_of_a_run():
    """The model of one seed out of a result, whose beta runs after the quantile."""
    problem = tiny()
    result = fr.run(problem, fr.FedeRage(lr=0.05, alpha=0.5, gamma=0.5), rounds=3, seeds=2)
    p = problem.law.weights()
    theta = jax.tree.map(lambda a: a[1], result.last.theta)
    found = effective_weights(problem, theta, 0.5, 0.5, p, seed=1)
    assert found.shares.sum() == pytest.approx(1, rel=1e-12)
    assert (found.shares >= 0.5 * p.values * (1 - 1e-12)).all()
    assert (found.shares <= 1.5 * p.values * (1 + 1e-12)).all()
    with pytest.raises(
        RecordError, match=r"theta takes the arrays of one softmax, of shapes \[.*of a result's runs pass"
    ):
        effective_weights(problem, result.last.theta, 0.5, 0.5, p)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"alpha": 1.2}, r"alpha=1.2 is not a tail mass in \(0, 1\]"),
        ({"gamma": -1}, r"gamma=-1 is not a weight in \[0, 1\]"),
        ({"weights": [1, 2]}, "weights takes one number for each of 5 clients, but 2 came; match them"),
        ({"draws": 0}, "draws takes an integer >= 1, but 0 came"),
        ({"budget": 1}, "budget takes an integer >= 2, but 1 came"),
        ({"seed": -1}, "seed takes an integer >= 0, but -1 came"),
        ({"theta": np.full(3, np.nan)}, "client 0 a mini-batch loss of nan; leave out runs that became non-finite"),
    ],
)
def test_what_is_refused(changes, message):
    problem, theta, _ = quadratics(batch=2)
    with pytest.raises(RecordError, match=message) as error:
        effective_weights(problem, **{"theta": theta, "alpha": 0.5, "gamma": 0.5, "weights": P, **changes})
    assert "\n" not in str(error.value)
