"""Risk of discrete distributions, by roads that share no code: exact fractions, the variational form, the dual, ..."""

import doctest
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

import federage as fr
from federage.analysis import cvar, kappa, mean_cvar, risk, tail_weights, var, variational
from federage.errors import RecordError


def var_by_hand(losses, alpha, counts):
    """The definition, in fractions: the least value that is exceeded with probability at most alpha."""
    total = sum(counts)
    for value in sorted({loss for loss, count in zip(losses, counts, strict=True) if count}):
        exceeded = sum(count for loss, count in zip(losses, counts, strict=True) if loss > value)
        if Fraction(exceeded, total) <= alpha:
            return value
    raise AssertionError("the largest value is exceeded by none")


def cvar_by_sorting(losses, alpha, counts):
    """From the worst loss down, take probability until alpha is full; the last loss is taken in part."""
    left, taken = alpha, Fraction(0)
    for loss, count in sorted(zip(losses, counts, strict=True), reverse=True):
        share = min(left, Fraction(count, sum(counts)))
        left, taken = left - share, taken + share * loss
    assert left == 0
    return taken / alpha


@st.composite
def distributions(draw):
    """Few values, so that there are ties; zero weights; and every alpha at which the tail ends between two atoms."""
    size = draw(st.integers(1, 7))
    losses = draw(st.lists(st.integers(-3, 3), min_size=size, max_size=size))
    counts = draw(st.lists(st.integers(0, 4), min_size=size, max_size=size).filter(any))
    total = sum(counts)
    edges = st.integers(1, total).map(lambda k: Fraction(k, total))
    alpha = draw(st.one_of(edges, st.fractions(Fraction(1, 50), 1, max_denominator=50), st.just(Fraction(1, 10**9))))
    return losses, alpha, counts


GAMMAS = st.floats(0, 1)


@settings(max_examples=200, deadline=None)
@given(distributions())
def test_quantile_and_sorting_in_exact_fractions(one):
    losses, alpha, counts = one
    assert var(losses, float(alpha), counts) == var_by_hand(losses, alpha, counts)
    np.testing.assert_allclose(cvar(losses, float(alpha), counts), float(cvar_by_sorting(*one)), atol=1e-12)


@settings(max_examples=100, deadline=None)
@given(distributions(), GAMMAS)
def test_the_least_of_the_variational_form_is_at_an_atom(one, gamma):
    losses, alpha, counts = one
    losses, alpha = np.array(losses), float(alpha)
    scale = 1 + 3 / alpha  # what is subtracted in the form, and so how far rounding can be off
    found = mean_cvar(losses, alpha, gamma, counts)
    form = variational(losses, losses, alpha, gamma, counts)
    np.testing.assert_allclose(found, form.min(), atol=1e-14 * scale)
    at_var = variational(losses, var(losses, alpha, counts), alpha, gamma, counts)
    np.testing.assert_allclose(at_var, form.min(), atol=1e-14 * scale)
    elsewhere = variational(losses, np.linspace(-4, 4, 33), alpha, gamma, counts)
    assert (elsewhere >= found - 1e-14 * scale).all()


@settings(max_examples=60, deadline=None)
@given(distributions())
def test_the_dual_linear_program(one):
    losses, alpha, counts = one
    p = np.array(counts) / sum(counts)
    most = np.minimum(p / float(alpha), 1)
    solved = linprog(-np.array(losses), A_eq=np.ones((1, p.size)), b_eq=[1], bounds=np.c_[np.zeros(p.size), most])
    assert solved.status == 0
    np.testing.assert_allclose(cvar(losses, float(alpha), counts), -solved.fun, atol=1e-7)
    q = tail_weights(losses, float(alpha), 1.0, counts)  # one of the maximisers
    assert (q >= 0).all()
    assert (q <= p / float(alpha) * (1 + 1e-12)).all()


@settings(max_examples=60, deadline=None)
@given(distributions())
def test_the_integral_of_the_quantile_function(one):
    losses, alpha, counts = one
    edges = np.unique(np.append(np.clip(tails(losses, counts), 0, float(alpha)), [0, float(alpha)]))
    middles = (edges[1:] + edges[:-1]) / 2  # the quantile is constant between two edges
    pieces = [width * var(losses, middle, counts) for width, middle in zip(np.diff(edges), middles, strict=True)]
    np.testing.assert_allclose(cvar(losses, float(alpha), counts), sum(pieces) / float(alpha), atol=1e-9)


def tails(losses, counts):
    """P(f > value) for each value."""
    return [sum(c for other, c in zip(losses, counts, strict=True) if other > one) / sum(counts) for one in losses]


