"""What a search tries: as many configurations for all, spread over the space, each method's own draw."""

from typing import Any

import numpy as np
import pytest

import federage as fr
from federage.errors import ExperimentError
from federage.experiments import load
from federage.tuning.controls import controls, with_controls
from federage.tuning.draw import configurations
from federage.tuning.search import SPACES, Range, search_of

METHODS = {
    "FedAvg": {"lr": 0.1},
    "FedProx": {"lr": 0.1},
    "FedeRage": {"lr": 0.1},
    "mine": {"kind": "fedavg", "lr": 0.1},
}


def drawn(methods: dict[str, Any] = METHODS, **tune: Any) -> dict[str, list[Any]]:
    experiment = load({"data": {"name": "digits"}, "law": {"name": "full"}, "methods": methods, "tune": tune})
    return configurations(search_of(experiment), experiment)


@pytest.mark.parametrize("strategy", ["random", "grid", "halving"])
@pytest.mark.parametrize("budget", [1, 7, 32, 50])
def test_every_method_gets_as_many_different_ones(strategy: str, budget: int):
    for label, several in drawn(strategy=strategy, budget=budget).items():
        assert len(set(several)) == len(several) == budget, label


def test_another_method_or_a_larger_budget_changes_nobody_s_draw():
    every = drawn(budget=16)
    assert drawn({"FedeRage": METHODS["FedeRage"]}, budget=16)["FedeRage"] == every["FedeRage"]
    assert [m[:16] for m in drawn(budget=40).values()] == list(every.values())
    assert every["mine"] != every["FedAvg"], "labels have draws of their own"
    assert drawn(budget=16, seed=1)["FedAvg"] != every["FedAvg"]


def test_draws_lie_in_the_space_and_fill_it_evenly():
    """Of 32 step sizes, 4 lie in every eighth of the range, but for rounding; alpha takes each value as often."""
    several = drawn(budget=32)
    axis = SPACES["lr"]
    assert isinstance(axis, Range)
    places = [axis.place(method.lr) for method in several["FedAvg"]]
    assert np.histogram(places, 8, (0, 1))[0].tolist() == pytest.approx([4] * 8, abs=1)
    for key, parts in {"lr": 4, "beta_lr": 3}.items():
        axis = SPACES[key]
        assert isinstance(axis, Range)
        values = [getattr(method, key) for method in several["FedeRage"]]
        assert all(axis.low <= value <= axis.high for value in values)
        counts = np.histogram([axis.place(value) for value in values], parts, (0, 1))[0]
        assert counts.tolist() == pytest.approx([32 / parts] * parts, abs=1)
    alphas = [method.alpha for method in several["FedeRage"]]
    assert {value: alphas.count(value) for value in alphas} == pytest.approx(
        {0.1: 32 / 3, 0.3: 32 / 3, 0.5: 32 / 3}, abs=2
    )


def test_a_draw_is_uniform_over_seeds():
    """The first point's place, over 400 seeds: mean 1/2 and variance 1/12, four standard errors."""
    axis = Range(0.0, 1.0, "linear")
    space = {"FedAvg": {"lr": {"low": 1e-9, "high": 1.0, "scale": "linear"}}}
    first = [
        axis.place(drawn({"FedAvg": METHODS["FedAvg"]}, budget=1, seed=k, space=space)["FedAvg"][0].lr)
        for k in range(400)
    ]
    assert np.mean(first) == pytest.approx(1 / 2, abs=4 * np.sqrt(1 / 12 / 400))
    assert np.var(first) == pytest.approx(1 / 12, abs=4 * np.sqrt(1 / 180 / 400))


def test_a_grid_has_its_ends_and_even_steps():
    space = {"FedAvg": {"lr": {"low": 0.01, "high": 1.0}}}
    methods = drawn({"FedAvg": METHODS["FedAvg"]}, strategy="grid", budget=5, space=space)["FedAvg"]
    assert [method.lr for method in methods] == [0.01, 0.0316, 0.1, 0.316, 1.0]
    space = {"FedProx": {"lr": [0.1, 0.2, 0.3], "mu": [0.0, 1.0]}}
    methods = drawn({"FedProx": METHODS["FedProx"]}, strategy="grid", budget=6, space=space)["FedProx"]
    assert methods == [fr.FedProx(lr, mu) for lr in (0.1, 0.2, 0.3) for mu in (0.0, 1.0)]


def test_of_a_larger_grid_as_many_as_the_budget_are_drawn():
    space = {"FedProx": {"lr": [0.1, 0.2, 0.3, 0.4], "mu": [0.0, 0.5, 1.0]}}
    methods = {"FedProx": METHODS["FedProx"]}
    picked = drawn(methods, strategy="grid", budget=5, space=space)["FedProx"]
    whole = drawn(methods, strategy="grid", budget=12, space=space)["FedProx"]
    assert [method for method in whole if method in picked] == picked
    assert len(picked) == 5
    assert picked != drawn(methods, strategy="grid", budget=5, space=space, seed=1)["FedProx"]


@pytest.mark.parametrize("strategy", ["random", "grid"])
def test_a_space_too_small_for_the_budget_is_refused(strategy: str):
    methods = {"FedAvg": METHODS["FedAvg"]}
    with pytest.raises(ExperimentError, match=r"but there are 3; .* budget = 3"):
        drawn(methods, strategy=strategy, budget=4, space={"FedAvg": {"lr": [0.1, 0.2, 0.3]}})
    with pytest.raises(ExperimentError, match="give more values or a wider range"):
        drawn(methods, strategy=strategy, budget=99, space={"FedAvg": {"lr": {"low": 0.1, "high": 0.101}}})


def test_a_record_of_one_s_own_is_searched_in_the_fields_it_shares():
    several = drawn({"mine": {"kind": "federage:FedAdam", "lr": 0.1, "beta1": 0.5}}, budget=4)["mine"]
    assert all(method.beta1 == 0.5 for method in several)
    assert all(len({getattr(method, name) for method in several}) == 4 for name in ("lr", "server_lr", "tau"))


def test_every_risk_averse_method_has_a_control():
    methods: dict[str, Any] = {"FedAvg": fr.FedAvg(lr=1.0), "A": fr.FedeRage(lr=0.1, alpha=0.5, gamma=1.0)}
    assert controls(methods) == {"FedAvg at κ·lr": "A"}
    assert with_controls(methods)["FedAvg at κ·lr"] == fr.FedAvg(lr=0.2)
    methods["B"] = fr.FedeRageCV(lr=0.1, alpha=0.1, gamma=0.5, within=fr.Ball(3.0))
    assert controls(methods) == {"FedAvg at κ·lr of A": "A", "FedAvg at κ·lr of B": "B"}
    assert with_controls(methods)["FedAvg at κ·lr of B"] == fr.FedAvg(lr=0.55, within=fr.Ball(3.0))
    there = {"FedAvg at κ·lr": fr.FedAvg(lr=9.0)} | methods
    assert controls(there) == {"FedAvg at κ·lr": "A", "FedAvg at κ·lr of B": "B"}
    assert list(with_controls(there)) == [*there, "FedAvg at κ·lr of B"]
    assert with_controls(there)["FedAvg at κ·lr"] == fr.FedAvg(lr=0.2)
