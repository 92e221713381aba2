"""pi and p three ways: the library's formula, R(S) written out, and the law's own draws."""

import jax
import laws_by_hand as by_hand
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from federage.participation import (
    Coins,
    Prescribed,
    RandomSize,
    Table,
    Weighted,
    check_law,
    full,
    monte_carlo,
    skewed,
    uniform,
)
from federage.participation import weighted as weighted_module
from federage.participation.arrival_times import rank_probabilities
from federage.participation.conformance import replay

PRESCRIBED = Prescribed([0.9, 0.5, 0.3, 0.2, 0.1], seed=3)
INDEPENDENT = {
    "weighted": (Weighted([4, 4, 1, 1], 2), by_hand.successive([4, 4, 1, 1], 2)),
    "weighted, never": (Weighted([5, 0, 2, 1], 2), by_hand.successive([5, 0, 2, 1], 2)),
    "skewed": (skewed(4, 2, [1], 0.2), by_hand.successive([1, 0.2, 1, 1], 2)),
    "prescribed": (PRESCRIBED, by_hand.systematic([0.9, 0.5, 0.3, 0.2, 0.1], np.asarray(PRESCRIBED.order))),
    "coins": (Coins([0.9, 0.1, 0.0, 0.6]), by_hand.coins([0.9, 0.1, 0.0, 0.6])),
    "coins, one always": (Coins([0.3, 1.0, 0.2, 0.5]), by_hand.coins([0.3, 1.0, 0.2, 0.5])),
    "table": (
        Table([[0], [2, 0], [1, 2, 3]], [0.2, 0.5, 0.3], clients=5),
        {frozenset([0]): 0.2, frozenset([0, 2]): 0.5, frozenset([1, 2, 3]): 0.3},
    ),
    "random size": (
        RandomSize([3, 1, 1, 0.2], {1: 0.5, 3: 0.5}),
        by_hand.random_size([3, 1, 1, 0.2], {1: 0.5, 3: 0.5}),
    ),
}


@pytest.mark.parametrize("name", INDEPENDENT)
def test_formula_enumeration_and_draws_agree(name):
    law, table = INDEPENDENT[name]
    inclusion, weights = by_hand.marginals(table, law.clients)
    np.testing.assert_allclose(law.inclusion().values, inclusion, rtol=1e-11, atol=1e-15)
    np.testing.assert_allclose(law.weights().values, weights, rtol=1e-11, atol=1e-15)
    assert law.inclusion().exact
    assert law.weights().exact

    check_law(law, draws=20_000, rounds=4000)

    subsets = by_hand.drawn(law, jax.random.key(7), rounds=4000, runs=5)
    assert set(subsets) <= set(table)
    expected = np.array(list(table.values())) * len(subsets)
    counted = np.array([sum(subset == one for subset in subsets) for one in table])
    often = expected > 5
    pooled = [np.append(counts[often], counts[~often].sum() + 1e-9) for counts in (counted, expected)]
    assert stats.chisquare(*pooled).pvalue > 1e-4


def test_the_prior_is_not_the_participation():
    values = Weighted([0.4, 0.4, 0.1, 0.1], 2).inclusion().values
    first = (
        0.4 + 0.4 * 0.4 / 0.6 + 2 * 0.1 * 0.4 / 0.9
    )  # drawn first, or after the other large one, or after a small one
    np.testing.assert_allclose(values, [first, first, 1 - first, 1 - first], rtol=1e-13)
    np.testing.assert_array_equal(values.round(3), [0.756, 0.756, 0.244, 0.244])


@settings(max_examples=60, deadline=None)
@given(st.lists(st.floats(-8, 0), min_size=2, max_size=5), st.data())
def test_quadrature_over_eight_decades(exponents, data):
    prior = 10.0 ** np.array(exponents)
    prior /= prior.sum()
    size = data.draw(st.integers(1, prior.size))
    ranks, row = rank_probabilities(prior, size)
    exact = np.zeros((prior.size, size))
    for order, chance in by_hand.sequences(prior.tolist(), size).items():
        exact[list(order), range(size)] += chance
    np.testing.assert_allclose(ranks[row], exact, rtol=1e-10)


