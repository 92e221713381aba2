"""Laws whose rounds are not independent: Markov chains, phases that take turns, traces."""

import jax
import laws_by_hand as by_hand
import numpy as np
import pytest

from federage.participation import Coins, Cyclic, Markov, Table, Trace, Weighted, check_law, monte_carlo, uniform
from federage.participation.conformance import replay


def presence(law, rounds, key=0):
    """[rounds, clients]: who arrived when."""
    ids = np.asarray(replay(law, jax.random.key(key), rounds)[1].ids)
    return (ids[:, :, None] == np.arange(law.clients)).any(1)


def test_markov_stays_in_its_stationary_law():
    law = Markov([0.1, 0.5, 0.2], [0.05, 0.02, 0.2])
    q = np.array([0.05 / 0.15, 0.02 / 0.52, 0.5])
    inclusion, weights = by_hand.marginals(by_hand.coins(q), 3)
    np.testing.assert_allclose(law.inclusion().values, inclusion, rtol=1e-12)
    np.testing.assert_allclose(law.weights().values, weights, rtol=1e-12)
    check_law(law, draws=60_000, rounds=3)  # long runs, in which nobody is often on

    def first_and_third(key):
        return replay(law, key, 3)[1].ids

    ids = np.asarray(jax.jit(jax.vmap(first_and_third))(jax.random.split(jax.random.key(5), 20_000)))
    for round in (0, 2):  # not only in the long run: in every round
        drawn = (ids[:, round, :, None] == np.arange(3)).any(1).mean(0)
        np.testing.assert_allclose(drawn, inclusion, atol=5 * 0.5 / np.sqrt(20_000))


def test_markov_remembers_at_the_stated_rate():
    leaving, coming = np.array([0.1, 0.5, 0.3, 0.0]), np.array([0.1, 0.5, 0.9, 0.5])  # client 3 is always on
    present = presence(Markov(leaving, coming), 40_000).astype(float)
    assert present[:, 3].all()
    centred = present[:, :3] - present[:, :3].mean(0)
    for lag in (1, 2):
        correlation = (centred[lag:] * centred[:-lag]).mean(0) / centred.var(0)
        np.testing.assert_allclose(correlation, (1 - leaving - coming)[:3] ** lag, atol=0.03)


def test_markov_waits_for_someone():
    """Two clients that leave at once and hardly come: the first to come is drawn from coins, not from who was there."""
    present = presence(Markov([1.0, 1.0], [1e-9, 3e-9]), 4000)
    assert (present.sum(1) == 1).all()
    assert abs(present[:, 1].mean() - 0.75) < 5 * np.sqrt(0.75 * 0.25 / 4000)


def test_markov_takes_scalars():
    law = Markov(0.1, 0.3, clients=5)
    np.testing.assert_allclose(law.weights().values, 0.2)
    np.testing.assert_allclose(law.inclusion().values, 0.75 / (1 - 0.25**5))
    assert Markov([0.1, 0.2], 0.3).clients == 2


def test_trace_replays_and_starts_again():
    rounds = [[3, 0], [2], [1, 2, 3]]
    law = Trace(rounds, clients=5)
    ids, count = replay(law, jax.random.key(0), 7)[1]
    assert np.asarray(ids).tolist() == [sorted(rounds[t % 3]) + [5] * (3 - len(rounds[t % 3])) for t in range(7)]
    assert np.asarray(count).tolist() == [2, 1, 3, 2, 1, 3, 2]
    np.testing.assert_allclose(law.inclusion().values, np.array([1, 1, 2, 2, 0]) / 3)
    np.testing.assert_allclose(law.weights().values, np.array([1 / 2, 1 / 3, 1 + 1 / 3, 1 / 2 + 1 / 3, 0]) / 3)
    check_law(law, draws=2000)


def test_trace_from_file(tmp_path):
    path = tmp_path / "trace.csv"
    path.write_text("round,client\n7,2\n3,1\n3,0\n9,2\n")
    law = Trace.from_file(path)
    assert np.asarray(law.ids).tolist() == [[0, 1], [2, 3], [2, 3]]
    assert Trace.from_file(path, clients=10).clients == 10


def test_cyclic_phases_count_their_own_rounds():
    one, two = Trace([[0], [1], [2]], clients=5), Trace([[3], [4]], clients=5)
    came = presence(Cyclic([one, two], [2, 1]), 9).argmax(1)
    assert came.tolist() == [0, 1, 3, 2, 0, 4, 1, 2, 3]


def test_cyclic_phases_keep_their_state_while_others_play():
    """A chain that hardly ever moves has not moved when its turn comes again."""
    sticky = Markov([1e-6, 1e-6, 1e-6, 0.0], [1e-6, 1e-6, 1e-6, 1.0])
    present = presence(Cyclic([sticky, Table([[3]], [1.0])]), 40, key=3)
    assert (present[::2] == present[0]).all()
    assert (present[1::2].sum(1) == 1).all()


def test_cyclic_marginals_are_averages_over_the_phases():
    laws = [Weighted([4, 4, 1, 1], 2), Coins([0.1, 0.0, 0.5, 0.2]), Trace([[0], [1, 2]], clients=4)]
    law = Cyclic(laws, [2, 1, 3])
    for name in ("inclusion", "weights"):
        parts = [getattr(part, name)().values for part in laws]
        np.testing.assert_allclose(getattr(law, name)().values, np.average(parts, axis=0, weights=[2, 1, 3]))
    assert law.weights().how.count(";") == 2
    check_law(law, draws=20_000)


def test_monte_carlo_meets_phases_longer_than_its_runs():
    law = Cyclic([Table([[0]], [1.0], clients=2), Table([[1]], [1.0], clients=2)], 1000)
    drawn, _ = monte_carlo(law, draws=6400)
    assert drawn.error is not None
    assert (np.abs(drawn.values - 0.5) < 4 * drawn.error).all()
    assert 0.02 < drawn.error[0] < 0.1  # as of 64 tosses, not of 6400


def test_cyclic_groups_come_in_turn():
    law = Cyclic.of_groups([[0, 1, 4], [2, 3]], arrivals=1, rounds_each=[3, 2])
    present = presence(law, 50)
    for phase, members in enumerate([[0, 1, 4], [2, 3]]):
        turn = (np.arange(50) % 5 >= 3) == phase
        assert present[turn][:, members].sum(1).tolist() == [1] * turn.sum()
    np.testing.assert_allclose(law.weights().values, [0.2, 0.2, 0.2, 0.2, 0.2])
    assert law.rounds_each == (3, 2)


@pytest.mark.parametrize("law", [uniform(4, 2), Trace([[0]])])
def test_memoryless_laws_remember_nothing(law):
    assert law.init(jax.random.key(0)) == ()
