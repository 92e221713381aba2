"""Tuning: choices that can be computed by hand, the same budget for all, test examples that nobody sees."""

import copy
import json
import tomllib
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal

import federage as fr
from federage.errors import ExperimentError
from federage.experiments import load, open_folder
from federage.experiments.play import Tick
from federage.experiments.reading import written
from federage.experiments.sources import SOURCES
from federage.tuning.output import Tuned
from federage.tuning.scores import edges
from federage.tuning.search import Range, search_of
from federage.tuning.tune import tune
from federage.tuning.wording import table, told

CENTRE, ROUNDS = 2.0, 8


def bowls(test: float = CENTRE, validation: float = 0.25) -> fr.Clients:
    """Three clients whose every example has the loss (theta - 2)^2 / 2; that of the test examples lies elsewhere."""

    def some(centre: float, rows: int) -> tuple[np.ndarray, np.ndarray]:
        return np.tile(np.array([[1.0, centre]], np.float32), (rows, 1)), np.zeros(rows, np.float32)

    train, held = [some(CENTRE, 4)] * 3, [some(test, 2)] * 3
    return fr.partition.from_lists(train, held, classes=None, validation=validation, name="bowls")


def loss_after(rounds: Any, lr: float) -> Any:
    """One local step of a round takes theta - 2 to (1 - lr) (theta - 2), from theta = 0."""
    return (CENTRE * (1 - lr) ** np.asarray(rounds)) ** 2 / 2


