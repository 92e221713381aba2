"""The demonstration: what it plays is written down whole, was tuned as it says, and is a fair comparison."""

import dataclasses
import inspect
import json
from pathlib import Path

import jax
import numpy as np
import pytest

import federage as fr
from federage.experiments import demo as demonstration
from federage.experiments.demo import METHODS, ROUNDS, SEEDS, TUNED, demo
from federage.experiments.experiment import PARTITIONS, Choice, Experiment
from federage.experiments.outcome import METRICS, play
from federage.models import MODELS
from federage.participation import LAWS

TUNING = json.loads((Path(__file__).parents[2] / "scripts" / "demo_tuning.json").read_text())
TUNED_METHODS = [label for label in METHODS if label != "FedAvg at κ·lr"]
CONFIGURATIONS = 32


@pytest.fixture(scope="module")
def outcome():
    return play(demo(rounds=6, seeds=2))


def test_all_methods_are_played_and_looked_at(outcome):
    assert list(outcome.results) == list(METHODS) == list(outcome.seconds)
    for label, result in outcome.results.items():
        assert result.method == METHODS[label]
        assert result.seeds == (0, 1)
        assert result.finite.all()
        assert result.rounds.tolist() == [1, 2, 3, 4, 5, 6]
        assert set(result.looks) == set(outcome.checkpoints)
        for checkpoint in outcome.checkpoints:
            for metric in METRICS:
                assert 0 <= outcome.score(label, checkpoint, metric).mean <= 1
                assert outcome.score(label, checkpoint, metric).seeds == 2


def test_all_methods_meet_the_same_arrivals_and_start_from_the_same_model(outcome):
    first, *others = outcome.results.values()
    assert first.heard.sum() == 2 * 6 * demonstration.ARRIVALS
    for other in others:
        np.testing.assert_array_equal(other.heard, first.heard)
    one, same = (jax.tree.leaves(outcome.results[label].last.theta) for label in ("FedAvg", "FedAvg at κ·lr"))
    assert not all(np.array_equal(a, b) for a, b in zip(one, same, strict=True)), "but they go different ways"


def test_three_clients_have_the_rare_classes_for_themselves_and_hardly_ever_come(outcome):
    rare = [client["client"] for client in outcome.clients if client["rare"]]
    assert rare == [27, 28, 29]
    assert len(outcome.clients) == demonstration.CLIENTS
    of_rare = {label for k in rare for label in outcome.clients[k]["classes"]}
    of_others = {label for client in outcome.clients if not client["rare"] for label in client["classes"]}
    assert (of_rare, of_others) == ({8, 9}, set(range(8)))
    assert outcome.weights.exact
    assert outcome.weights.values[rare].sum() < 0.01


def test_the_control_has_federage_s_effective_step_size():
    federage = METHODS["FedeRage"]
    assert METHODS["FedAvg at κ·lr"] == fr.FedAvg(
        lr=federage.lr * ((1 - federage.gamma) + federage.gamma / federage.alpha)
    )


def test_the_defaults():
    experiment = demo()
    assert experiment.rounds == ROUNDS
    assert experiment.seeds == tuple(range(SEEDS))
    assert experiment.every == ROUNDS // 40
    assert demo(rounds=1).every == 1


@pytest.mark.parametrize("experiment", [demo(), demo(7, 1)], ids=["whole", "short"])
def test_the_settings_are_complete(experiment):
    """An equal experiment can be made of the printed settings, whatever the defaults are by then."""
    tables = json.loads(json.dumps(experiment.settings()))

    def choice(name):
        settings = {key: tuple(v) if isinstance(v, list) else v for key, v in tables[name].items() if key != "name"}
        return Choice(tables[name]["name"], settings)

    methods = {
        name.removeprefix("methods."): getattr(fr, table["kind"])(**{k: v for k, v in table.items() if k != "kind"})
        for name, table in tables.items()
        if name.startswith("methods.")
    }
    given = {
        "title": experiment.title,
        "notes": experiment.notes,
        "data": tables["data"]["name"],
        "methods": methods,
        **{name: choice(name) for name in ("partition", "law", "model")},
        **tables["runs"],
        **tables["work"],
    }
    given["seeds"] = tuple(given["seeds"])
    assert set(given) == {field.name for field in dataclasses.fields(Experiment)}, "nothing is left to a default"
    for label, method in experiment.methods.items():
        assert tables[f"methods.{label}"].keys() == {"kind", *(field.name for field in dataclasses.fields(method))}
    for known, name, skip in ((PARTITIONS, "partition", 1), (LAWS, "law", 0), (MODELS, "model", 0)):
        parameters = list(inspect.signature(known[tables[name]["name"]]).parameters)[skip:]
        assert tables[name].keys() == {"name", *parameters}

    again = Experiment(**given)
    plain = {field.name for field in dataclasses.fields(Experiment)} - {"partition", "law", "model"}
    assert all(getattr(again, name) == getattr(experiment, name) for name in plain)
    assert again.settings() == experiment.settings()
    one, other = again.problem(), experiment.problem()
    assert one.model.name == other.model.name
    for a, b in zip(jax.tree.leaves((one.clients, one.law)), jax.tree.leaves((other.clients, other.law)), strict=True):
        np.testing.assert_array_equal(a, b)


def test_a_setting_that_is_not_given_is_told_and_one_that_does_not_exist_is_refused():
    experiment = dataclasses.replace(demo(), law=Choice.of("skewed", clients=30, arrivals=3, rare=3))
    assert experiment.settings()["law"]["severity"] == "moderate"
    with pytest.raises(TypeError, match="sevrity"):
        dataclasses.replace(demo(), law=Choice.of("skewed", sevrity="mild")).settings()


@pytest.mark.parametrize("label", TUNED_METHODS)
def test_every_method_is_played_as_it_was_tuned(label):
    chosen = TUNING["methods"][label]["chosen"]
    settings = {name: value for name, value in chosen.items() if name not in ("accuracy", "by_seed")}
    assert settings
    assert {name: getattr(METHODS[label], name) for name in settings} == settings


@pytest.mark.parametrize("label", TUNED_METHODS)
def test_every_method_was_tuned_over_as_many_configurations(label):
    found = TUNING["methods"][label]
    names = [name for name in found["chosen"] if name not in ("accuracy", "by_seed")]
    assert len({tuple(row[name] for name in names) for row in found["table"]}) == len(found["table"]) == CONFIGURATIONS
    known = [row for row in found["table"] if row["accuracy"] is not None]
    assert found["chosen"] in known
    assert found["chosen"]["accuracy"] == max(row["accuracy"] for row in known)
    assert all(np.isclose(np.mean(row["by_seed"]), row["accuracy"], atol=2e-5) for row in known)


def test_the_notes_tell_how_the_methods_were_tuned():
    assert set(TUNING["methods"]) == set(TUNED_METHODS)
    assert TUNING["environment"]["date"].startswith(TUNED)
    said = demo().notes[0]
    assert TUNED in said
    assert f"{CONFIGURATIONS} configurations a method" in said
    assert f"{len(TUNING['problem']['runs']['seeds'])} seeds that are not used here" in said
    assert f"{TUNING['problem']['runs']['rounds']:,} rounds" in said


def test_tuning_was_on_the_same_problem_other_seeds_and_validation_examples():
    here = json.loads(json.dumps(demo().settings()))
    problem = TUNING["problem"]
    assert not set(problem["runs"].pop("seeds")) & set(here["runs"].pop("seeds"))
    assert problem == {name: table for name, table in here.items() if not name.startswith("methods.")}
    assert TUNING["split"] == "validation"
