"""What a server that remembers clients holds after a run."""

import jax
import numpy as np
import optax
import pytest

import federage as fr
from federage.parts import last_updates, mean_cvar, participation_intervals, stale_updates, surrogates
from federage.testing import arrivals, check_algorithm, every_law, laws, tiny

ROUNDS = 60


@pytest.mark.parametrize("method", [fr.MIFA(0.1), fr.FedVARP(0.1), fr.FedStale(0.1)], ids=lambda m: type(m).__name__)
def test_the_mean_that_is_kept_is_the_table_s(method):
    """A term for each arrival, some 150, each rounded to 6e-8 of a number below 1."""
    memory = fr.run(tiny(every_law()), method, rounds=ROUNDS).state.aggregation
    for mean, table in zip(*map(jax.tree.leaves, memory), strict=True):
        np.testing.assert_allclose(mean, table.mean(axis=1), rtol=0, atol=1e-5)
        assert np.all(np.abs(table).max(axis=tuple(range(2, table.ndim))) > 1e-3)  # every client was heard


@pytest.mark.parametrize("cutoff", [2, 5, 1000])
def test_intervals_cover_all_rounds_up_to_the_last_arrival(cutoff: int):
    """Counted up round by round, and cut; without a cut there is one for each arrival."""
    result = fr.run(tiny(every_law()), fr.FedAU(0.1, cutoff=cutoff), rounds=ROUNDS)
    ended, rounds = (np.asarray(a)[0] for a in result.state.aggregation.clients)
    came = arrivals(every_law(), 0, ROUNDS)
    for i in range(6):
        times = [t for t in range(ROUNDS) if i in came[t]]
        gaps = np.diff([-1, *times])
        assert rounds[i] == times[-1] + 1
        assert ended[i] == sum(-(-gap // cutoff) for gap in gaps)
    if cutoff == 1000:
        np.testing.assert_array_equal(ended, result.heard[0])


PARTS = {
    "intervals": participation_intervals(4),
    "last updates": last_updates(),
    "surrogates": surrogates(),
    "stale updates": stale_updates(0.5),
}


@pytest.mark.parametrize("name", PARTS)
def test_memories_compose_with_the_mean_cvar(name: str):
    """The dual is remembered with the model, and has a say."""
    method = fr.compose(optax.sgd(0.05), risk=mean_cvar(0.3, 0.9), aggregation=PARTS[name])
    check_algorithm(method, laws={"random size": laws()["random size"]})