@pytest.fixture(autouse=True)
def _sources(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(SOURCES, "bowls", bowls)


BOWLS: dict[str, Any] = {
    "data": {"name": "bowls"},
    "law": {"name": "full"},
    "model": {"name": "quadratic"},
    "work": {"batch": 1, "local_steps": 1},
    "runs": {"rounds": ROUNDS, "every": 1, "seeds": 2},
    "tune": {"strategy": "grid", "budget": 5, "metric": "loss", "seeds": 2, "over": 0.5},
    "methods": {"FedAvg": {"lr": 0.1}},
}
STEPS = [0.1, 0.5, 0.8, 1.7, 1e30]

DIGITS: dict[str, Any] = {
    "data": {"name": "digits"},
    "partition": {"name": "by_class", "clients": 10, "rare": 2, "validation": 0.2},
    "law": {"name": "skewed", "arrivals": 2, "rare": 2},
    "model": {"name": "softmax"},
    "work": {"batch": 8, "local_steps": 2},
    "runs": {"rounds": 12, "every": 2, "seeds": 3},
    "tune": {"budget": 4, "seeds": 2, "over": 0.5},
    "methods": {"FedAvg": {"lr": 0.1}},
}


def changed(tables: dict[str, Any], **entries: Any) -> dict[str, Any]:
    """The tables with entries of [tune] and others laid over them; the methods in the place of theirs."""
    new = copy.deepcopy(tables)
    for name in ("methods", "data"):
        if name in entries:
            new[name] = entries.pop(name)
    new["runs"] |= entries.pop("runs", {})
    new["tune"] |= entries
    return new


def tuned(tables: dict[str, Any], folder: Path, **how: Any) -> Tuned:
    found = tune(load(tables, "f.toml"), folder, **how)
    assert found is not None
    return found


@pytest.fixture(scope="module")
def by_hand(tmp_path_factory: pytest.TempPathFactory) -> Tuned:
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(SOURCES, "bowls", bowls)
        return tuned(changed(BOWLS, space={"FedAvg": {"lr": STEPS}}), tmp_path_factory.mktemp("hand") / "t")


def test_the_best_step_size_is_the_one_known_beforehand(by_hand: Tuned):
    late = np.arange(ROUNDS // 2 + 1, ROUNDS + 1)
    rows = by_hand.table.sort("configuration")
    assert rows["lr"].to_list() == STEPS
    expected = [loss_after(late, lr).mean() for lr in STEPS[:-1]]
    np.testing.assert_allclose(rows["score"].to_numpy()[:-1].astype(float), expected, rtol=1e-3)
    assert rows["score"].to_list()[-1] is None
    assert rows["finite"].to_list() == [True, True, True, True, False]
    assert rows["chosen"].to_list() == [False, False, True, False, False]
    assert by_hand.experiment.methods == {"FedAvg": fr.FedAvg(lr=0.8)}
    found = by_hand.methods["FedAvg"]
    assert [one.numbers for one in found.lost] == [{"lr": 1e30}]
    assert found.chosen is not None
    assert found.near == (found.chosen,)
    assert found.chosen.stderr == 0  # nothing is drawn here
    assert found.edges == ()


def test_what_is_lost_is_named(by_hand: Tuned):
    assert "FedAvg: 1 of 5 configurations became non-finite (lr=1e+30)." in told(by_hand.experiment)
    columns, rows = table(by_hand.search, by_hand.experiment.methods, by_hand.methods)
    assert columns[2] == "loss"
    assert rows == [["FedAvg", "lr=0.8", "0.00 ± 0.00", "1 of 5", ""]]


def test_the_files_say_the_same(by_hand: Tuned):
    assert_frame_equal(pl.read_parquet(by_hand.folder / "tuning.parquet"), by_hand.table)
    assert load(tomllib.loads((by_hand.folder / "tuned.toml").read_text())) == by_hand.experiment
    summary = json.loads((by_hand.folder / "tuning.json").read_text())
    assert summary["split"] == "validation"
    assert summary["methods"]["FedAvg"]["chosen"] == {"lr": 0.8}
    assert summary["methods"]["FedAvg"]["not_finite"] == [{"lr": 1e30}]
    assert summary["rungs"] == [{"rounds": ROUNDS, "configurations": 5}]
    again = load(changed(BOWLS, space={"FedAvg": {"lr": STEPS}}) | {"tune": summary["search"]})
    assert search_of(again) == by_hand.search
    runs = open_folder(by_hand.folder / "rung-1")
    assert (runs.experiment.look_at, runs.experiment.seeds) == ("validation", (100, 101))


def test_a_second_call_plays_nothing_and_writes_the_same(by_hand: Tuned):
    before = {path.name: path.read_bytes() for path in by_hand.folder.glob("tun*")}
    ticks: list[Tick] = []
    tuned(changed(BOWLS, space={"FedAvg": {"lr": STEPS}}), by_hand.folder, tell=ticks.append)
    assert not ticks
    assert {path.name: path.read_bytes() for path in by_hand.folder.glob("tun*")} == before


@pytest.fixture(scope="module")
def digits(tmp_path_factory: pytest.TempPathFactory) -> Tuned:
    methods = {"FedAvg": {"lr": 0.1}, "FedeRage": {"lr": 0.05}}
    methods |= {label: {"kind": "fedavg", "lr": 0.2} for label in ("fixed", "far")}
    space = {"fixed": {}, "far": {"lr": [0.1, 0.2, 0.3, 1e38]}}
    return tuned(changed(DIGITS, methods=methods, space=space), tmp_path_factory.mktemp("digits") / "t")


@pytest.mark.parametrize("label", ["FedAvg", "FedeRage"])
def test_scores_are_those_of_single_runs_on_validation_examples(digits: Tuned, label: str):
    problem = load(DIGITS).problem(look_at="validation")
    rows = digits.table.filter(method=label)
    best, highest = None, -1.0
    for row in rows.to_dicts():
        numbers = {key: row[key] for key in digits.search.spaces[label]}
        method = (fr.FedAvg if label == "FedAvg" else fr.FedeRage)(**numbers)
        result = fr.run(problem, method, rounds=12, every=2, seeds=[100, 101])
        by_seed = result.accuracy[:, result.rounds > 6].mean(axis=1, dtype=float)
        np.testing.assert_allclose(row["by_seed"], by_seed, atol=1e-6)
        assert row["score"] == pytest.approx(by_seed.mean(), abs=1e-6)
        assert row["stderr"] == pytest.approx(abs(by_seed[0] - by_seed[1]) / 2, abs=1e-6)  # of two numbers
        if row["score"] > highest:
            best, highest = method, row["score"]
    assert digits.experiment.methods[label] == best
    found = digits.methods[label]
    assert found.chosen is not None
    assert found.chosen.score == highest
    within = rows.filter(pl.col("score") >= highest - (found.chosen.stderr or 0)).height
    assert len(found.near) == within


def test_every_method_has_the_same_budget_and_one_without_numbers_its_one(digits: Tuned):
    counts = dict(digits.table.group_by("method").len().iter_rows())
    assert counts == {"FedAvg": 4, "FedeRage": 4, "fixed": 1, "far": 4}
    assert digits.table.select("method", "lr", "beta_lr", "alpha", "gamma").n_unique() == 13
    assert digits.experiment.methods["fixed"] == fr.FedAvg(lr=0.2)
    assert "fixed: one configuration, for there is nothing to choose." in told(digits.experiment)


def test_a_model_that_is_no_longer_finite_has_an_accuracy_but_no_score(digits: Tuned):
    lost = [row["lr"] for row in digits.table.filter(method="far").to_dicts() if row["score"] is None]
    assert lost == [1e38]
    assert [one.numbers for one in digits.methods["far"].lost] == [{"lr": 1e38}]
    ends = open_folder(digits.folder / "rung-1").looks.filter(~pl.col("finite"), checkpoint="last")
    assert ends["accuracy"].is_not_null().all()


def test_the_control_follows_what_was_chosen(digits: Tuned):
    chosen = digits.experiment.methods["FedeRage"]
    assert isinstance(chosen, fr.FedeRage)
    control = digits.experiment.methods["FedAvg at κ·lr"]
    assert isinstance(control, fr.FedAvg)
    kappa = (1 - chosen.gamma) + chosen.gamma / chosen.alpha
    assert control.lr == pytest.approx(kappa * chosen.lr, rel=1e-5)
    assert "FedAvg at κ·lr" not in digits.methods
    assert any(note.startswith("FedAvg at κ·lr is not tuned") for note in told(digits.experiment))


def test_the_notes_say_how_and_give_way_to_those_of_the_next_search(digits: Tuned):
    how = told(digits.experiment)[0]
    for said in ("4 configurations a method", "seeds 100, 101", "12 rounds", "validation", "last 50 %"):
        assert said in how
    assert how.startswith(digits.environment["date"].split()[0])
    again = load(tomllib.loads(written(digits.experiment)))
    assert set(search_of(again).spaces) == {"FedAvg", "FedeRage", "fixed", "far"}, "the control is known for what it is"


def test_nobody_looks_at_test_examples(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Others in their place change no number; they would, if they were looked at."""
    tables = changed(BOWLS, space={"FedAvg": {"lr": STEPS[:3]}}, budget=3)
    good = tuned(tables, tmp_path / "good")
    poisoned = changed(tables, data={"name": "bowls", "test": -1e6})
    assert_frame_equal(tuned(poisoned, tmp_path / "poisoned").table, good.table)
    assert load(poisoned).problem().look_at == "test"
    looked = fr.run(load(poisoned).problem(), fr.FedAvg(lr=0.5), rounds=1)
    assert looked.loss[0, -1] > 1e11


HALVING: dict[str, Any] = {
    "strategy": "halving",
    "budget": 9,
    "rounds": 18,
    "over": 0.5,
    "space": {"FedAvg": {"lr": [0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 1.8]}},
}


def test_halving_lets_the_best_third_go_on_from_where_they_stand(tmp_path: Path):
    ticks: list[Tick] = []
    result = tuned(changed(BOWLS, **HALVING), tmp_path / "t", tell=ticks.append)
    assert [tuple(rung) for rung in result.rungs] == [(2, 9), (6, 3), (18, 1)]
    played = [{*result.table.filter(rung=k)["lr"].to_list()} for k in (1, 2, 3)]
    assert played == [set(HALVING["space"]["FedAvg"]["lr"]), {0.5, 0.6, 0.7}, {0.7}]
    for row in result.table.to_dicts():
        late = np.arange(row["round"] // 2 + 1, row["round"] + 1)
        np.testing.assert_allclose(row["score"], loss_after(late, row["lr"]).mean(), rtol=1e-3, atol=1e-12)
    assert result.experiment.methods == {"FedAvg": fr.FedAvg(lr=0.7)}
    rounds = [tick.progress.round for tick in ticks if tick.progress is not None]
    assert rounds == list(range(1, 19)), "no round is played twice"
    looks = open_folder(tmp_path / "t" / "rung-3").looks.filter(checkpoint="last", seed=100)
    assert looks["round"].to_list() == list(range(1, 19))


@pytest.mark.parametrize(
    "how",
    [
        {"strategy": "random", "budget": 4, "methods": {"FedAvg": {"lr": 0.1}, "FedProx": {"lr": 0.1}}},
        HALVING | {"budget": 4, "eta": 2, "space": {}},
    ],
    ids=["random", "halving"],
)
def test_a_search_that_was_stopped_ends_like_one_that_was_not(tmp_path: Path, how: dict[str, Any]):
    """Stopped after every leg: there are eight for each of two casts, or 18 on three rungs of one."""
    tables = changed(BOWLS, **how)
    whole, stops = tuned(tables, tmp_path / "whole"), 0
    while (result := tune(load(tables), tmp_path / "stopped", stop=lambda: True)) is None:
        assert not (tmp_path / "stopped" / "tuned.toml").exists()
        stops += 1
    assert stops >= 14
    assert_frame_equal(result.table, whole.table)
    assert result.experiment.methods == whole.experiment.methods


def test_a_larger_budget_plays_only_what_is_new(tmp_path: Path):
    tables = changed(BOWLS, strategy="random", budget=3)
    few = tuned(tables, tmp_path)
    ticks: list[Tick] = []
    more = tuned(changed(tables, budget=5), tmp_path, tell=ticks.append)
    assert {label for tick in ticks for label in tick.labels} == {"FedAvg #3", "FedAvg #4"}
    assert_frame_equal(more.table.head(3).drop("chosen"), few.table.drop("chosen"))


def test_where_nothing_stays_finite_the_file_s_numbers_stay(tmp_path: Path):
    tables = changed(BOWLS, budget=2, space={"FedAvg": {"lr": [1e30, 1e31]}})
    result = tuned(tables, tmp_path)
    assert result.experiment.methods == {"FedAvg": fr.FedAvg(lr=0.1)}
    assert result.methods["FedAvg"].chosen is None
    assert table(result.search, result.experiment.methods, result.methods)[1] == [
        ["FedAvg", "-", "none finite", "", ""]
    ]
    assert any("no configuration stayed finite" in note for note in told(result.experiment))


SPACE = {
    "lr": Range(0.01, 1.0),
    "beta_lr": Range(0.0, 10.0, "linear"),
    "alpha": (0.1, 0.3, 1.0),
    "gamma": (0.5, 0.9),
}


@pytest.mark.parametrize(
    ("numbers", "lying"),
    [
        ({"lr": 0.1, "beta_lr": 5.0, "alpha": 0.3, "gamma": 0.9}, {}),
        ({"lr": 0.0158, "beta_lr": 5.0, "alpha": 0.3, "gamma": 0.5}, {"lr": "lower"}),  # 10^(-2 + 0.2)
        ({"lr": 0.016, "beta_lr": 5.0, "alpha": 0.3, "gamma": 0.5}, {}),
        ({"lr": 0.63, "beta_lr": 5.0, "alpha": 0.3, "gamma": 0.5}, {}),  # 10^(-0.2) = 0.631
        ({"lr": 0.64, "beta_lr": 9.0, "alpha": 0.3, "gamma": 0.5}, {"lr": "upper", "beta_lr": "upper"}),
        ({"lr": 0.1, "beta_lr": 0.1, "alpha": 0.1, "gamma": 0.5}, {"alpha": "lower"}),  # beta_lr > 0 in any case
        ({"lr": 0.1, "beta_lr": 5.0, "alpha": 1.0, "gamma": 0.5}, {}),  # no tail mass exceeds 1
    ],
)
def test_what_lies_on_the_edge(numbers: dict[str, float], lying: dict[str, str]):
    method = fr.FedeRage(**numbers)  # pyright: ignore[reportArgumentType]
    assert {edge.key: edge.end for edge in edges(method, SPACE)} == lying


def test_an_edge_is_a_warning_that_names_the_key(tmp_path: Path):
    tables = changed(
        BOWLS, methods={"plain old": {"kind": "fedavg", "lr": 0.1}}, budget=3, space={"plain old": {"lr": STEPS[:3]}}
    )
    result = tuned(tables, tmp_path)
    warning = (
        "plain old: lr = 0.8 lies at the upper edge of what was searched, 0.1 to 0.8: "
        'widen [tune.space."plain old"] lr.'
    )
    assert warning in told(result.experiment)
    summary = json.loads((tmp_path / "tuning.json").read_text())
    assert summary["methods"]["plain old"]["on_the_edge"] == {
        "lr": {"value": 0.8, "end": "upper", "low": 0.1, "high": 0.8}
    }


def test_a_grid_that_is_too_large_is_not_tried_whole_and_that_is_said(tmp_path: Path):
    result = tuned(changed(BOWLS, budget=3, space={"FedAvg": {"lr": STEPS[:4]}}), tmp_path)
    assert result.table.height == 3
    assert "FedAvg: 3 of the 4 points of its grid were tried, drawn at random." in told(result.experiment)


@pytest.mark.parametrize(
    ("entries", "message"),
    [
        ({"budgte": 3}, r"f.toml, \[tune\]: unknown key 'budgte', .*; did you mean budget"),
        ({"strategy": "bayes"}, r"\[tune\], strategy: expected one of 'random', 'grid', 'halving', but 'bayes' came"),
        ({"budget": 0}, r"\[tune\], budget: expected a number of at least 1"),
        ({"budget": 10**6}, r"\[tune\], budget: expected at most 10,000"),
        ({"over": 0.0}, r"\[tune\], over: expected a part of the rounds in \(0, 1\]"),
        ({"eta": 1}, r"\[tune\], eta: expected a whole number of at least 2"),
        ({"seed": -1}, r"\[tune\], seed: expected a whole number of at least 0"),
        ({"seeds": [1, 7]}, r"\[tune\], seeds: expected seeds that the experiment does not use, .* but 1 came"),
        ({"metric": "accuracy"}, r"\[tune\], metric: .* bowls has no classes; set metric = \"loss\""),
        ({"space": {"FedAgv": {}}}, r"\[tune.space\]: unknown method 'FedAgv', .*; did you mean FedAvg"),
        ({"space": {"FedAvg": 3}}, r"\[tune.space.FedAvg\]: expected a table, but 3 came"),
        ({"space": {"FedAvg": {"mu": [1]}}}, r"\[tune.space.FedAvg\]: unknown key 'mu', it has lr, within"),
        ({"space": {"FedAvg": {"lr": 0.1}}}, r"\[tune.space.FedAvg\], lr: expected a list of values, or a range"),
        ({"space": {"FedAvg": {"lr": ["x"]}}}, r"\[tune.space.FedAvg\], lr: expected a number, but 'x' came"),
        ({"space": {"FedAvg": {"lr": []}}}, r"lr: expected different values, at least one"),
        ({"space": {"FedAvg": {"lr": [0.1, 0.1]}}}, r"lr: expected different values"),
        ({"space": {"FedAvg": {"lr": [-1.0, 1.0]}}}, r"\[tune.space.FedAvg\], lr: lr=-1.0 is not a positive"),
        ({"space": {"FedAvg": {"lr": {"low": 0.1}}}}, r"lr: expected a list of values, or a range"),
        ({"space": {"FedAvg": {"lr": {"low": 1, "high": 0.1}}}}, r"lr: expected low < high"),
        ({"space": {"FedAvg": {"lr": {"low": 0.0, "high": 1.0}}}}, r"lr: expected low > 0, .* give scale"),
        ({"space": {"FedAvg": {"lr": {"low": 0.1, "high": 1, "scale": "lin"}}}}, "scale: expected one of 'log'"),
        ({"space": {"FedAvg": {"lr": [0.1, 0.2]}}}, r"at least 5 different configurations, .* but there are 2"),
        ({"strategy": "halving", "budget": 2}, r"expected for halving a budget of at least eta = 3"),
        ({"strategy": "halving", "rounds": 2}, r"expected for halving .* 2 rounds with every = 1 came"),
        ({"data": {"name": "bowls", "validation": 0.0}}, r"expected clients with validation examples"),
        ({"methods": {}}, r"\[methods\]: expected a method to tune"),
        (
            {"methods": {"FedeRage": {"lr": 0.1}, "FedAvg at κ·lr": {"kind": "fedavg", "lr": 0.1}}}
            | {"space": {"FedAvg at κ·lr": {"lr": [0.1]}}},
            "its lr follows from that of FedeRage; remove the table",
        ),
    ],
)
def test_what_is_wrong_is_said_in_one_sentence_before_anything_is_played(
    tmp_path: Path, entries: dict[str, Any], message: str
):
    with pytest.raises(ExperimentError, match=message) as caught:
        tune(load(changed(BOWLS, **entries), "f.toml"), tmp_path / "t")
    assert "\n" not in str(caught.value)
    assert str(caught.value).startswith("f.toml")
    assert not (tmp_path / "t").exists()


def test_a_rare_group_is_needed_to_be_judged_by_it(tmp_path: Path):
    tables = changed(DIGITS, metric="rare")
    tables["partition"]["rare"], tables["law"] = 0, {"name": "uniform", "arrivals": 2}
    with pytest.raises(ExperimentError, match="no client of a rare group has validation examples"):
        tune(load(tables), tmp_path)
