import jax
import jax.numpy as jnp
import numpy as np
import pytest

from federage.data import partition, synthetic
from federage.errors import RecordError

WEIGHTS = [None, np.array([0.5, 0.3, 0.1, 0.1])]


def mean_by_client(loss, clients, theta, p):
    """sum_i p_i times the mean loss of client i's training examples, in JAX: the road that an algorithm takes."""
    lengths = np.asarray(clients.train.lengths)
    p = np.full(len(lengths), 1 / len(lengths)) if p is None else p
    losses = jax.vmap(lambda x, y: loss(theta, x, y))(clients.train.x, clients.train.y)
    return jnp.sum(losses * jnp.asarray(np.repeat(p / lengths, lengths), jnp.float32))


def quadratic_loss(theta, x, y):
    a, b = synthetic.unpack_quadratic(x)
    return 0.5 * (theta - b) @ a @ (theta - b)


@pytest.mark.parametrize("p", WEIGHTS)
@pytest.mark.parametrize("noise", [0.0, 0.5])
def test_the_gradient_vanishes_at_the_closed_form_optimum(p, noise):
    problem = synthetic.quadratics(4, 3, examples=6, noise=noise)
    gradient = jax.grad(lambda theta: mean_by_client(quadratic_loss, problem.clients, theta, p))
    assert jnp.abs(gradient(jnp.asarray(problem.optimum(p), jnp.float32))).max() < 1e-5
    assert jnp.abs(gradient(jnp.zeros(3))).max() > 1e-2


def test_given_quadratics_are_used_and_their_optimum_is_known_by_hand():
    problem = synthetic.quadratics(matrices=[[[1.0]], [[3.0]]], centres=[[0.0], [4.0]])
    np.testing.assert_allclose(problem.optimum(), [3.0])
    np.testing.assert_allclose(problem.optimum([0.75, 0.25]), [2.0])
    np.testing.assert_array_equal(problem.clients.train.x, [[1, 0], [3, 4]])
    assert problem.clients.classes is None


def test_random_matrices_have_the_condition_asked_for():
    problem = synthetic.quadratics(5, 4, condition=7.0)
    values = np.linalg.eigvalsh(problem.matrices)
    assert values.min() > 1 - 1e-5
    assert values.max() < 7 + 1e-5


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"matrices": [[[1.0, 0.5], [0.0, 1.0]]]}, "symmetric"),
        ({"matrices": [[[1.0, 0.0], [0.0, -1.0]]]}, "positive definite"),
        ({"matrices": [[[1.0]]], "centres": [[0.0, 1.0]]}, "expected matrices"),
        ({"condition": 0.5}, "condition >= 1"),
        ({"clients": 0}, "clients=0"),
    ],
)
def test_quadratics_outside_their_domain(arguments, words):
    with pytest.raises(RecordError, match=words):
        synthetic.quadratics(**arguments)


def test_weights_and_widths_are_checked():
    problem = synthetic.quadratics(2, 2)
    for p in ([1.0], [1.0, -1.0], [0.0, 0.0]):
        with pytest.raises(RecordError, match="2 weights"):
            problem.optimum(p)
    with pytest.raises(RecordError, match="width 7"):
        synthetic.unpack_quadratic(np.zeros(7))


def logistic_loss(theta, x, y):
    return jnp.logaddexp(0.0, -(2.0 * y - 1) * (x @ theta[:-1] + theta[-1]))


@pytest.mark.parametrize("p", WEIGHTS)
def test_the_logistic_optimum_is_stationary_and_scikit_learns(p):
    problem = synthetic.logistic(4, 3, examples=50, test=10)
    optimum = problem.optimum(p)
    theta = jnp.asarray(optimum, jnp.float32)
    risk, gradient = jax.value_and_grad(lambda theta: mean_by_client(logistic_loss, problem.clients, theta, p))(theta)
    assert jnp.abs(gradient).max() < 1e-5
    assert float(risk) == pytest.approx(problem.value(optimum, p), abs=1e-5)
    np.testing.assert_array_equal(problem.clients.test.lengths, 10)
    linear = pytest.importorskip("sklearn.linear_model")
    train = problem.clients.train
    weights = np.repeat(np.full(4, 0.25) if p is None else p, 50)
    other = linear.LogisticRegression(C=np.inf, tol=1e-10, max_iter=1000)
    other.fit(np.asarray(train.x), np.asarray(train.y), weights)
    np.testing.assert_allclose(optimum, [*other.coef_[0], other.intercept_[0]], atol=1e-3)


def test_separable_logistic_data_have_no_optimum_unless_a_ridge_makes_one():
    problem = synthetic.logistic(3, 2, separation=50.0)
    with pytest.raises(RecordError, match="separated"):
        problem.optimum()
    optimum = problem.optimum(ridge=0.1)
    for step in 1e-3 * np.eye(3):
        assert problem.value(optimum, ridge=0.1) < problem.value(optimum + step, ridge=0.1)


def test_the_separator_has_no_hinge_loss():
    problem = synthetic.margin(5, 4, width=0.1, test=20)
    for part in (problem.clients.train, problem.clients.test):
        signs = 2.0 * np.asarray(part.y) - 1
        assert (signs * (np.asarray(part.x, float) @ problem.separator) >= 1).all()
        assert set(np.asarray(part.y)) == {0, 1}
    assert np.linalg.norm(problem.separator) == pytest.approx(10)
    flipped = synthetic.margin(5, 4, flipped=0.2)
    signs = 2.0 * np.asarray(flipped.clients.train.y) - 1
    assert 0.1 < np.mean(signs * (np.asarray(flipped.clients.train.x) @ flipped.separator) < 0) < 0.3
    with pytest.raises(RecordError, match="flipped"):
        synthetic.margin(flipped=0.5)


def test_the_motivating_example_is_five_strangers_of_whom_two_are_rare():
    clients = synthetic.motivating_example()
    assert sum(synthetic.AVAILABILITY) == pytest.approx(1)
    assert len(clients) == len(synthetic.AVAILABILITY) == 5
    assert clients.rare.tolist() == [p < 0.1 for p in synthetic.AVAILABILITY]
    rows = partition.describe(clients)
    assert all(len(row["classes"]) == 2 for row in rows)
    assert clients.classes == 3
    # The nearest cluster centre is the best rule there is: it does well, and not perfectly, for everybody.
    x, y = np.asarray(clients.test.x), np.asarray(clients.test.y)
    angles = 2 * np.pi * np.arange(10) / 10
    centres = 4 * np.stack([np.cos(angles), np.sin(angles)], 1)
    right = np.argmin(((x[:, None] - centres) ** 2).sum(2), 1) % 3 == y
    accuracy = right.reshape(5, -1).mean(1)
    assert accuracy.min() > 0.75
    assert accuracy.max() < 1


def test_a_seed_gives_one_problem():
    for make in (
        lambda seed: synthetic.quadratics(seed=seed).clients,
        lambda seed: synthetic.logistic(seed=seed).clients,
        lambda seed: synthetic.margin(seed=seed).clients,
        lambda seed: synthetic.motivating_example(seed=seed),
    ):
        first, again, other = make(1), make(1), make(2)
        np.testing.assert_array_equal(first.train.x, again.train.x)
        assert not np.array_equal(first.train.x, other.train.x)
