"""An experiment's file: read, written, read again; and no file, however odd, that ends in a traceback."""

import copy
import tomllib
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tomli_w
from hypothesis import given, settings
from hypothesis import strategies as st

import federage as fr
from federage.algorithms import ALGORITHMS
from federage.errors import ExperimentError, FederageError
from federage.experiments.demo import demo
from federage.experiments.experiment import PARTITIONS
from federage.experiments.reading import load, written
from federage.experiments.sources import SOURCES
from federage.models import MODELS
from federage.participation import LAWS

TABLES: dict[str, Any] = {
    "title": "who",
    "notes": ["one"],
    "data": {"name": "digits"},
    "partition": {"name": "by_class", "clients": 10, "rare": 2},
    "law": {"name": "skewed", "arrivals": 2, "rare": 2},
    "model": {"name": "mlp", "hidden": [8]},
    "work": {"local_steps": 2, "batch": 4},
    "runs": {"rounds": 8, "every": 2, "seeds": 2},
    "methods": {"FedAvg": {"lr": 0.1}, "mine": {"kind": "federage", "lr": 0.1}},
}


def changed(*path: str, to: Any) -> dict[str, Any]:
    """The tables with one entry changed, or left out where `to` is None."""
    tables = copy.deepcopy(TABLES)
    inner = tables
    for key in path[:-1]:
        inner = inner.setdefault(key, {})
    inner.pop(path[-1], None)
    if to is not None:
        inner[path[-1]] = to
    return tables


def test_what_is_read():
    experiment = load(TABLES)
    assert experiment.methods == {"FedAvg": fr.FedAvg(lr=0.1), "mine": fr.FedeRage(lr=0.1)}
    assert (experiment.rounds, experiment.every, experiment.seeds) == (8, 2, (0, 1))
    problem = experiment.problem()
    assert (len(problem.clients), problem.law.clients, problem.law.capacity) == (10, 10, 2)
    assert (problem.local_steps, problem.batch, problem.model) == (2, 4, fr.models.mlp((8,)))
    assert np.asarray(problem.clients.rare).sum() == 2


def test_the_defaults():
    experiment = load({"data": {"name": "digits"}, "law": {"name": "full"}, "partition": {"name": "iid", "clients": 3}})
    assert (experiment.rounds, experiment.every, experiment.seeds) == (1000, 50, (0,))
    assert (experiment.local_steps, experiment.local_epochs, experiment.batch) == (10, None, 32)
    assert experiment.model.name == "mlp"
    assert experiment.participation().clients == 3


@pytest.mark.parametrize(
    "tables",
    [
        TABLES,
        changed("methods", "mine", "within", to={"kind": "ball", "radius": 3}),
        changed("work", to={"local_epochs": 0.5}),
        changed("work", "local_steps", to=[1, 2, 3, 4, 5, 6, 7, 8, 9, 10]),
        changed("law", to={"name": "coins", "probabilities": [0.1] * 10}),
        changed("law", to={"name": "cyclic", "laws": [{"name": "uniform", "arrivals": 2}, {"name": "full"}]}),
        changed("law", to={"name": "random_size", "prior": [1] * 10, "sizes": {"1": 0.5, "3": 0.5}}),
        changed("methods", "FedAvg", "lr", to=[0.1, 0.3]),
        changed("tune", to={"budget": 4}),
    ],
)
def test_what_is_written_is_the_same_experiment_and_stands_still(tables: dict[str, Any]):
    experiment = load(tables)
    again = load(tomllib.loads(written(experiment)))
    assert again == experiment
    assert written(again) == written(experiment)
    assert again.participation().weights().values.sum() == pytest.approx(1)


def test_a_file_is_read_like_its_tables_and_paths_are_relative_to_it(tmp_path: Path):
    np.savez(tmp_path / "mine.npz", x=np.random.default_rng(0).normal(size=(40, 3)), y=np.arange(40) % 2)
    file = tmp_path / "it.toml"
    tables = changed("data", to={"name": "npz", "path": "mine.npz", "hold_out": 0.25})
    tables["partition"] = {"name": "iid", "clients": 10}
    tables["law"].pop("rare")
    tables["law"] |= {"name": "uniform"}
    tables["work"]["batch"] = 1
    file.write_text(tomli_w.dumps(tables))
    experiment = load(file)
    assert experiment.data.settings["path"] == str(tmp_path / "mine.npz")
    clients = experiment.clients()
    assert int(np.asarray(clients.test.lengths).sum()) == 10
    assert load(tomllib.loads(written(experiment))) == experiment