@settings(max_examples=100, deadline=None)
@given(distributions(), GAMMAS)
def test_tail_weights_are_probabilities_that_give_the_risk(one, gamma):
    losses, alpha, counts = one
    alpha, p = float(alpha), np.array(counts) / sum(counts)
    q = tail_weights(losses, alpha, gamma, counts)
    np.testing.assert_allclose(q.sum(), 1, rtol=1e-12)
    np.testing.assert_allclose(q @ losses, (1 - gamma) * (p @ losses) + gamma * cvar(losses, alpha, counts), atol=1e-12)
    assert (q >= (1 - gamma) * p * (1 - 1e-12)).all()
    assert (q <= kappa(alpha, gamma) * p * (1 + 1e-12)).all()
    assert (q[p == 0] == 0).all()
    density = q[p > 0] / p[p > 0]
    order = np.argsort(np.array(losses)[p > 0])
    assert (np.diff(density[order]) >= -1e-12).all(), "a larger loss has no smaller weight"
    for value in set(losses):
        tied = density[np.array(losses)[p > 0] == value]
        np.testing.assert_allclose(tied, tied[:1].repeat(tied.size), rtol=1e-14)


@settings(max_examples=60, deadline=None)
@given(st.permutations(range(6)), st.lists(st.integers(1, 4), min_size=6, max_size=6), st.integers(1, 99), GAMMAS)
def test_tail_weights_are_the_gradient_where_there_is_one(losses, counts, percent, gamma):
    alpha, step = percent / 100 + 0.0017, 1e-3  # no tail ends between two atoms
    losses = np.array(losses, float)

    def at(k, sign):
        return mean_cvar(losses + sign * step * (np.arange(6) == k), alpha, gamma, counts)

    slopes = [(at(k, 1) - at(k, -1)) / (2 * step) for k in range(6)]  # piecewise linear: exact up to rounding
    np.testing.assert_allclose(tail_weights(losses, alpha, gamma, counts), slopes, atol=1e-9)


@settings(max_examples=60, deadline=None)
@given(distributions(), st.lists(st.integers(-3, 3), min_size=7, max_size=7), GAMMAS, st.floats(0, 10))
def test_coherence(one, others, gamma, factor):
    losses, alpha, counts = one
    f, g, alpha = np.array(losses), np.array(others[: len(losses)]), float(alpha)

    def of(values):
        return mean_cvar(values, alpha, gamma, counts)

    np.testing.assert_allclose(of(f + 2.5), of(f) + 2.5, atol=1e-11)
    np.testing.assert_allclose(of(factor * f), factor * of(f), atol=1e-10)
    assert of(f + g) <= of(f) + of(g) + 1e-11
    assert of(np.minimum(f, g)) <= of(f) + 1e-11
    np.testing.assert_array_equal(var(f + 2.5, alpha, counts), var(f, alpha, counts) + 2.5)


@settings(max_examples=60, deadline=None)
@given(distributions(), st.fractions(Fraction(1, 50), 1, max_denominator=50))
def test_from_the_worst_loss_to_the_mean(one, other):
    losses, alpha, counts = one
    small, large = sorted([float(alpha), float(other)])
    values = [loss for loss, count in zip(losses, counts, strict=True) if count]
    assert var(losses, large, counts) <= var(losses, small, counts)
    assert cvar(losses, large, counts) <= cvar(losses, small, counts) + 1e-12
    assert var(losses, small, counts) <= cvar(losses, small, counts) + 1e-12
    np.testing.assert_allclose(cvar(losses, 1e-12, counts), max(values), rtol=1e-14)
    assert var(losses, 1.0, counts) == min(values)
    np.testing.assert_allclose(cvar(losses, 1.0, counts), np.average(losses, weights=counts), atol=1e-14)


