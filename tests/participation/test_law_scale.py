"""A million clients: what a draw costs must not show in what it draws."""

import jax
import numpy as np
from scipy import stats

from federage.participation import Coins, Cyclic, Markov, Prescribed, RandomSize, full, skewed, uniform

N = 1_000_000


def cohort(law):
    state = law.init(jax.random.key(0))
    ids, count = jax.jit(lambda law, state, key: law.draw(state, key, 5))(law, state, jax.random.key(1))[1]
    ids, count = np.asarray(ids), int(count)
    assert ids.shape == (law.capacity,)
    assert 1 <= count <= law.capacity
    assert (np.diff(ids[:count]) > 0).all()
    assert ids[0] >= 0
    assert ids[count - 1] < N
    assert (ids[count:] == N).all()
    return ids[:count]


def sums_to_one(law):
    weights = law.weights()
    assert weights.exact
    assert abs(weights.values.sum() - 1) < 1e-12
    return weights.values


def test_weighted():
    rare = N // 10
    law = skewed(N, 2, rare, 0.05)
    assert law.successive.method == "rejection"
    cohort(law)
    w = np.append(np.full(N - rare, 1.0), np.full(rare, 0.05))
    w /= w.sum()
    second = (w / (1 - w)).sum() - w / (1 - w)  # sum over the first one drawn, j != i, of w_j / (1 - w_j)
    np.testing.assert_allclose(law.inclusion().values, w * (1 + second), rtol=1e-10)
    sums_to_one(skewed(N, 3, rare))


def test_many_arrivals_fall_everywhere_alike():
    """Cumulative sums in float32 would leave holes."""
    for law in (uniform(N, 20_000), Prescribed(np.full(N, 0.02))):
        ids = cohort(law)
        assert ids.size == 20_000
        assert stats.kstest(ids / N, "uniform").pvalue > 1e-4
        assert stats.chisquare(np.bincount(ids % 16, minlength=16)).pvalue > 1e-4
        np.testing.assert_allclose(sums_to_one(law), 1 / N)


def test_random_size():
    law = RandomSize(np.ones(N), {3: 0.5, 9: 0.5})
    assert cohort(law).size in (3, 9)
    np.testing.assert_allclose(law.inclusion().values, 6 / N)
    np.testing.assert_allclose(sums_to_one(law), 1 / N)


def test_prescribed_is_exact_to_the_digit():
    inclusion = np.random.default_rng(0).lognormal(0, 1, N)
    inclusion *= 3 / inclusion.sum()
    law = Prescribed(inclusion)
    assert cohort(law).size == 3
    np.testing.assert_allclose(law.inclusion().values, inclusion, rtol=1e-9)
    sums_to_one(law)


def test_coins_and_markov():
    q = np.append(np.full(N // 2, 2e-6), np.full(N // 2, 6e-6))
    law = Coins(q)
    assert law.typical == 4
    cohort(law)
    values = sums_to_one(law)

    k = np.arange(60)  # independently: the two binomials of the others, convolved
    for client in (0, N - 1):
        counts = [N // 2 - (client < N // 2), N // 2 - (client >= N // 2)]
        others = np.convolve(*(stats.binom.pmf(k, n, c) for n, c in zip(counts, (2e-6, 6e-6), strict=True)))[:60]
        expected = q[client] * (others / (1 + k)).sum() / -np.expm1(np.log1p(-q).sum())
        np.testing.assert_allclose(values[client], expected, rtol=1e-9)

    chains = Markov(0.5, q / 2 / (1 - q), None)
    cohort(chains)
    np.testing.assert_allclose(sums_to_one(chains), values, rtol=1e-9)


def test_full_and_cyclic():
    assert cohort(full(N)).size == N
    np.testing.assert_allclose(sums_to_one(full(N)), 1 / N)
    half = np.arange(N)
    law = Cyclic.of_groups([half[: N // 2], half[N // 2 :]], 3, rounds_each=5)
    assert (cohort(law) >= N // 2).all()
    np.testing.assert_allclose(sums_to_one(law), 1 / N)