def test_a_list_is_a_grid_in_the_order_it_was_written():
    methods = load(changed("methods", to={"A": {"kind": "federage", "lr": [0.1, 1], "alpha": [0.5, 1.0]}})).methods
    assert list(methods) == ["A lr=0.1 alpha=0.5", "A lr=0.1 alpha=1", "A lr=1 alpha=0.5", "A lr=1 alpha=1"]
    assert methods["A lr=1 alpha=0.5"] == fr.FedeRage(lr=1.0, alpha=0.5)


def test_a_method_of_one_s_own_by_module_and_name():
    methods = load(changed("methods", to={"mine": {"kind": "federage:FedProx", "lr": 0.1}})).methods
    assert methods == {"mine": fr.FedProx(lr=0.1)}
    assert load(changed("model", to={"name": "federage.models:softmax"})).problem().model == fr.models.softmax()


def test_the_demonstration_is_a_file():
    assert load(tomllib.loads(written(demo()))) == demo()


@pytest.mark.parametrize(
    ("tables", "message"),
    [
        (changed("daata", to={}), "f.toml, unknown key 'daata', .*; did you mean data"),
        (changed("data", to=None), r"f.toml, expected a table \[data\]"),
        (changed("data", to="digits"), r"f.toml, data: expected a table, but 'digits' came; begin it with \[data\]"),
        (changed("data", to={}), r"f.toml, \[data\]: expected a name, one of digits"),
        (changed("data", "name", to="digit"), r"f.toml, \[data\], name: unknown name 'digit', .*; did you mean digits"),
        (changed("data", "name", to="no.such:thing"), r"\[data\], name: 'no.such:thing' cannot be imported"),
        (changed("data", "name", to="federage:models"), "is not a function or a class; expected module:function"),
        (changed("title", to=3), "f.toml, title: expected a text, but 3 came"),
        (changed("notes", to=[3]), "f.toml, notes: expected a list, each entry a text, but"),
        (changed("law", "arivals", to=3), r"\[law\]: unknown key 'arivals', skewed takes .*; did you mean arrivals"),
        (changed("law", "arrivals", to="three"), r"\[law\], arrivals: expected a whole number, but 'three' came"),
        (changed("law", to={"name": "cyclic", "laws": ["full"]}), r"\[law\], laws\[0\]: expected a law's table"),
        (changed("model", "hidden", to=[1.5]), r"\[model\], hidden: expected a list, each entry a whole number"),
        (changed("work", "batsh", to=3), r"\[work\]: unknown key 'batsh', .*; did you mean batch"),
        (changed("work", "batch", to=0), r"\[work\], batch: expected a number of at least 1, but 0 came"),
        (changed("work", "local_epochs", to=1.0), r"\[work\]: both local_steps and local_epochs came"),
        (changed("work", "precision", to="half"), r"\[work\], precision: expected one of 'float32'"),
        (changed("runs", "rounds", to=0), r"\[runs\], rounds: expected a number of at least 1, but 0 came"),
        (changed("runs", "seeds", to=[1, 1]), r"\[runs\], seeds: expected how many, or a list of different ones"),
        (changed("runs", "smooth", to=1.0), r"\[runs\], smooth: expected a decay in \(0, 1\)"),
        (changed("methods", "FedAvg", to=3), r"\[methods.FedAvg\]: expected a table, but 3 came"),
        (changed("methods", "FedAvg", to={}), r"\[methods.FedAvg\]: expected lr, but nothing came; give lr = ..."),
        (changed("methods", "FedAvg", "lr", to=-1), r"\[methods.FedAvg\]: lr=-1.0 is not a positive"),
        (changed("methods", "FedAvg", "lr", to=[]), r"\[methods.FedAvg\], lr: .* the list is empty"),
        (changed("methods", "mine", "alpha", to=1.5), "alpha=1.5 is not a tail mass .* pass alpha = 1 - c"),
        (changed("methods", "mine", "alhpa", to=1), "unknown key 'alhpa', federage takes .*; did you mean alpha"),
        (changed("methods", "mine", "kind", to="fedrage"), "kind: unknown name 'fedrage', .*; did you mean federage"),
        (changed("methods", "mine", "kind", to="federage:Ball"), "unknown key 'lr', federage:Ball takes radius"),
        (changed("methods", "Hers", to={"lr": 0.1}), "'Hers' is no method's name; give kind = one of fedavg"),
        (changed("methods", "mine", "lr", to=[0.1 + k for k in range(1001)]), "more than 1,000 configurations"),
    ],
)
def test_what_is_wrong_is_said_in_one_sentence(tables: dict[str, Any], message: str):
    with pytest.raises(ExperimentError, match=message) as caught:
        load(tables, "f.toml")
    assert "\n" not in str(caught.value)
    assert str(caught.value).startswith("f.toml")