def test_a_tail_that_ends_between_two_atoms_ends_there_in_floats_too():
    """Three tenths sum to more than 0.3, a hundredth is more than 1 - 0.99: neither moves the quantile."""
    assert 0.1 + 0.1 + 0.1 > 0.3
    assert var(range(10), 0.3) == 6
    assert var(range(100), 1 - 0.99) == var(range(100), 0.01) == 98
    np.testing.assert_array_equal(tail_weights(range(10), 0.3, 1.0)[:7], 0)
    for n in (7, 97, 1000, 12_345):
        for k in {1, 3, n // 3, n // 2, n - 1}:
            assert var(range(n), k / n) == n - 1 - k


def test_the_interval_of_minimisers():
    """P(f > 2) = 1/2: every beta from VaR = 2 to VaR+ = 3 will do, and none beyond."""
    form = variational([1, 2, 3, 4], [1.9, 2, 2.4, 3, 3.1], alpha=0.5, gamma=1.0)
    np.testing.assert_allclose(form[1:4], 3.5, rtol=1e-15)
    assert (form[[0, 4]] > 3.51).all()
    assert var([1, 2, 3, 4], 0.5) == 2


def test_weights_need_not_sum_to_one_and_none_are_equal_ones():
    losses = [3.0, 1.0, 2.0]
    assert cvar(losses, 0.4, [1, 2, 3]) == pytest.approx(cvar(losses, 0.4, [10, 20, 30]), rel=1e-15)
    assert cvar(losses, 0.4) == cvar(losses, 0.4, [7, 7, 7])
    assert cvar([*losses, 99.0], 0.4, [1, 1, 1, 0]) == cvar(losses, 0.4)


def test_the_extremes_of_gamma_and_of_size():
    rng = np.random.default_rng(0)
    losses, weights = rng.lognormal(0, 3, 20_000), rng.random(20_000)
    assert mean_cvar(losses, 0.01, 0.0, weights) == pytest.approx(np.average(losses, weights=weights), rel=1e-13)
    assert mean_cvar(losses, 0.01, 1.0, weights) == cvar(losses, 0.01, weights)
    assert cvar(losses + 1e8, 0.01, weights) - 1e8 == pytest.approx(cvar(losses, 0.01, weights), rel=1e-6)
    assert cvar([1.0, 2.0], 5e-324) == 2
    assert cvar([1e300, 1e300], 0.5) == 1e300


def test_kappa_is_the_record_s_the_part_s_and_the_largest_weight():
    assert kappa(0.3, 0.9) == fr.FedeRage(lr=1, alpha=0.3, gamma=0.9).kappa == fr.parts.kappa(0.3, 0.9)
    assert kappa(0.3, 0.9) == pytest.approx(3.1, rel=1e-15)
    assert kappa(0.3, 0) == kappa(1, 0.9) == 1
    losses = np.arange(100)
    assert tail_weights(losses, 0.3, 0.9).max() * 100 == pytest.approx(kappa(0.3, 0.9), rel=1e-14)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([], 0.1), "losses takes one number a scenario, but it came empty; pass at least one scenario"),
        ((1.0, 0.1), "the scalar 1.0 came; pass a list"),
        (([[1], [2]], 0.1), r"but shape \(2, 1\) came; pass a flat list"),
        (([1, np.nan], 0.1), r"finite numbers, but losses\[1\]=nan came; remove it"),
        (([1, np.inf], 0.1), r"finite numbers, but losses\[1\]=inf came; remove it"),
        (([1, 2], 0.1, [1]), "weights takes one number for each of 2 scenarios, but 1 came; match them"),
        (([1, 2], 0.1, [1, -1]), r"numbers >= 0, but weights\[1\]=-1.0 came; use 0 for a scenario never drawn"),
        (([1, 2], 0.1, [1, np.nan]), r"finite numbers, but weights\[1\]=nan came"),
        (([1, 2], 0.1, [0, 0]), "at least one number > 0, but all 2 are zero; give some scenario a chance"),
        (([1, 2], 1.5), r"alpha=1.5 is not a tail mass in \(0, 1\]; for a confidence level c pass alpha = 1 - c"),
        (([1, 2], 0), r"alpha=0 is not a tail mass in \(0, 1\]"),
        (([1, 2], np.float32(2)), r"alpha=2.0 is not a tail mass in \(0, 1\]"),
        (([1, 2], np.array(np.nan)), r"alpha=nan is not a tail mass in \(0, 1\]"),
        (([1, 2], [0.1]), r"alpha takes one number, but shape \(1,\) came; call this once for each"),
        (([1, 2], None), "alpha=None is not a number; pass a tail mass"),
    ],
)
def test_what_is_no_distribution_is_refused(arguments, message):
    for function in (var, cvar, lambda f, a, w=None: mean_cvar(f, a, 0.5, w), lambda f, a, w=None: tails_of(f, a, w)):
        with pytest.raises(RecordError, match=message) as error:
            function(*arguments)
        assert "\n" not in str(error.value)


def tails_of(losses, alpha, weights):
    variational(losses, 0.0, alpha, 0.5, weights)


@pytest.mark.parametrize("gamma", [-0.1, 1.1, np.nan])
def test_gamma_is_a_fraction(gamma):
    for refuse in (
        lambda: mean_cvar([1], 0.5, gamma),
        lambda: tail_weights([1], 0.5, gamma),
        lambda: variational([1], 0, 0.5, gamma),
        lambda: kappa(0.5, gamma),
    ):
        with pytest.raises(RecordError, match=r"gamma=.* is not a weight in \[0, 1\]"):
            refuse()


def test_doctests():
    assert doctest.testmod(risk).failed == 0
    assert doctest.testmod(fr.parts.risk).failed == 0
