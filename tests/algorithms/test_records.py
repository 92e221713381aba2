"""A record refuses what it cannot mean, in one sentence; its numbers are the axes of a sweep."""

import dataclasses

import jax
import numpy as np
import pytest
from small_runs import every_law_replayed

import federage as fr
from federage.algorithms import ALGORITHMS
from federage.errors import RecordError
from federage.testing import tiny

NAN, INFINITY = float("nan"), float("inf")
RISK_AVERSE = (fr.FedeRage, fr.FedeRageCV, fr.FedeRageVARP)
ADAPTIVE = (fr.FedAdagrad, fr.FedAdam, fr.FedYogi)
REMEMBERING = (fr.FedAU, fr.MIFA, fr.FedVARP, fr.FedStale)
COUNTS = [0, -1, 0.5, 2.5, NAN, INFINITY, "10", None, True]
STEP_SIZES = [0, 0.0, -0.1, NAN, INFINITY, -INFINITY, "0.1", None, True]

REFUSED = [
    *[(record, {"lr": lr}) for record in ALGORITHMS.values() for lr in STEP_SIZES],
    *[(fr.FedProx, {"lr": 0.1, "mu": mu}) for mu in (-0.1, NAN, INFINITY, "none", None)],
    *[(fr.Scaffold, {"lr": 0.1, "server_lr": lr}) for lr in STEP_SIZES],
    *[(kind, {"lr": 0.1, "server_lr": lr}) for kind in (fr.FedAvgM, *ADAPTIVE) for lr in STEP_SIZES],
    *[(kind, {"lr": 0.1, "beta1": b}) for kind in (fr.FedAvgM, *ADAPTIVE) for b in (-0.1, 1, 1.5, NAN, "0", None)],
    *[(kind, {"lr": 0.1, "beta2": b}) for kind in ADAPTIVE[1:] for b in (-0.1, 1.0001, NAN, "0", None)],
    *[(kind, {"lr": 0.1, "tau": tau}) for kind in ADAPTIVE for tau in STEP_SIZES],
    *[(kind, {"lr": 0.1, "server_lr": lr}) for kind in (fr.GeneralisedFedAvg, *REMEMBERING) for lr in STEP_SIZES],
    *[(fr.FedAU, {"lr": 0.1, "cutoff": rounds}) for rounds in COUNTS],
    *[(fr.FedStale, {"lr": 0.1, "stale": share}) for share in (-0.1, 1.0001, NAN, "0", None)],
    *[(fr.GeneralisedFedAvg, {"lr": 0.1, "period": rounds}) for rounds in COUNTS],
    *[(kind, {"lr": 0.1, "beta_lr": lr}) for kind in RISK_AVERSE for lr in STEP_SIZES],
    *[
        (kind, {"lr": 0.1, "alpha": alpha})
        for kind in RISK_AVERSE
        for alpha in (0, -0.1, 1.0001, 95, NAN, INFINITY, "0.3", None, False)
    ],
    *[
        (kind, {"lr": 0.1, "gamma": gamma})
        for kind in RISK_AVERSE
        for gamma in (-0.0001, 1.0001, NAN, INFINITY, "1", None, True)
    ],
    *[(fr.Ball, {"radius": radius}) for radius in (0, -1, NAN, INFINITY, "1", None)],
    *[(fr.Box, {"high": 1, "low": low}) for low in (1.0001, NAN, "0", None, np.float32(2), True)],
    *[(fr.Interval, {"low": 0, "high": high}) for high in (-1, NAN, "1", None, np.float32(-1))],
]


@pytest.mark.parametrize(("record", "fields"), REFUSED, ids=lambda v: getattr(v, "__name__", str(v)))
def test_a_value_outside_its_domain_is_refused(record, fields):
    wrong = list(fields)[-1]
    with pytest.raises(RecordError, match=rf"\b{wrong}=") as refusal:
        record(**fields)
    assert isinstance(refusal.value, ValueError)
    assert "pass" in str(refusal.value) or "is not a" in str(refusal.value)


def test_borders_that_belong_to_a_domain_are_taken():
    fr.FedeRage(1e-30, beta_lr=1e30, alpha=1, gamma=0)
    fr.FedeRage(np.float32(0.1), alpha=np.float64(1e-9), gamma=1)
    fr.FedProx(1, mu=0)
    fr.Box(0.5, 0.5)
    fr.Interval(0, INFINITY)


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (
            lambda: fr.FedeRage(0.1, alpha=1.5),
            "alpha=1.5 is not a tail mass in (0, 1]; for a confidence level c pass alpha = 1 - c",
        ),
        (lambda: fr.FedeRageCV(0.1, gamma=2), "gamma=2 is not a weight in [0, 1]"),
        (lambda: fr.FedAvg(0), "lr=0 is not a positive, finite number"),
        (lambda: fr.FedAvg("fast"), "lr='fast' is not a number; pass a positive, finite number"),  # pyright: ignore
        (lambda: fr.FedProx(0.1, mu=-1), "mu=-1 is not a finite number of at least 0"),
        (lambda: fr.Box(1, -1), "Box(low=1, high=-1) is empty; pass low <= high"),
        (lambda: fr.Ball(0), "radius=0 is not a positive, finite number"),
    ],
)
def test_the_sentence(make, sentence: str):
    with pytest.raises(RecordError) as refusal:
        make()
    assert str(refusal.value) == sentence


