"""The averages that algorithms return are those of the checkpoints, which can be collected round by round."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from mlp_by_hand import accuracy_and_loss
from same_numbers import assert_same_up_to_rounding

import federage as fr
from federage.core.state import initial


def checkpoints(legs: list[fr.Progress]) -> Any:
    """[rounds, seeds, ...] in float64."""
    return jax.tree.map(lambda *leaves: np.stack(leaves).astype(np.float64), *[leg.state.vars for leg in legs])


def test_the_average_is_the_mean_of_all_checkpoints(whole: fr.Result, round_by_round: list[fr.Progress]):
    """Without the initial one; beta is averaged with the model."""
    mean = jax.tree.map(lambda a: a.mean(axis=0), checkpoints(round_by_round))
    assert_same_up_to_rounding(mean, whole.average, rounding=2e-6)
    assert np.abs(mean.dual - whole.last.dual).min() > 1e-3


def test_the_smooth_average_is_its_recurrence(
    whole: fr.Result, round_by_round: list[fr.Progress], problem: fr.Problem, method: fr.FedeRageCV
):
    """s_0 is the initial checkpoint, s_t = .75 s_{t-1} + .25 v_t."""

    def start(seed: jax.Array) -> fr.Vars:
        return initial(method.parts(), problem, seed, True).vars

    smooth = jax.tree.map(lambda a: np.asarray(a, np.float64), jax.jit(jax.vmap(start))(jnp.arange(3)))
    assert min(np.abs(layer["weights"]).max() for layer in smooth.theta) > 0.1
    for leg in round_by_round:
        smooth = jax.tree.map(lambda s, v: 0.75 * s + 0.25 * v, smooth, leg.state.vars)
        assert_same_up_to_rounding(smooth, leg.state.smooth, rounding=2e-6)
    assert_same_up_to_rounding(smooth, whole.smooth)


def test_looks_measure_each_checkpoint_they_are_named_after(whole: fr.Result, problem: fr.Problem):
    """Losses at the three are further apart than rounding, so that none stands for another."""
    losses = {}
    for name, v in (("last", whole.last), ("average", whole.average), ("smooth", whole.smooth)):
        looked = whole.looks[name]
        np.testing.assert_array_equal(looked.dual[:, -1], v.dual)
        for k in range(3):
            accuracy, loss = accuracy_and_loss(jax.tree.map(lambda a, k=k: a[k], v.theta), problem.clients)
            np.testing.assert_allclose(looked.accuracy[k, -1], accuracy, rtol=1e-6)
            np.testing.assert_allclose(looked.loss[k, -1], loss, rtol=1e-5)
        losses[name] = looked.loss[:, -1]
    apart = [np.abs(losses[a] - losses[b]).min() for a, b in (("last", "average"), ("average", "smooth"))]
    assert min(apart) > 1e-3


def test_averages_that_were_not_asked_for_cost_nothing(round_by_round: list[fr.Progress], problem: fr.Problem):
    bare = jax.eval_shape(lambda: initial(fr.FedAvg(lr=0.1).parts(), problem, jnp.uint32(0), False))
    assert bare.smooth == ()
    assert round_by_round[0].state.smooth != ()