@pytest.mark.parametrize(
    ("tables", "message"),
    [
        (changed("law", "arrivals", to=11), r"f.toml, \[law\]: arrivals takes at most the 10 clients"),
        (changed("partition", to=None), r"f.toml, \[partition\]: digits has to be cut into clients"),
        (changed("partition", "clients", to=4000), r"f.toml, \[partition\]: .* to own training examples"),
        (changed("work", "batch", to=1000), "f.toml: batch=1000 exceeds the .* training examples of client"),
        (changed("law", "clients", to=9), "f.toml: the law is over 9 clients, the data over 10"),
        (changed("law", to={"name": "uniform"}), r"f.toml, \[law\]: expected arrivals, but nothing came"),
        (changed("data", to={"name": "mnist", "folder": "/nowhere"}), r"f.toml, \[data\]: "),
        (changed("data", to={"name": "csv", "path": "/no.csv", "label": "y"}), r"f.toml, \[data\]: /no.csv: no such"),
        (changed("data", to={"name": "motivating_example"}), r"f.toml, \[partition\]: .* leave the partition out"),
        (changed("model", "name", to="lenet"), r"unknown key 'hidden', lenet takes nothing"),
    ],
)
def test_impossible_combinations_name_the_table(tables: dict[str, Any], message: str):
    with pytest.raises(ExperimentError, match=message) as caught:
        load(tables, "f.toml").problem()
    assert "\n" not in str(caught.value)


def test_no_such_file_and_no_toml(tmp_path: Path):
    with pytest.raises(ExperimentError, match=r"none.toml: no such file"):
        load(tmp_path / "none.toml")
    (tmp_path / "bad.toml").write_bytes(b"data = \xff")
    with pytest.raises(ExperimentError, match=r"bad.toml is not TOML"):
        load(tmp_path / "bad.toml")
    with pytest.raises(ExperimentError, match="cannot be read"):
        load(tmp_path)


def test_two_methods_of_one_name():
    tables = changed("methods", to={"A": {"kind": "fedavg", "lr": [0.1]}, "A lr=0.1": {"kind": "fedavg", "lr": 1.0}})
    with pytest.raises(ExperimentError, match=r"two methods are called A lr=0\.1"):
        load(tables)


PLAIN = st.recursive(
    st.one_of(
        st.booleans(),
        st.integers(-(2**40), 2**40),
        st.floats(),
        st.text(max_size=8),
        st.sampled_from([*LAWS, *MODELS, *PARTITIONS, *ALGORITHMS, "digits", "moderate", "ball"]),
    ),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=3),
    max_leaves=4,
)
ODD_KEYS = (
    "name kind clients arrivals rare lr alpha within hidden batch rounds every seeds smooth laws sizes prior look_at"
)
KEYS = st.sampled_from(sorted(ODD_KEYS.split(" ")))
PLACES = st.sampled_from(["data", "partition", "law", "model", "work", "runs", "tune", "methods", "title", "notes"])


@st.composite
def odd_tables(draw: st.DrawFn) -> dict[str, Any]:
    """The good tables with up to four entries replaced, added or left out."""
    tables = copy.deepcopy(TABLES)
    for _ in range(draw(st.integers(1, 4))):
        place, value = draw(PLACES), draw(PLAIN)
        if draw(st.booleans()) or not isinstance(tables.get(place), dict):
            tables[place] = value
        elif place == "methods":
            tables[place][draw(st.sampled_from(["FedAvg", "mine", "scaffold", ""]))] = {draw(KEYS): value}
        else:
            tables[place][draw(KEYS)] = value
    return tables


@settings(max_examples=300, deadline=None)
@given(odd_tables())
def test_odd_tables_are_read_or_refused_in_one_sentence(tables: dict[str, Any]):
    complaint = "f.toml"
    try:
        experiment = load(tables, "f.toml")
        experiment.participation(10)
        assert load(tomllib.loads(written(experiment))) == experiment
    except FederageError as error:
        complaint = str(error)
    assert complaint.startswith("f.toml")
    assert "\n" not in complaint


@settings(max_examples=200, deadline=None)
@given(st.text(alphabet="[]={}.\"'\n\\ \tdataname1#,é", max_size=60))
def test_odd_texts_are_read_or_refused(tmp_path_factory: pytest.TempPathFactory, text: str):
    path = tmp_path_factory.mktemp("odd") / "f.toml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(ExperimentError):
        load(path)


def test_every_source_by_name_is_made_of_plain_values():
    for name in SOURCES:
        required = {"csv": {"path": "a", "label": "y"}, "npz": {"path": "a"}, "hf": {"hub": "a/b"}}.get(name, {})
        assert load({"data": {"name": name} | required, "law": {"name": "full"}}).data.name == name
