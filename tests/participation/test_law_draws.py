"""The machinery of a draw: both ways of drawing without replacement, alias tables, fixed point, fine numbers."""

import dataclasses
import doctest
import importlib
import pkgutil
from collections.abc import Callable

import jax
import jax.numpy as jnp
import laws_by_hand as by_hand
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

import federage.participation as participation
from federage.core.types import Cohort, Marginals
from federage.participation import LAWS, Law, Prescribed, check_law, fine
from federage.participation.alias import Alias
from federage.participation.successive import Successive, spare


def owned(table):
    """The probabilities an alias table really has."""
    threshold, other = np.asarray(table.threshold, np.float64), np.asarray(table.other)
    return (threshold + np.bincount(other, 1 - threshold, threshold.size)) / threshold.size


@pytest.mark.parametrize("method", ["race", "rejection"])
@pytest.mark.parametrize(
    ("prior", "size"),
    [
        ([0.25, 0.25, 0.25, 0.25], 3),
        ([0.5, 0.0, 0.2, 0.2, 0.1], 3),
        ([0.6, 0.2, 0.15, 0.05], 4),  # full of repeats
    ],
)
def test_both_methods_draw_every_order_as_often_as_they_should(method, prior, size):
    successive = Successive(np.array(prior), size, method)
    keys = jax.random.split(jax.random.key(1), 10_000)
    came = np.asarray(jax.jit(jax.vmap(successive.draw))(keys))
    exact = by_hand.sequences(prior, size)
    place = {order: number for number, order in enumerate(exact)}
    counts = np.bincount([place[tuple(order)] for order in came.tolist()], minlength=len(exact))
    expected = np.array(list(exact.values())) * len(keys)
    often = expected > 5
    pooled = [np.append(values[often], values[~often].sum() + 1e-9) for values in (counts, expected)]
    assert stats.chisquare(*pooled).pvalue > 1e-4


@pytest.mark.parametrize(("clients", "size"), [(1000, 2), (1000, 3), (1000, 300), (400, 150), (1_000_000, 3)])
def test_a_block_of_candidates_never_falls_short(clients, size):
    """Against the exact chance that a block has fewer than `size` distinct ids, all being equally likely."""
    distinct = np.zeros(size)
    distinct[0] = 1.0
    block = size + spare(np.arange(1, size) / clients)
    for _ in range(block):
        stay = np.arange(size) / clients
        distinct = distinct * stay + np.append(0, (distinct * (1 - stay))[:-1])
    assert distinct.sum() < 2.0**-64
    assert block < 3 * size + 20


def test_methods_are_chosen_by_size_and_by_the_odds_of_repeats():
    even, skew = np.full(1000, 1e-3), np.append(np.full(999, 0.2 / 999), 0.8)
    assert Successive(even[:30] / 0.03, 3).method == "race"
    assert Successive(even, 3).method == "rejection"
    assert Successive(skew, 1).method == "rejection"
    assert Successive(skew, 3).method == "race"
    assert Successive(even, 1000).method == "race"


@settings(max_examples=100, deadline=None)
@given(st.lists(st.one_of(st.just(0.0), st.floats(1e-9, 1), st.just(0.5)), min_size=1, max_size=40).filter(any))
def test_alias_tables_own_what_they_should(masses):
    probabilities = np.array(masses) / sum(masses)
    table = Alias(probabilities)
    np.testing.assert_allclose(owned(table), probabilities, atol=2e-7 / len(masses), rtol=1e-6)
    assert (owned(table)[probabilities == 0] == 0).all()


@pytest.mark.parametrize("seed", [0, 1])
def test_alias_tables_of_a_million(seed):
    probabilities = np.random.default_rng(seed).lognormal(0, 2, 1_000_000)
    probabilities[::7] = 0
    probabilities /= probabilities.sum()
    share = owned(Alias(probabilities))
    np.testing.assert_allclose(share, probabilities, rtol=1e-5, atol=1e-18)
    assert (share[::7] == 0).all()


@settings(max_examples=100, deadline=None)
@given(st.lists(st.floats(0, 1), min_size=2, max_size=30), st.integers(0, 3))
def test_fixed_point_intervals_are_the_inclusion_probabilities(values, seed):
    values = np.array(values)
    size = max(1, int(values.sum()))
    values = values * (size / values.sum()) if values.sum() > size else values
    if values.sum() < size:  # raise the smallest to what is missing
        values = values + (1 - values) * (size - values.sum()) / (len(values) - values.sum())
    law = Prescribed(np.clip(values, 0, 1), seed)
    ends = (np.asarray(law.high).astype(object) << 32) + np.asarray(law.low).astype(object)
    one = 1 << (62 - size.bit_length())
    lengths = np.diff(np.append(0, ends))
    assert ends[-1] == size * one
    assert (lengths >= 0).all()
    assert (lengths <= one).all()
    np.testing.assert_allclose((lengths / one).astype(float), values[np.asarray(law.order)], atol=1e-12)


def test_fixed_point_points_belong_to_their_intervals_to_the_last_bit():
    law = Prescribed([0.1, 0.7, 0.2, 0.6, 0.4])
    ends = (np.asarray(law.high).astype(np.int64) << 32) + np.asarray(law.low).astype(np.int64)
    for place, end in enumerate(ends):
        for point, owner in ((end - 1, place), (end, place + 1)):
            if point < ends[-1]:
                high, low = jnp.array([point >> 32], jnp.uint32), jnp.uint32(point & 0xFFFFFFFF)
                assert law._owner(high, low).tolist() == [owner]


