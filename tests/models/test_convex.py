"""The convex models against their formulas, and the losses and scores that all models share."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from federage.core.model import correct, cross_entropy, no_score
from federage.models import hinge_svm, logistic, quadratic

RNG = np.random.default_rng(0)
X, Y = RNG.normal(size=(6, 3)).astype(np.float32), np.array([0, 1, 1, 0, 1, 0])
S = 2 * Y - 1


def losses(model: Any, theta: Any, x: Any = X, y: Any = Y) -> Any:
    return model.loss(model.apply(theta, x), y)


def gradient(model: Any, theta: Any, x: Any = X, y: Any = Y) -> np.ndarray:
    return np.asarray(jax.grad(lambda theta: losses(model, theta, x, y).sum())(theta))


def test_logistic():
    """log(1 + e^-sz), whose derivative in z is -s / (1 + e^sz); the last parameter is the bias."""
    theta = jnp.array([0.5, -1.0, 2.0, 0.3])
    z = X.astype(np.float64) @ [0.5, -1, 2] + 0.3
    np.testing.assert_allclose(losses(logistic(), theta), np.log1p(np.exp(-S * z)), rtol=2e-6)
    slope = -S / (1 + np.exp(S * z))
    np.testing.assert_allclose(gradient(logistic(), theta), np.append(slope @ X, slope.sum()), rtol=2e-5)
    np.testing.assert_array_equal(logistic().score(logistic().apply(theta, X), Y), (z > 0) == Y)


def test_logistic_far_out():
    """Where e^z overflows the loss is |z| or 0, and the gradient is finite."""
    theta, x = jnp.array([1.0, 0.0]), jnp.array([[500.0], [-500.0]])
    np.testing.assert_array_equal(losses(logistic(), theta, x, np.array([0, 0])), [500, 0])
    np.testing.assert_array_equal(gradient(logistic(), theta, x, np.array([0, 0])), [500, 1])


def test_hinge():
    theta = jnp.array([0.5, -1.0, 2.0])
    margin = S * (X.astype(np.float64) @ theta)
    assert 0 < (margin < 1).sum() < 6
    np.testing.assert_allclose(losses(hinge_svm(), theta), np.maximum(0, 1 - margin), rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(gradient(hinge_svm(), theta), -(S * (margin < 1)) @ X, rtol=1e-5)
    np.testing.assert_array_equal(hinge_svm().score(hinge_svm().apply(theta, X), Y), margin > 0)


@pytest.mark.parametrize("label", [0, 1])
def test_the_subgradient_where_the_hinge_bends(label: int):
    """At margin 1 any fraction of -s x is a subgradient; half of it is taken. Beyond it is 0, before it is all."""
    s = 2 * label - 1
    for theta, share in ((s * 0.999, 1), (s * 1.0, 0.5), (s * 1.001, 0)):
        at = gradient(hinge_svm(), jnp.array([theta, 0.0]), jnp.array([[1.0, 3.0]]), np.array([label]))
        np.testing.assert_array_equal(at, [-s * share, -3 * s * share])


def test_quadratic():
    """1/2 (theta - b)^T A (theta - b), and A (theta - b), for a matrix of each example's own."""
    root, b = RNG.normal(size=(4, 3, 3)), RNG.normal(size=(4, 3))
    a = root @ root.transpose(0, 2, 1)
    x = np.concatenate([a.reshape(4, 9), b], axis=1).astype(np.float32)
    theta = np.array([1.0, -2.0, 0.5])
    expected = [0.5 * (theta - b[k]) @ a[k] @ (theta - b[k]) for k in range(4)]
    np.testing.assert_allclose(
        losses(quadratic(), jnp.asarray(theta, jnp.float32), x, np.zeros(4)), expected, rtol=1e-5
    )
    pull = sum(a[k] @ (theta - b[k]) for k in range(4))
    came = gradient(quadratic(), jnp.asarray(theta, jnp.float32), x, np.zeros(4))
    np.testing.assert_allclose(came, pull, rtol=1e-5, atol=1e-4)
    assert np.isnan(quadratic().score(jnp.zeros(4), np.zeros(4))).all()


@pytest.mark.parametrize("model", [logistic(), hinge_svm()])
def test_they_start_at_zero(model: Any):
    theta = model.init(jax.random.key(0), jax.ShapeDtypeStruct((1, 2, 3), jnp.float32), 2)
    assert not np.any(theta)
    assert model.apply(theta, jnp.ones((5, 2, 3))).shape == (5,)


def test_cross_entropy():
    """-log of the label's share of e^z, also where e^z overflows; its gradient is softmax - one-hot."""
    z, y = RNG.normal(size=(5, 4)).astype(np.float32), np.array([0, 3, 2, 2, 1])
    shares = np.exp(z.astype(np.float64)) / np.exp(z.astype(np.float64)).sum(1, keepdims=True)
    np.testing.assert_allclose(cross_entropy(z, y), -np.log(shares[np.arange(5), y]), rtol=2e-6)
    slope = jax.grad(lambda z: cross_entropy(z, y).sum())(z)
    np.testing.assert_allclose(slope, shares - np.eye(4)[y], atol=1e-6)
    np.testing.assert_array_equal(cross_entropy(jnp.array([[1000.0, 0.0]]), jnp.array([1])), [1000])


def test_scores():
    assert correct(jnp.array([[0.0, 2.0, 1.0], [3.0, 3.0, 0.0]]), jnp.array([1, 1])).tolist() == [1, 0]
    assert np.isnan(no_score(None, jnp.zeros((3, 2)))).tolist() == [True] * 3
