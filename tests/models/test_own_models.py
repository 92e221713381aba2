"""Models from elsewhere: a Flax module, an Equinox module and a plain pair of functions train like our own."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import federage as fr

METHOD = fr.FedeRage(lr=0.05, beta_lr=0.05, alpha=0.5, gamma=0.5)
HIDDEN = 12


@pytest.fixture(scope="module")
def digits() -> fr.Clients:
    return fr.partition.iid(fr.data.load("digits"), clients=5)


def train(clients: fr.Clients, model: fr.Model, method: Any = METHOD) -> fr.Result:
    problem = fr.Problem(model, clients, fr.participation.uniform(len(clients), 3), local_steps=5, batch=16)
    return fr.run(problem, method, rounds=10, every=5)


def assert_learns(result: fr.Result) -> None:
    """Chance is 10 %, and log 10 = 2.3 the loss of knowing nothing."""
    assert result.finite.all()
    assert result.loss[0, 1] < result.loss[0, 0] < 2.3
    assert result.accuracy[0, 1] > 0.5


def test_a_flax_module_is_our_own_network(digits: fr.Clients):
    """Two roads to one function, from the same weights on the same batches: up to rounding over fifty steps."""
    nn = pytest.importorskip("flax.linen")

    class Net(nn.Module):
        @nn.compact
        def __call__(self, x: jax.Array) -> jax.Array:
            x = nn.relu(nn.Dense(HIDDEN)(x.reshape(x.shape[0], -1)))
            return nn.Dense(10)(x)

    net, ours = Net(), fr.models.mlp((HIDDEN,))

    def init(key: jax.Array) -> Any:
        return net.init(key, jnp.zeros((1, 8, 8, 1)))

    def translated(theta: Any) -> Any:
        first, last = (theta["params"][f"Dense_{k}"] for k in range(2))
        return [
            {"weights": first["kernel"], "bias": first["bias"]},
            {"weights": jnp.swapaxes(last["kernel"], -1, -2), "bias": last["bias"]},
        ]

    theirs = train(digits, fr.Model.of(init, net.apply, name="flax"))
    same = train(digits, ours._replace(init=lambda key, example, classes: translated(init(key))))
    assert_learns(theirs)
    np.testing.assert_allclose(theirs.loss, same.loss, rtol=1e-5)
    for a, b in zip(*map(jax.tree.leaves, (translated(theirs.last.theta), same.last.theta)), strict=True):
        np.testing.assert_allclose(a, b, rtol=0, atol=1e-5)


def test_an_equinox_module(digits: fr.Clients):
    """Its arrays are theta, the rest of it stays in the functions."""
    eqx = pytest.importorskip("equinox")

    def module(key: jax.Array) -> Any:
        return eqx.nn.MLP(64, 10, HIDDEN, depth=1, key=key)

    _, rest = eqx.partition(module(jax.random.key(0)), eqx.is_array)

    def apply(theta: Any, x: jax.Array) -> jax.Array:
        return jax.vmap(eqx.combine(theta, rest))(x.reshape(x.shape[0], -1))

    result = train(digits, fr.Model.of(lambda key: eqx.filter(module(key), eqx.is_array), apply, name="equinox"))
    assert_learns(result)
    assert sum(leaf.size for leaf in jax.tree.leaves(result.last.theta)) == 64 * 12 + 12 + 12 * 10 + 10


def test_a_pair_of_functions_with_its_own_loss_and_score():
    """Least squares for two outputs at once: full participation and full batches are gradient descent, written out."""
    rng = np.random.default_rng(1)
    data = [(x := rng.normal(size=(6, 3)), x @ rng.normal(size=(3, 2))) for _ in range(3)]
    clients = fr.partition.from_lists(data, data, classes=None, validation=0)
    model = fr.Model.of(
        init=lambda key: jnp.ones((3, 2)),
        apply=lambda theta, x: x @ theta,
        loss=lambda z, y: jnp.sum((z - y) ** 2, axis=1),
        score=lambda z, y: jnp.all(jnp.abs(z - y) < 1, axis=1),
    )
    problem = fr.Problem(model, clients, fr.participation.full(3), local_steps=1, batch=6)
    result = fr.run(problem, fr.FedAvg(lr=0.05), rounds=10, every=1)
    x, y = (np.concatenate(part) for part in zip(*data, strict=True))
    theta = np.ones((3, 2))
    for t in range(10):
        theta -= 0.05 * 2 * x.T @ (x @ theta - y) / len(x)
        residuals = x @ theta - y
        np.testing.assert_allclose(result.loss[0, t], (residuals**2).sum(1).mean(), rtol=1e-5)
        assert result.accuracy[0, t] == pytest.approx((np.abs(residuals) < 1).all(1).mean(), abs=1e-6)
    np.testing.assert_allclose(result.last.theta[0], theta, rtol=0, atol=5e-6)
    assert result.loss[0, -1] < result.loss[0, 0]