def test_prescribed_orders_differ_by_seed_and_zero_never_comes():
    inclusion = [0.5, 0.5, 0.0, 1.0, 0.5, 0.5]
    orders = {tuple(np.asarray(Prescribed(inclusion, seed).order).tolist()) for seed in range(5)}
    assert len(orders) == 5
    for subset in by_hand.drawn(Prescribed(inclusion), jax.random.key(0), rounds=500, runs=1):
        assert 2 not in subset
        assert 3 in subset
        assert len(subset) == 3


def test_fine_numbers_are_uniform_and_have_digits_near_zero():
    u = np.asarray(fine.uniform(jax.random.key(0), (1 << 20,)), np.float64)
    assert stats.kstest(u, "uniform").pvalue > 1e-4
    assert u.min() > 0
    assert u.max() < 1
    small = u[u < 2.0**-13] * 2.0**33  # float32 has digits left there, below steps of 2^-32
    assert small.size > 50
    assert (small != np.rint(small)).mean() > 0.9
    assert stats.kstest(u[u < 2.0**-10] * 2.0**10, "uniform").pvalue > 1e-4


def test_doctests():
    for module in pkgutil.iter_modules(participation.__path__, "federage.participation."):
        assert doctest.testmod(importlib.import_module(module.name)).failed == 0


def test_public_names():
    assert all(hasattr(participation, name) for name in participation.__all__)
    assert isinstance(LAWS["uniform"](clients=4, arrivals=2), Law)


@jax.tree_util.register_dataclass
@dataclasses.dataclass(frozen=True)
class Own:
    """A law of a user's own, {0, 1} or {0, 2} of four clients, and what is broken about it."""

    breaks: Callable = dataclasses.field(metadata={"static": True})
    clients: int = dataclasses.field(default=4, metadata={"static": True})
    capacity: int = dataclasses.field(default=3, metadata={"static": True})
    typical: int = dataclasses.field(default=2, metadata={"static": True})

    def init(self, key):
        return ()

    def draw(self, state, key, round):
        second = jax.random.randint(key, (), 1, 3)
        return state, Cohort(*self.breaks(jnp.array([0, second, 4], jnp.int32), jnp.int32(2)))

    def inclusion(self):
        return Marginals(np.array([1, 0.5, 0.5, 0]), "by hand")

    def weights(self):
        return Marginals(np.array([0.5, 0.25, 0.25, 0]), "by hand")


def test_conformance_passes_a_law_of_ones_own():
    check_law(Own(lambda ids, count: (ids, count)), draws=2000)


@pytest.mark.parametrize(
    ("breaks", "complaint"),
    [
        (lambda ids, count: (ids[jnp.array([1, 0, 2])], count), "ascending"),
        (lambda ids, count: (ids.at[0].set(ids[1]), count), "ascending and distinct"),
        (lambda ids, count: (ids, count * 0), "no arrivals"),
        (lambda ids, count: (ids, count + 2), "more arrivals than its capacity"),
        (lambda ids, count: (ids.at[2].set(-1), count), "beyond the count"),
        (lambda ids, count: (ids.at[0].set(-1), count), "should be ids 0..3"),
        (lambda ids, count: (ids.astype(jnp.float32), count), "ids should be int32"),
        (lambda ids, count: (ids, count.astype(jnp.float32)), "count should be int32"),
        (lambda ids, count: (ids[:2], count), "shape"),
        (lambda ids, count: (ids.at[1].set(3), count), r"inclusion\[3\] should be 0 \(by hand\)"),
    ],
)
def test_conformance_names_what_is_broken(breaks, complaint):
    with pytest.raises(AssertionError, match=complaint):
        check_law(Own(breaks), draws=2000)


def test_conformance_finds_marginals_that_are_no_marginals(monkeypatch):
    sound = Own(lambda ids, count: (ids, count))
    for values, complaint in [
        (np.array([0.5, 0.5]), "weights should have shape"),
        (np.array([0.5, 0.5, 0.5, -0.5]), "weights should be probabilities"),
        (np.array([0.5, 0.25, 0.2, 0.0]), "weights should sum to 1"),
        (np.array([0.4, 0.3, 0.3, 0.0]), r"weights\[0\] should be 0.4"),
    ]:
        monkeypatch.setattr(Own, "weights", lambda self, values=values: Marginals(values, "by hand"))
        with pytest.raises(AssertionError, match=complaint):
            check_law(sound, draws=2000)


def test_conformance_finds_draws_that_depend_on_something_else():
    calls = iter(range(1000))
    second = jax.ShapeDtypeStruct((), jnp.int32)
    forgetful = Own(
        lambda ids, count: (ids.at[1].set(jax.pure_callback(lambda: np.int32(1 + next(calls) % 2), second)), count)
    )
    with pytest.raises(AssertionError, match="the same key gave different cohorts"):
        check_law(forgetful, draws=0, rounds=3)

    @jax.custom_batching.custom_vmap
    def same(x):
        return x

    same.def_vmap(lambda size, batched, x: (jnp.flip(x), batched[0]))
    with pytest.raises(AssertionError, match="vmap over keys gave other cohorts"):
        check_law(Own(lambda ids, count: (ids.at[1].set(same(ids[1])), count)), draws=0)
