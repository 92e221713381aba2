"""An algorithm with its new part turned off is the algorithm it came from, whatever the law."""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from small_runs import ROUNDS, assert_close, play, problem

import federage as fr
from federage.participation import uniform
from federage.parts import control_variates
from federage.testing import every_law, tiny


class Row(NamedTuple):
    method: Any
    becomes: Any
    bitwise: bool = True
    steps: int = 4
    beta: float | None = None  # where it stays, for all rounds
    memory: bool = False  # whether the memories agree too


def kappa(alpha: float, gamma: float) -> float:
    return (1 - gamma) + gamma / alpha


ROWS = {
    "FedProx that does not pull": Row(fr.FedProx(0.1, mu=0), fr.FedAvg(0.1)),
    # With one step, theta is still the broadcast when the pull is computed.
    "FedProx with one local step": Row(fr.FedProx(0.1, mu=0.7), fr.FedAvg(0.1), steps=1),
    "FedeRage without CVaR": Row(fr.FedeRage(0.1, gamma=0, alpha=0.3), fr.FedAvg(0.1), beta=0),
    # Losses are not negative and beta starts at 0, so w = (1 - gamma) + gamma in every step and beta stays. That sum is
    # 1 in float32 for gamma = 1/2; for gamma = 0.3 it is off by a rounding, as is every step.
    "FedeRage whose tail is everything": Row(fr.FedeRage(0.1, alpha=1, gamma=0.5), fr.FedAvg(0.1), beta=0),
    "FedeRage whose tail is everything, rounded": Row(
        fr.FedeRage(0.1, alpha=1, gamma=0.3), fr.FedAvg(0.1), bitwise=False, beta=0
    ),
    # beta held at 0 keeps every batch in the tail: plain SGD with step kappa * lr.
    "FedeRage with beta held at 0": Row(
        fr.FedeRage(0.05, alpha=0.3, gamma=0.6, beta_within=fr.Interval(0, 0)),
        fr.FedAvg(0.05 * kappa(0.3, 0.6)),
        bitwise=False,
        beta=0,
    ),
    # w g + (c - c_i) is compiled into other sums than g + (c - c_i): equal but for rounding, also where w is 1.
    "FedeRage with control variates without CVaR": Row(
        fr.FedeRageCV(0.1, gamma=0), fr.Scaffold(0.1), bitwise=False, beta=0, memory=True
    ),
    "FedeRage with control variates whose tail is everything": Row(
        fr.FedeRageCV(0.1, alpha=1, gamma=0.5), fr.Scaffold(0.1), bitwise=False, beta=0, memory=True
    ),
    "FedAvgM without momentum": Row(fr.FedAvgM(0.1, beta1=0), fr.FedAvg(0.1)),
    # A second moment that stays tau^2 makes the step server_lr / (2 tau) times the mean change.
    "FedAdam that does not adapt": Row(
        fr.FedAdam(0.1, server_lr=0.2, beta1=0, beta2=1, tau=0.1), fr.FedAvg(0.1), bitwise=False
    ),
    "FedYogi that does not adapt": Row(
        fr.FedYogi(0.1, server_lr=0.2, beta1=0, beta2=1, tau=0.1), fr.FedAvg(0.1), bitwise=False
    ),
    # All squared changes together are nothing beside tau^2 = 1e6.
    "FedAdagrad that hardly adapts": Row(
        fr.FedAdagrad(0.1, server_lr=2000.0, tau=1000.0), fr.FedAvg(0.1), bitwise=False
    ),
    "FedNova where all take as many steps": Row(fr.FedNova(0.1), fr.FedAvg(0.1), bitwise=False),
    "generalised FedAvg that does not amplify": Row(fr.GeneralisedFedAvg(0.1, server_lr=1), fr.FedAvg(0.1)),
    "generalised FedAvg that amplifies every round": Row(
        fr.GeneralisedFedAvg(0.1, server_lr=1.5, period=1), fr.FedAvgM(0.1, server_lr=1.5, beta1=0), bitwise=False
    ),
    "FedStale that forgets": Row(fr.FedStale(0.1, stale=0), fr.HorvitzThompson(0.1), bitwise=False),
    "FedeRage with surrogates without CVaR": Row(fr.FedeRageVARP(0.1, gamma=0), fr.FedVARP(0.1), bitwise=False, beta=0),
    # v + u, back to u and again onto v: each is rounded.
    "a ball that holds everything": Row(fr.FedAvg(0.1, within=fr.Ball(1e6)), fr.FedAvg(0.1), bitwise=False),
    "a box that holds everything": Row(fr.FedAvg(0.1, within=fr.Box(-1e6, 1e6)), fr.FedAvg(0.1), bitwise=False),
}


