"""Server steps of our own, one step at a time; and what becomes of a dual."""

import jax.numpy as jnp
import numpy as np
import optax
import pytest

import federage as fr
from federage.parts import adagrad_moment, adam_moment, adaptive, mean_cvar, momentum, yogi_moment
from federage.testing import tiny

STEPS = {
    "momentum": momentum(0.5, 0.9),
    "adagrad": adaptive(adagrad_moment(), 0.5, 0.0, 0.01),
    "adam": adaptive(adam_moment(0.99), 0.5, 0.9, 0.01),
    "yogi": adaptive(yogi_moment(0.99), 0.5, 0.9, 0.01),
}


def stepped(transformation, changes):
    """Where theta = 0 comes to by these merged changes, one after another."""
    at, memory = fr.Vars(jnp.zeros(()), ()), transformation.init(fr.Vars(jnp.zeros(()), ()))
    for change in changes:
        update, memory = transformation.update(fr.Vars(-jnp.float32(change), ()), memory, at)
        at = optax.apply_updates(at, update)
    return float(at.theta)


def test_the_first_step_is_not_corrected():
    """D = 3 at first: m = 0.3, v = 0.99 tau^2 + 0.09; Adam corrected would have taken a step of server_lr."""
    expected = 0.5 * 0.3 / (np.sqrt(0.99 * 0.01**2 + 0.09) + 0.01)
    assert stepped(STEPS["adam"], [3.0]) == pytest.approx(expected, rel=1e-5)
    assert stepped(optax.adam(0.5, 0.9, 0.99, 0.01), [3.0]) == pytest.approx(0.5, rel=1e-2)
    assert expected == pytest.approx(0.4838, abs=1e-3)


def test_yogi_s_moment_shrinks_by_no_more_than_what_came():
    """After D = 3 nothing comes: Adam's v shrinks by a hundredth each round, Yogi's stays."""
    adam, yogi = adam_moment(0.99), yogi_moment(0.99)
    assert float(adam(jnp.float32(4.0), jnp.float32(0.0))) == pytest.approx(3.96)
    assert float(yogi(jnp.float32(4.0), jnp.float32(0.0))) == 4.0
    assert float(yogi(jnp.float32(4.0), jnp.float32(1.0))) == pytest.approx(3.99)
    assert float(yogi(jnp.float32(1.0), jnp.float32(4.0))) == pytest.approx(1.04)
    assert float(adagrad_moment()(jnp.float32(4.0), jnp.float32(1.0))) == 5.0


@pytest.mark.parametrize("name", STEPS)
def test_a_dual_is_averaged_plainly(name: str):
    """After one round beta is that of FedeRage, and theta is not."""
    local = fr.parts.per_part(theta=optax.sgd(0.1), dual=optax.sgd(0.05))
    one = {"rounds": 1, "seeds": 2}
    came = fr.run(tiny(), fr.compose(local, risk=mean_cvar(0.3, 0.9), server=STEPS[name]), **one)
    plain = fr.run(tiny(), fr.FedeRage(0.1, beta_lr=0.05, alpha=0.3, gamma=0.9), **one)
    np.testing.assert_array_equal(came.last.dual, plain.last.dual)
    assert np.all(plain.last.dual != 0)
    assert not np.array_equal(came.last.theta["weights"], plain.last.theta["weights"])
