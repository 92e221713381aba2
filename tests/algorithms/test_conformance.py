"""Every algorithm of the library keeps what `check_algorithm` asks of anybody's."""

import optax
import pytest
from small_runs import every_law_replayed

import federage as fr
from federage.algorithms import ALGORITHMS
from federage.core.algorithm import Knowledge, Method
from federage.parts import chain_corrections, control_variates, mean_cvar, proximal, uniform_mean
from federage.testing import check_algorithm, laws

ALL_LAWS = {"every law in turn": every_law_replayed(16)}  # one law to compile, all of them to play


@pytest.mark.parametrize("name", ALGORITHMS)
def test_every_algorithm(name: str):
    assert isinstance(ALGORITHMS[name], type)
    method = ALGORITHMS[name](lr=0.1)  # pyright: ignore[reportCallIssue]
    assert isinstance(method, Method)
    check_algorithm(method, laws=ALL_LAWS, rounds=16)


def weighted_by_size():
    """A weighted mean, with a running count of whom it heard at the server: it reads all that can be declared."""
    plain = uniform_mean()

    def encode(report, heard, known):
        share = known.size * known.weight / known.inclusion
        return (tuple(share * d for d in report.delta.theta.values()), share * report.delta.dual, share), heard + 1.0

    def combine(total, server):
        (bias, weights), dual, share = total
        return fr.Vars({"bias": bias / share, "weights": weights / share}, dual / share), server

    return plain._replace(
        init=lambda vars: ((), 0.0 * vars.dual),
        encode=encode,
        combine=combine,
        reads=frozenset({Knowledge.SIZES, Knowledge.LAW, Knowledge.SERVER_MEMORY}),
    )


def test_an_algorithm_composed_of_everything():
    """Under two laws by themselves: one with chunks to fill up, one with a memory."""
    algorithm = fr.compose(
        optax.chain(optax.clip(1.0), optax.sgd(0.1, momentum=0.5), fr.parts.project(fr.Ball(2.0), fr.Interval(0, 3))),
        risk=mean_cvar(0.3, 0.9),
        correction=chain_corrections(proximal(0.1), control_variates(0.1)),
        aggregation=weighted_by_size(),
        server=optax.adam(0.05),
    )
    check_algorithm(algorithm, laws={name: laws()[name] for name in ("random size", "markov")})
