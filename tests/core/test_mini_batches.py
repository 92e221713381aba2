"""Mini-batches are uniform over the subsets of their size, whichever way repeats are found, at a cost without n."""

import math
from collections.abc import Callable, Iterator
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from federage.core import batches


def floyd(draws: list[int], population: int) -> list[int]:
    """Floyd's algorithm as it is printed: step j keeps its draw, or j itself if the draw is already there."""
    kept: list[int] = []
    for j, t in zip(range(population - len(draws), population), draws, strict=True):
        kept.append(j if t in kept else t)
    return kept


def draws_of(key: jax.Array, population: int, size: int) -> list[int]:
    """t_j uniform on 0..j, as `draw` takes them from the key."""
    return jax.random.randint(key, (size,), 0, jnp.arange(population - size, population) + 1).tolist()


def compiled_draw() -> Callable[[jax.Array, Any, int], jax.Array]:
    return jax.jit(lambda key, population, size: batches.draw(key, population, size), static_argnums=2)


@pytest.mark.parametrize(("population", "size"), [(5, 1), (6, 2), (6, 3), (5, 4), (7, 7)])
def test_every_subset_comes_as_often_as_every_other(population: int, size: int):
    keys = jax.random.split(jax.random.key(population), 10_000)
    drawn = np.asarray(jax.jit(jax.vmap(lambda key: batches.draw(key, population, size)))(keys))
    subsets, counts = np.unique(np.sort(drawn, axis=1), axis=0, return_counts=True)
    assert len(subsets) == math.comb(population, size)
    assert (np.diff(subsets, axis=1) > 0).all()
    assert len(counts) == 1 or stats.chisquare(counts).pvalue > 1e-4


@pytest.mark.parametrize("pairwise_up_to", [0, 10_000], ids=["sorting", "all pairs"])
def test_both_ways_of_finding_repeats_are_floyds_algorithm(pairwise_up_to: int, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(batches, "_PAIRWISE", pairwise_up_to)
    draw = compiled_draw()
    for size in (1, 3, 64):
        for population in (size, size + 1, 2 * size, 50 * size):
            for seed in range(5):
                key = jax.random.key(seed)
                expected = floyd(draws_of(key, population, size), population)
                assert draw(key, population, size).tolist() == expected, (size, population, seed)


@pytest.mark.parametrize("size", [256, 257])
def test_the_two_ways_meet_where_one_takes_over(size: int):
    """With n = b + 20 nearly every draw is a repeat, in chains as long as they get."""
    key, population = jax.random.key(3), size + 20
    assert compiled_draw()(key, population, size).tolist() == floyd(draws_of(key, population, size), population)


@pytest.fixture(scope="module")
def draw() -> Callable[..., jax.Array]:
    return compiled_draw()


@settings(max_examples=60, deadline=None)
@given(st.sampled_from([1, 5, 300]), st.integers(0, 2**20), st.integers(0, 2**32 - 1))
def test_examples_are_distinct_and_the_clients_own(draw: Any, size: int, spare: int, seed: int):
    taken = np.asarray(draw(jax.random.key(seed), size + spare, size))
    assert len(set(taken.tolist())) == size
    assert taken.min() >= 0
    assert taken.max() < size + spare


def sizes_within(jaxpr: Any) -> Iterator[int]:
    """The number of elements of every intermediate, also of inner programs."""
    for equation in jaxpr.eqns:
        yield from (math.prod(out.aval.shape) for out in equation.outvars)
        for inner in jax.tree.leaves(equation.params, is_leaf=lambda p: hasattr(p, "eqns") or hasattr(p, "jaxpr")):
            if hasattr(inner, "eqns") or hasattr(inner, "jaxpr"):
                yield from sizes_within(getattr(inner, "jaxpr", inner))


@pytest.mark.parametrize(("size", "most"), [(8, 8 * 8), (300, 4 * 300)], ids=["all pairs", "sorting"])
def test_the_cost_grows_with_the_batch_and_not_with_the_client(size: int, most: int):
    """Pairs are b^2 and sorting is a few arrays of b; of a million examples no array is ever made."""

    def elements(population: int) -> list[int]:
        return sorted(sizes_within(jax.make_jaxpr(lambda key: batches.draw(key, population, size))(jax.random.key(0))))

    assert elements(1_000_000) == elements(1_000)
    assert size <= elements(1_000_000)[-1] <= most
