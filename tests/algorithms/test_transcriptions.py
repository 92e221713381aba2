"""A run is what the papers' pseudocode, written out in plain NumPy on the same draws, says it is."""

from functools import cache, partial

import algorithms_by_hand as hand
import numpy as np
import pytest
from small_runs import DECAY, ROUNDING, ROUNDS, UNEVEN, assert_close, matrix, play, problem

import federage as fr

RISK = {"beta_lr": 0.03, "alpha": 0.3, "gamma": 0.9}
BALL, BALL_BY_HAND = {"within": fr.Ball(1.2)}, {"C": hand.ball(1.2)}
BOX, BOX_BY_HAND = {"within": fr.Box(-0.4, 0.3)}, {"C": hand.box(-0.4, 0.3)}
BETA, BETA_BY_HAND = {"beta_within": fr.Interval(0.1, 0.5)}, {"B": hand.box(0.1, 0.5)}
SERVER = {"server_lr": 0.2, "beta1": 0.5, "tau": 0.1}

ALIKE = {
    "FedAvg": (fr.FedAvg(0.3), partial(hand.fedavg, lr=0.3)),
    "FedAvg in a ball": (fr.FedAvg(0.3, **BALL), partial(hand.fedavg, lr=0.3, **BALL_BY_HAND)),
    "FedAvg in a box": (fr.FedAvg(0.3, **BOX), partial(hand.fedavg, lr=0.3, **BOX_BY_HAND)),
    "FedProx": (fr.FedProx(0.3, mu=0.5), partial(hand.fedprox, lr=0.3, mu=0.5)),
    "FedProx in a box": (fr.FedProx(0.3, mu=0.5, **BOX), partial(hand.fedprox, lr=0.3, mu=0.5, **BOX_BY_HAND)),
    "SCAFFOLD": (fr.Scaffold(0.1), partial(hand.scaffold, lr=0.1)),
    "SCAFFOLD with short server steps in a box": (
        fr.Scaffold(0.1, server_lr=0.7, **BOX),
        partial(hand.scaffold, lr=0.1, server_lr=0.7, **BOX_BY_HAND),
    ),
    "FedeRage": (fr.FedeRage(0.1, **RISK), partial(hand.federage, lr=0.1, **RISK)),
    "FedeRage in a ball, beta in an interval": (
        fr.FedeRage(0.1, **RISK, **BALL, **BETA),
        partial(hand.federage, lr=0.1, **RISK, **BALL_BY_HAND, **BETA_BY_HAND),
    ),
    "FedeRage in a box": (fr.FedeRage(0.1, **RISK, **BOX), partial(hand.federage, lr=0.1, **RISK, **BOX_BY_HAND)),
    "FedeRage with control variates": (fr.FedeRageCV(0.05, **RISK), partial(hand.federage_cv, lr=0.05, **RISK)),
    "FedeRage with control variates in a ball, beta in an interval": (
        fr.FedeRageCV(0.05, **RISK, **BALL, **BETA),
        partial(hand.federage_cv, lr=0.05, **RISK, **BALL_BY_HAND, **BETA_BY_HAND),
    ),
    "FedAvgM": (fr.FedAvgM(0.1, 0.7, 0.6), partial(hand.fedavgm, lr=0.1, server_lr=0.7, beta1=0.6)),
    "FedAdagrad": (fr.FedAdagrad(0.3, 0.2, 0.5, 0.1), partial(hand.fedopt, kind="adagrad", lr=0.3, **SERVER)),
    "FedAdam": (fr.FedAdam(0.3, 0.2, 0.5, 0.8, 0.1), partial(hand.fedopt, kind="adam", lr=0.3, beta2=0.8, **SERVER)),
    "FedYogi": (fr.FedYogi(0.3, 0.2, 0.5, 0.8, 0.1), partial(hand.fedopt, kind="yogi", lr=0.3, beta2=0.8, **SERVER)),
    "FedNova, uneven": (fr.FedNova(0.3), partial(hand.fednova, lr=0.3)),
    "generalised FedAvg": (
        fr.GeneralisedFedAvg(0.1, server_lr=1.5, period=5),
        partial(hand.generalised_fedavg, lr=0.1, server_lr=1.5, period=5),
    ),
    "Horvitz-Thompson": (fr.HorvitzThompson(0.1), partial(hand.horvitz_thompson, lr=0.1)),
    "self-normalised": (fr.SelfNormalised(0.3), partial(hand.self_normalised, lr=0.3)),
    "FedAU": (fr.FedAU(0.1, 1.2), partial(hand.fedau, lr=0.1, server_lr=1.2, cutoff=50)),
    "FedAU, cut short": (fr.FedAU(0.1, cutoff=3), partial(hand.fedau, lr=0.1, server_lr=1.0, cutoff=3)),
    "MIFA": (fr.MIFA(0.1, 0.8), partial(hand.mifa, lr=0.1, server_lr=0.8)),
    "FedVARP": (fr.FedVARP(0.1, 0.8), partial(hand.fedvarp, lr=0.1, server_lr=0.8)),
    "FedStale": (fr.FedStale(0.1, 0.8, stale=0.3), partial(hand.fedstale, lr=0.1, server_lr=0.8, stale=0.3)),
    "FedeRage with surrogates": (fr.FedeRageVARP(0.05, **RISK), partial(hand.federage_varp, lr=0.05, **RISK)),
}