@pytest.mark.parametrize("clients", [1, 5, 30])
def test_all_and_one(clients):
    prior = np.arange(1.0, clients + 1)
    assert (Weighted(prior, clients).weights().values == 1 / clients).all()
    assert (Weighted(prior, clients).inclusion().values == 1).all()
    np.testing.assert_allclose(full(clients).weights().values, 1 / clients, rtol=1e-15)
    np.testing.assert_allclose(uniform(clients, clients).weights().values, 1 / clients, rtol=1e-15)
    np.testing.assert_allclose(Coins(np.ones(clients)).weights().values, 1 / clients, rtol=1e-14)
    np.testing.assert_allclose(Prescribed(np.ones(clients)).weights().values, 1 / clients, rtol=1e-15)
    np.testing.assert_allclose(Weighted(prior, 1).weights().values, prior / prior.sum(), rtol=1e-15)
    np.testing.assert_allclose(RandomSize(prior, [1.0]).weights().values, prior / prior.sum(), rtol=1e-15)


@pytest.mark.parametrize("size", [1, 2, 7, 30])
def test_uniform_and_the_stated_skew(size):
    np.testing.assert_allclose(uniform(30, size).inclusion().values, size / 30, rtol=1e-14)
    stated = {"mild": (0.0224, 0.1086), "moderate": (0.0057, 0.1105), "severe": (0.0012, 0.1110)}
    for severity, (rare, common) in stated.items():
        values = skewed(30, 3, rare=3, severity=severity).inclusion().values
        np.testing.assert_allclose(values, [common] * 27 + [rare] * 3, atol=5e-5)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.floats(0, 1), min_size=1, max_size=6).filter(lambda q: sum(q) > 1e-6))
def test_coins_against_enumeration(q):
    inclusion, weights = by_hand.marginals(by_hand.coins(q), len(q))
    law = Coins(q)
    np.testing.assert_allclose(law.inclusion().values, inclusion, rtol=1e-9, atol=1e-300)
    np.testing.assert_allclose(law.weights().values, weights, rtol=1e-9, atol=1e-300)
    assert abs(law.weights().values.sum() - 1) < 1e-14


def test_middling_sizes_sum_to_the_number_of_arrivals():
    prior = np.random.default_rng(0).lognormal(0, 2, 60)
    ranks, row = rank_probabilities(prior, 25)
    np.testing.assert_allclose(ranks[row].sum(0), 1, rtol=1e-12)
    assert (np.diff(Weighted(np.sort(prior), 25).inclusion().values) >= 0).all()


def test_monte_carlo_stands_in_and_says_so(monkeypatch):
    law, sized = Weighted([4, 4, 1, 1], 2), RandomSize([4, 4, 1, 1], {1: 0.5, 2: 0.5})
    questions = [law.inclusion, sized.weights]
    exact = [question() for question in questions]
    monkeypatch.setattr(weighted_module, "MOST_WORK", -1)
    for one, other in zip(exact, [question() for question in questions], strict=True):
        assert one.exact
        assert not other.exact
        assert "Monte Carlo, 100,032 draws" in other.how
        assert (np.abs(one.values - other.values) < 5 * other.error).all()
        assert (other.error < 0.005).all()


def test_monte_carlo_errors_are_the_size_of_the_errors():
    law = uniform(30, 3)
    replays = [monte_carlo(law, 6400, seed)[0] for seed in range(5)]
    z = np.concatenate([(estimate.values - 0.1) / estimate.error for estimate in replays])
    assert 0.8 < z.std() < 1.25


def test_a_law_that_went_through_a_device_still_knows_its_marginals():
    for law, _ in INDEPENDENT.values():
        there = jax.tree.map(jax.numpy.asarray, law)
        np.testing.assert_allclose(there.weights().values, law.weights().values, rtol=1e-5)
        assert abs(there.weights().values.sum() - 1) < 1e-13
        assert repr(there) == repr(law)


def test_laws_of_the_same_sizes_share_one_program():
    replay(skewed(30, 3, 3, "mild"), jax.random.key(0), 4)
    traced = replay._cache_size()
    replay(skewed(30, 3, 5, "severe"), jax.random.key(1), 4)
    assert replay._cache_size() == traced


def test_a_stack_of_laws_is_a_sweep_axis():
    laws = [skewed(30, 3, 3, "mild"), skewed(30, 3, 3, "severe")]
    stack = jax.tree.map(lambda *leaves: jax.numpy.stack(leaves), *laws)
    _, together = jax.vmap(lambda law: replay(law, jax.random.key(0), 4))(stack)
    for number, law in enumerate(laws):
        np.testing.assert_array_equal(together.ids[number], replay(law, jax.random.key(0), 4)[1].ids)