@pytest.mark.parametrize("name", ROWS)
def test_reduction(name: str):
    row = ROWS[name]
    came, expected = play(row.method, row.steps), play(row.becomes, row.steps)
    same = np.testing.assert_array_equal if row.bitwise else assert_close

    def learnt(result: fr.Result) -> list[Any]:
        thetas = [result.last.theta, result.average.theta, result.smooth.theta]
        return [thetas, result.state.correction if row.memory else ()]

    for a, b in zip(*map(jax.tree.leaves, (learnt(came), learnt(expected))), strict=True):
        same(a, b)
        assert np.any(b)
    np.testing.assert_array_equal(came.heard, expected.heard)
    assert expected.heard.min() > 0
    if row.beta is not None:
        np.testing.assert_array_equal(came.dual, row.beta)


def test_control_variates_that_are_never_kept():
    """SCAFFOLD whose memory stays zero adds zero: FedAvg, bit by bit."""
    part = control_variates(0.1)

    def forget(broadcast, v, scratch, server, client, steps):
        zero = jax.tree.map(jnp.zeros_like, client)
        return zero, zero

    algorithm = fr.Scaffold(0.1).parts()._replace(correction=part._replace(finish=forget))
    came, expected = fr.run(problem(), algorithm, rounds=ROUNDS, every=1, smooth=0.9), play(fr.FedAvg(0.1))
    for a, b in zip(*map(jax.tree.leaves, (came.last.theta, expected.last.theta)), strict=True):
        np.testing.assert_array_equal(a, b)


def test_control_variates_cancel_where_everyone_comes():
    """With all clients present c is the mean of the c_i; with one local step the corrections average out exactly."""
    everyone = tiny(uniform(6, 6), local_steps=1)
    came, expected = (fr.run(everyone, method, rounds=ROUNDS) for method in (fr.Scaffold(0.1), fr.FedAvg(0.1)))
    for a, b in zip(*map(jax.tree.leaves, (came.last.theta, expected.last.theta)), strict=True):
        assert_close(a, b)
    assert all(np.abs(leaf).max() > 0.01 for leaf in jax.tree.leaves(came.state.correction))


def test_arrivals_written_down_are_the_laws_own():
    """The rows above replay the arrivals of `every_law()`; a run under that law itself is the same run."""
    itself = tiny(every_law(), local_steps=4, chunk=problem().arrivals_at_once)
    came, expected = fr.run(itself, fr.FedAvg(0.1), rounds=ROUNDS, every=ROUNDS), play(fr.FedAvg(0.1))
    np.testing.assert_array_equal(came.heard, expected.heard)
    for a, b in zip(*map(jax.tree.leaves, (came.last.theta, expected.last.theta)), strict=True):
        assert_close(a, b)


EVEN = {
    "Horvitz-Thompson": (fr.HorvitzThompson(0.1), fr.FedAvg(0.1)),
    "self-normalised": (fr.SelfNormalised(0.1), fr.FedAvg(0.1)),
    # Intervals of one round: all weights are 1, and two of six arrivals sum up to a third of their mean.
    "FedAU that does not wait": (fr.FedAU(0.1, server_lr=3.0, cutoff=1), fr.FedAvg(0.1)),
    "FedStale that does not forget": (fr.FedStale(0.1, stale=1), fr.FedVARP(0.1)),
}


@pytest.mark.parametrize("name", EVEN)
def test_where_all_are_as_likely(name: str):
    pairs = tiny(uniform(6, 2), local_steps=4)
    came, expected = (fr.run(pairs, method, rounds=ROUNDS) for method in EVEN[name])
    for a, b in zip(*map(jax.tree.leaves, (came.last.theta, expected.last.theta)), strict=True):
        assert_close(a, b)
        assert np.any(b)


@pytest.mark.parametrize(
    "method",
    [
        fr.HorvitzThompson(0.1),
        fr.SelfNormalised(0.1),
        fr.FedAU(0.1),
        fr.MIFA(0.1),
        fr.FedVARP(0.1),
        fr.FedStale(0.1),
    ],
    ids=lambda m: type(m).__name__,
)
def test_where_everybody_always_comes_all_are_fedavg(method):
    everyone = tiny(uniform(6, 6), local_steps=4)
    came, expected = (fr.run(everyone, each, rounds=ROUNDS) for each in (method, fr.FedAvg(0.1)))
    for a, b in zip(*map(jax.tree.leaves, (came.last.theta, expected.last.theta)), strict=True):
        assert_close(a, b)