def steps_of(name: str):
    """In boxes, and for FedNova, clients differ in their number of local steps."""
    return UNEVEN if "box" in name or "uneven" in name else 4


@cache
def world(steps) -> hand.World:
    return hand.World(problem(steps), ROUNDS)


@pytest.mark.parametrize("name", ALIKE)
def test_a_run_is_its_transcription(name: str):
    method, by_hand = ALIKE[name]
    result = play(method, steps_of(name))
    moments = list(by_hand(world(steps_of(name))))

    thetas = np.array([m.theta for m in moments])
    weights = (1 - DECAY) * DECAY ** np.arange(ROUNDS)[::-1]  # of the exponential average; what it began with is 0
    assert_close(matrix(result.last.theta)[0], thetas[-1])
    assert_close(matrix(result.average.theta)[0], thetas.mean(axis=0))
    assert_close(matrix(result.smooth.theta)[0], np.tensordot(weights, thetas, 1))

    if "FedeRage" in name:
        betas, tails = np.array([m.beta for m in moments]), np.array([m.tail for m in moments])
        assert min(m.narrowest for m in moments) > ROUNDING  # no comparison f >= beta is left to rounding
        assert tails.min() < 0.3  # in some round most steps are not in the tail,
        assert tails.max() == 1  # in another all are
        assert_close(result.dual[0], betas)
        assert_close(result.average.dual[0], betas.mean())
        assert_close(result.smooth.dual[0], weights @ betas)
        assert_close(result.tail[0], tails)

    if moments[-1].c is not None:
        assert all(np.abs(own).max() > 0.01 for own in moments[-1].c_i)  # every client was heard, and remembers
        # Memories are (x - theta_K) / (K lr): times lr, they are as exact as theta.
        memory = result.state.correction
        assert_close(method.lr * matrix(memory.server)[0], method.lr * moments[-1].c)
        assert_close(method.lr * matrix(memory.clients)[0], method.lr * moments[-1].c_i)


@pytest.mark.parametrize("name", [name for name in ALIKE if " in a" in name])
def test_the_sets_bind(name: str):
    """Otherwise the comparison above would not see the projections."""
    by_hand = ALIKE[name][1]
    inside = list(by_hand(world(steps_of(name))))

    def moved(without: str, what: str) -> float:
        outside = by_hand(world(steps_of(name)), **{without: hand.free})
        return max(np.abs(getattr(a, what) - getattr(b, what)).max() for a, b in zip(inside, outside, strict=True))

    assert moved("C", "theta") > 0.05
    if "B" in by_hand.keywords:
        assert moved("B", "beta") > 0.05
