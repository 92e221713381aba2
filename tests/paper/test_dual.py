"""What the mini-batch size does to effective weights (Fig. 3b), against sums over all subsets by hand."""

import itertools

import numpy as np
import pytest

from federage.analysis import risk
from federage.paper.dual import exponential, inherited

LOSSES = np.array([0.3, 1.7, 0.2, 0.9, 2.5, 1.1])


def test_points_are_outcomes_when_a_mini_batch_is_one_point():
    np.testing.assert_allclose(inherited(LOSSES, 1, 0.3, 0.8, 10), risk.tail_weights(LOSSES, 0.3, 0.8))


@pytest.mark.parametrize("batch", range(1, 7))
def test_weights_are_a_distribution_under_which_the_mean_loss_is_the_mean_cvar(batch):
    weights = inherited(LOSSES, batch, 0.3, 0.8, 100)
    outcomes = [np.mean(subset) for subset in itertools.combinations(LOSSES, batch)]
    assert weights.sum() == pytest.approx(1)
    assert weights @ LOSSES == pytest.approx(risk.mean_cvar(outcomes, 0.3, 0.8))


def test_one_mini_batch_of_everything_weighs_all_alike():
    np.testing.assert_allclose(inherited(LOSSES, 6, 0.3, 0.8, 10), 1 / 6)


def test_the_worst_pair_by_hand():
    """Fifteen pairs; the worst fifteenth is {1.7, 2.5}, and the CVaR alone gives it everything."""
    np.testing.assert_allclose(inherited(LOSSES, 2, 1 / 15, 1.0, 100), [0, 0.5, 0, 0, 0.5, 0], atol=1e-12)


def test_drawn_mini_batches_come_near_all_of_them():
    losses = exponential(16)
    exact, drawn = (inherited(losses, 8, 0.2, 0.5, draws) for draws in (12_870, 12_869))
    assert not np.array_equal(exact, drawn), "there are 12,870 subsets of half of 16"
    assert drawn.sum() == pytest.approx(1)
    np.testing.assert_allclose(drawn, exact, rtol=0.06)


def test_larger_mini_batches_flatten_the_weights():
    losses = exponential(100)
    most = [inherited(losses, batch, 0.1, 0.25, 20_000).max() for batch in (1, 5, 25, 100)]
    assert most == sorted(most, reverse=True)
    assert most[-1] == pytest.approx(0.01)


def test_exponential_quantiles():
    """The median of an exponential distribution is log 2, its mean 1."""
    assert exponential(1)[0] == pytest.approx(np.log(2))
    assert exponential(100_000).mean() == pytest.approx(1, abs=1e-4)
