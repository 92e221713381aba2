"""What clients descend is the risk that `analysis` computes: its gradient, its tie, and where beta settles."""

import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import federage as fr
from federage.analysis import mean_cvar, tail_weights, var, variational
from federage.parts import kappa

BATCH = (jnp.zeros(()), jnp.zeros(()))  # not looked at: the losses below are functions of theta alone


def objective_and_gradient(theta, beta, alpha, gamma):
    """Of the mean-CVaR of f = (theta^2 + 1.5) / 2 (the mean of two losses), with f and grad f themselves."""

    def losses(theta, batch):
        return jnp.stack([theta**2, 1.5 * jnp.ones(())])

    risk = fr.parts.mean_cvar(alpha, gamma)

    def objective(v):
        return risk.objective(losses, *v, BATCH)

    (value, told), slopes = jax.value_and_grad(objective, has_aux=True)((theta, beta))
    f, gradient = jax.value_and_grad(lambda theta: jnp.mean(losses(theta, BATCH)))(theta)
    return value, told, slopes, f, gradient


@pytest.mark.parametrize(("beta", "exceeds"), [(1.0, True), (1.25, True), (1.5, False)])
@pytest.mark.parametrize("alpha", [0.25, 1.0])
@pytest.mark.parametrize("gamma", [0.0, 0.5, 1.0])
def test_the_gradient_is_the_paper_s_pair_also_at_the_tie(beta, exceeds, alpha, gamma):
    value, told, slopes, f, gradient = objective_and_gradient(jnp.float32(1.0), jnp.float32(beta), alpha, gamma)
    assert f == 1.25
    w = (1 - gamma) + gamma / alpha * exceeds  # all powers of two: exact in float32
    assert slopes == (w * gradient, 1 - w)
    assert told == (f, exceeds)
    assert value == variational([1.25], beta, alpha, gamma)


def test_the_slope_at_the_tie_is_none_of_the_others():
    """`jnp.maximum` has slope 1/2 there and `relu` 0: at beta = 0 with a zero loss the tie is real."""

    def slope(positive_part):
        return float(jax.grad(positive_part)(0.0))

    assert slope(lambda x: jnp.maximum(x, 0)) == 0.5
    assert slope(jax.nn.relu) == 0
    risk = fr.parts.mean_cvar(0.25, 1.0)
    assert slope(lambda theta: risk.objective(lambda t, _: t[None], theta, jnp.zeros(()), BATCH)[0]) == 1 / 0.25


@settings(max_examples=50, deadline=None)
@given(st.floats(0.015625, 1, width=32), st.floats(0, 1, width=32), st.floats(-2, 4, width=32))
def test_the_gradient_for_any_alpha_and_gamma(alpha, gamma, beta):
    _, _, slopes, f, gradient = objective_and_gradient(jnp.float32(1.0), jnp.float32(beta), alpha, gamma)
    w = kappa(alpha, gamma) if f >= beta else 1 - gamma
    np.testing.assert_allclose(slopes, (w * gradient, 1 - w), rtol=3e-6, atol=3e-6 * w)


def test_descending_beta_alone_over_a_distribution_is_minimising_the_variational_form():
    """The mean of beta's slope over the outcomes is the form's; it changes sign at the quantile."""
    losses, counts = np.array([0.5, 1.0, 2.0, 4.0], np.float32), np.array([1, 4, 2, 1])
    alpha, gamma = 0.25, 0.5

    def mean_slope(beta):
        risk = fr.parts.mean_cvar(alpha, gamma)
        each = [jax.grad(lambda b, f=f: risk.objective(lambda t, _: f[None], 0.0, b, BATCH)[0])(beta) for f in losses]
        return float(np.average(each, weights=counts))

    h = 1e-4
    for beta in (0.2, 0.7, 1.5, 3.0, 5.0):
        rise = variational(losses, [beta - h, beta + h], alpha, gamma, counts)
        assert mean_slope(beta) == pytest.approx(np.diff(rise)[0] / (2 * h), abs=1e-6)
    at = var(losses, alpha, counts)
    assert mean_slope(at - 0.1) < 0 < mean_slope(at + 0.1)


VALUES = (np.linspace(0, 1, 24) ** 3, np.linspace(0.2, 1, 24))
SHARES = (0.75, 0.25)
ALPHA, GAMMA, BETA_LR, SEEDS, ROUNDS, STEPS = 0.2, 0.8, 0.002, 64, 6000, 2