def test_a_record_stays_as_it_was_made():
    with pytest.raises(dataclasses.FrozenInstanceError):
        fr.FedAvg(0.1).lr = 0.2  # pyright: ignore


def test_numbers_are_leaves():
    method = fr.FedeRage(0.1, 0.2, 0.3, 0.4, within=fr.Ball(5.0), beta_within=fr.Interval(0.0, 6.0))
    assert jax.tree.leaves(method) == [0.1, 0.2, 0.3, 0.4, 5.0, 0.0, 6.0]
    assert jax.tree.map(lambda number: number, method) == method
    assert method.kappa == pytest.approx(0.6 + 0.4 / 0.3)


# A change of each number, the sets' included, moves the run.
SWEPT = [
    (fr.FedAvg(0.1, within=fr.Ball(0.3)), ["lr", "within"]),
    (fr.FedProx(0.1, mu=0.3), ["lr", "mu"]),
    (fr.Scaffold(0.1, server_lr=0.5, within=fr.Box(-0.1, 0.1)), ["lr", "server_lr", "within"]),
    (fr.FedAvgM(0.1), ["lr", "server_lr", "beta1"]),
    (fr.FedAdagrad(0.1, beta1=0.4), ["lr", "server_lr", "beta1", "tau"]),
    (fr.FedAdam(0.1), ["lr", "server_lr", "beta1", "beta2", "tau"]),
    (fr.FedYogi(0.1), ["lr", "server_lr", "beta1", "beta2", "tau"]),
    (fr.FedNova(0.1), ["lr"]),
    (fr.GeneralisedFedAvg(0.1), ["lr", "server_lr", "period"]),
    (fr.HorvitzThompson(0.1), ["lr"]),
    (fr.SelfNormalised(0.1), ["lr"]),
    (fr.FedAU(0.1, cutoff=4), ["lr", "server_lr", "cutoff"]),
    (fr.MIFA(0.1), ["lr", "server_lr"]),
    (fr.FedVARP(0.1), ["lr", "server_lr"]),
    (fr.FedStale(0.1), ["lr", "server_lr", "stale"]),
    (fr.FedeRage(0.1, beta_within=fr.Interval(0.0, 1.0)), ["lr", "beta_lr", "alpha", "gamma", "beta_within"]),
    (fr.FedeRageCV(0.1), ["lr", "beta_lr", "alpha", "gamma"]),
    (fr.FedeRageVARP(0.1), ["lr", "beta_lr", "alpha", "gamma"]),
]


@pytest.mark.parametrize(("method", "names"), SWEPT, ids=lambda v: type(v).__name__ if not isinstance(v, list) else "")
def test_every_number_is_an_axis_of_a_sweep(method, names):
    """A sweep over one changed number after another is as many runs. Both are one program, of the same width."""
    problem = tiny(every_law_replayed(), local_steps=2)
    cut = {"rounds": 16, "every": 16}
    changed = [
        dataclasses.replace(method, **{name: jax.tree.map(lambda v: 0.5 * v, getattr(method, name))}) for name in names
    ]
    methods = [method, *changed]
    swept = fr.sweep(problem, methods, **cut)
    for record, result in zip(methods, swept, strict=True):
        assert result.method == record
        alone = fr.run(problem, record, seeds=len(methods), **cut)  # as many runs, the first of which is this one
        for a, b in zip(*map(jax.tree.leaves, (result.state, alone.state)), strict=True):
            np.testing.assert_array_equal(a[0], b[0])
    checkpoints = [tuple(np.concatenate([np.ravel(a) for a in jax.tree.leaves(r.last)])) for r in swept]
    assert len(set(checkpoints)) == len(methods)


def test_a_sweep_of_two_kinds_is_refused():
    problem = tiny(every_law_replayed())
    for pair in ([fr.FedAvg(0.1), fr.FedProx(0.1)], [fr.FedAvg(0.1), fr.FedAvg(0.1, within=fr.Ball(1.0))]):
        with pytest.raises(RecordError, match="one sweep takes records of one kind that differ in numbers only"):
            fr.sweep(problem, pair, rounds=2)
    with pytest.raises(RecordError, match="no method was given"):
        fr.sweep(problem, [], rounds=2)
