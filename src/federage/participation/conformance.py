"""What every participation law promises, checked on a law at hand."""

from __future__ import annotations

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from federage.core.randomness import at
from federage.core.types import Cohort, Marginals, PyTree
from federage.participation.law import Law
from federage.participation.monte_carlo import monte_carlo


@partial(jax.jit, static_argnames="rounds")
def replay(law: Law, key: Array, rounds: int) -> tuple[PyTree, Cohort]:
    """The cohorts of rounds 0, 1, ..., stacked, and the last state; the law is an argument of the compiled program."""
    start = law.init(at(key, 0))
    return jax.lax.scan(lambda state, t: law.draw(state, at(key, 1, t), t), start, jnp.arange(rounds))


def check_law(law: Law, draws: int = 50_000, rounds: int = 50, seed: int = 0) -> None:
    """Raise an AssertionError, in words, unless `law` keeps the promises of `Law`.

    Shapes, order, padding and non-emptiness of the cohorts; the same key, the same cohort, whether in a loop or under
    vmap; and marginals that the law's own draws confirm within five standard errors (`draws=0` skips this).
    """
    _check_sizes(law)
    key = jax.random.key(seed)
    state, cohorts = replay(law, key, rounds)
    _check_cohorts(law, cohorts)

    _check_same(replay(law, key, rounds), (state, cohorts), "the same key gave different cohorts")
    keys = jax.vmap(lambda number: at(key, number))(jnp.arange(3))
    batched = jax.vmap(lambda key: replay(law, key, rounds))(keys)
    for number in range(3):
        alone = replay(law, keys[number], rounds)
        one = jax.tree.map(lambda leaf, number=number: leaf[number], batched)
        _check_same(one, alone, "vmap over keys gave other cohorts than a loop")

    inclusion, weights = law.inclusion(), law.weights()
    _check_marginals(law, inclusion, weights)
    if draws:
        for name, claimed, drawn in zip(
            ("inclusion", "weights"), (inclusion, weights), monte_carlo(law, draws, seed), strict=True
        ):
            _check_confirmed(name, claimed, drawn, draws)


def _check_sizes(law: Law) -> None:
    assert isinstance(law, Law), f"{type(law).__name__} lacks a member of Law"
    for name in ("clients", "capacity", "typical"):
        assert type(getattr(law, name)) is int, f"{name} should be a Python int, came {getattr(law, name)!r}"
    assert 1 <= law.capacity <= law.clients, f"capacity {law.capacity} should be in 1..{law.clients}"
    assert 1 <= law.typical <= law.capacity, f"typical {law.typical} should be in 1..{law.capacity}"


def _check_cohorts(law: Law, cohorts: Cohort) -> None:
    ids, count = np.asarray(cohorts.ids), np.asarray(cohorts.count)
    assert ids.dtype == np.int32, f"ids should be int32, came {ids.dtype}"
    assert count.dtype == np.int32, f"count should be int32, came {count.dtype}"
    assert ids.shape[1:] == (law.capacity,), f"ids should have shape ({law.capacity},), came {ids.shape[1:]}"
    assert count.shape[1:] == (), f"count should be a scalar, came shape {count.shape[1:]}"
    assert (count >= 1).all(), "a round had no arrivals, but R(empty) = 0"
    assert (count <= law.capacity).all(), "a round had more arrivals than its capacity"
    arrived = np.arange(law.capacity) < count[:, None]
    assert (ids[~arrived] == law.clients).all(), f"ids beyond the count should be N = {law.clients}"
    assert ((ids[arrived] >= 0) & (ids[arrived] < law.clients)).all(), f"arrivals should be ids 0..{law.clients - 1}"
    assert (np.diff(ids, axis=1) > 0)[arrived[:, 1:]].all(), "arrivals should be ascending and distinct"


def _check_same(came: PyTree, expected: PyTree, complaint: str) -> None:
    same = jax.tree.map(lambda a, b: bool(jnp.array_equal(a, b)), came, expected)
    assert jax.tree.all(same), complaint


def _check_marginals(law: Law, inclusion: Marginals, weights: Marginals) -> None:
    for name, marginals in (("inclusion", inclusion), ("weights", weights)):
        values = marginals.values
        assert values.shape == (law.clients,), f"{name} should have shape ({law.clients},), came {values.shape}"
        assert values.dtype == np.float64, f"{name} should be float64, came {values.dtype}"
        assert ((values >= 0) & (values <= 1 + 1e-12)).all(), f"{name} should be probabilities"
    total = weights.values.sum()
    assert abs(total - 1) < (1e-12 if weights.exact else 1e-5), f"weights should sum to 1, came {total}"


def _check_confirmed(name: str, claimed: Marginals, drawn: Marginals, draws: int) -> None:
    binomial = claimed.values * (1 - claimed.values).clip(0) / draws
    own = 0.0 if claimed.error is None else claimed.error
    assert drawn.error is not None
    allowed = 5 * np.sqrt(binomial + drawn.error**2 + own**2)
    off = np.abs(claimed.values - drawn.values) / allowed
    worst = int(np.argmax(off))
    assert off[worst] <= 1, (
        f"{name}[{worst}] should be {claimed.values[worst]:.6g} ({claimed.how}), "
        f"but {drawn.how} gave {drawn.values[worst]:.6g} +- {drawn.error[worst]:.2g}"
    )
