"""A loss equal to beta is in the tail: Algorithm 2's indicator is f >= beta.

beta starts at 0 and a loss can be 0, so ties are met in practice. Here all numbers are multiples of 1/64: exact.
"""

import jax.numpy as jnp
import numpy as np
import pytest

import federage as fr
from federage.data import synthetic
from federage.models import hinge_svm
from federage.participation import uniform

RISK = {"beta_lr": 1 / 32, "alpha": 1 / 4, "gamma": 1 / 2}  # in the tail beta rises by 3/64, else it falls by 1/64


@pytest.mark.parametrize("record", [fr.FedeRage, fr.FedeRageCV])
def test_satisfied_margins_tie_every_fourth_step(record):
    """Where every loss is 0, beta goes 0 (a tie), 3/64, 2/64, 1/64, 0 (a tie) ...: in the tail with frequency alpha."""
    data = synthetic.margin(4, 3, examples=8)
    separator = jnp.asarray(2 * data.separator, jnp.float32)  # every margin is met twice over
    model = hinge_svm()._replace(init=lambda key, example, classes: separator)
    problem = fr.Problem(model, data.clients, uniform(4, 2), local_steps=3, batch=4)
    result = fr.run(problem, record(0.1, **RISK), rounds=8, every=1)
    np.testing.assert_array_equal(result.legs.train_loss, 0)
    np.testing.assert_array_equal(result.dual[0] * 64, [1, 2, 3, 0, 1, 2, 3, 0])
    np.testing.assert_allclose(result.tail[0] * 3, [1, 1, 1, 0, 1, 1, 1, 0])  # of three steps
    np.testing.assert_array_equal(result.last.theta[0], separator)


def test_a_tie_takes_the_whole_slope():
    """A loss theta x at theta = 0 ties with beta = 0, and has a slope: the step is kappa lr x, no shorter."""
    model = fr.Model.of(lambda key: jnp.zeros(1), lambda theta, x: x @ theta, loss=lambda z, y: z)
    clients = fr.partition.from_lists([([[1.0]], [0.0])], classes=None, validation=0)
    problem = fr.Problem(model, clients, uniform(1, 1), local_steps=1, batch=1)
    method = fr.FedeRage(1 / 8, **RISK)
    assert method.kappa == 5 / 2
    result = fr.run(problem, method, rounds=1)
    np.testing.assert_array_equal(result.last.theta, [[-5 / 16]])
    np.testing.assert_array_equal(result.last.dual, [3 / 64])
    np.testing.assert_array_equal(result.tail, [[1]])