def outcomes(shares):
    """The mini-batch losses of two clients, batches of 2, and their probabilities when client i weighs shares[i]."""
    means = [np.array([(a + b) / 2 for a, b in itertools.combinations(values, 2)]) for values in VALUES]
    weights = [share / mean.size * np.ones(mean.size) for share, mean in zip(shares, means, strict=True)]
    return np.concatenate(means), np.concatenate(weights)


@pytest.fixture(scope="module")
def settled():
    """A model that shows its input whatever theta: the loss of a batch is the mean of its inputs."""
    data = [(values[:, None].astype(np.float32), np.zeros(24, np.int32)) for values in VALUES]
    model = fr.Model.of(
        lambda key: jnp.zeros(3), lambda theta, x: x[:, 0] + 0 * theta.sum(), loss=lambda out, y: out, score=no_score
    )
    clients = fr.partition.from_lists(data, data, validation=0)
    law = fr.participation.Weighted(SHARES, arrivals=1)
    problem = fr.Problem(model, clients, law, local_steps=STEPS, batch=2)
    method = fr.FedeRage(lr=0.5, beta_lr=BETA_LR, alpha=ALPHA, gamma=GAMMA)
    return fr.run(problem, method, rounds=ROUNDS, seeds=SEEDS, every=ROUNDS // 2)


def no_score(outputs, y):
    return jnp.full(y.shape[:1], jnp.nan)


def test_beta_settles_at_the_quantile_of_the_mini_batch_loss(settled):
    """Where P(f >= beta) = alpha, to within four standard errors.

    Near beta* a step is -(lr gamma / alpha) (alpha - 1{f >= beta}). With d the density of f there, and rho the
    correlation of a round's two steps, which have the client in common, beta forgets at rate lr gamma d / alpha, and is

        beta* with standard deviation sqrt(lr gamma (1 - alpha) (1 + rho) / (2 d)) about it.

    Both looks have forgotten the start and each other: their mean over 64 seeds is that well known.
    """
    losses, weights = outcomes(SHARES)
    expected = var(losses, ALPHA, weights)
    density = weights[np.abs(losses - expected) < 0.1].sum() / 0.2
    by_client = (losses >= expected).reshape(2, -1).mean(axis=1)
    rho = np.dot(SHARES, (by_client - ALPHA) ** 2) / (ALPHA * (1 - ALPHA))
    spread = np.sqrt(BETA_LR * GAMMA * (1 - ALPHA) * (1 + rho) / (2 * density))
    assert np.exp(-BETA_LR * GAMMA * density / ALPHA * STEPS * ROUNDS / 2) < 1e-9

    beta = settled.dual
    assert beta.shape == (SEEDS, 2)
    np.testing.assert_allclose(beta.std(), spread, rtol=0.25)  # four standard errors of a deviation from 128 numbers
    error = spread / np.sqrt(beta.size)
    np.testing.assert_allclose(beta.mean(), expected, atol=4 * error)
    wrong = [
        var(losses, ALPHA, outcomes((0.5, 0.5))[1]),  # if it did not matter who answers
        var(np.concatenate(VALUES), ALPHA, np.repeat(SHARES, 24)),  # of single examples
        var(losses, 1 - ALPHA, weights),  # of the other tail
    ]
    assert min(abs(np.array(wrong) - expected)) > 20 * error


def test_the_share_of_steps_in_the_tail_settles_at_alpha(settled):
    steps = SEEDS * STEPS * ROUNDS / 2
    np.testing.assert_allclose(settled.tail[:, -1].mean(), ALPHA, atol=5 * np.sqrt(ALPHA * (1 - ALPHA) / steps))


def test_theta_that_no_loss_depends_on_stays(settled):
    np.testing.assert_array_equal(settled.last.theta, 0)


def test_at_the_quantile_the_steps_weights_are_the_effective_weights_on_average():
    """Off the atom w is the density of `tail_weights` exactly; on it every tie exceeds, where the dual takes a part."""
    losses, weights = outcomes(SHARES)
    v = var(losses, ALPHA, weights)
    w = (1 - GAMMA) + GAMMA / ALPHA * (losses >= v)
    effective = tail_weights(losses, ALPHA, GAMMA, weights)
    off = losses != v
    np.testing.assert_allclose(effective[off], (w * weights)[off], rtol=1e-12)
    assert 1 < (w * weights).sum() < 1 + GAMMA / ALPHA * weights[~off].sum()
    assert mean_cvar(losses, ALPHA, GAMMA, weights) == pytest.approx(effective @ losses, rel=1e-14)
