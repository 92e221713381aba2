"""The demonstration: a fair comparison, whose settings are those that the search it names has chosen."""

import json
from pathlib import Path

import polars as pl
import pytest

from federage.experiments import play
from federage.experiments.demo import demo
from federage.tuning.search import search_of

SCRIPTS = Path(__file__).parents[2] / "scripts"
SEARCH = json.loads((SCRIPTS / "demo_tuning.json").read_text())
TABLE = pl.read_parquet(SCRIPTS / "demo_tuning.parquet")
CONTROL = "FedAvg at κ·lr"
TUNED = [label for label in demo().methods if label != CONTROL]


@pytest.fixture(scope="module")
def recorded(tmp_path_factory):
    return play(demo(rounds=6, seeds=2), tmp_path_factory.mktemp("demo"))


def test_all_methods_are_played_and_looked_at(recorded):
    assert recorded.methods == list(demo().methods)
    assert recorded.finished
    assert recorded.looks["finite"].all()
    assert recorded.looks["round"].unique().to_list() == [1, 2, 3, 4, 5, 6]
    for metric in ("accuracy", "worst", "worst_tenth", "rare"):
        assert recorded.looks[metric].is_between(0, 1).all()


def test_all_methods_meet_the_same_arrivals(recorded):
    first = recorded.heard.filter(method="FedAvg")["heard"]
    assert first.sum() == 2 * 6 * 3
    for label in recorded.methods:
        assert recorded.heard.filter(method=label)["heard"].to_list() == first.to_list()


def test_three_clients_have_the_rare_classes_for_themselves_and_hardly_ever_come(recorded):
    rare = recorded.clients.filter("rare")
    assert rare["client"].to_list() == [27, 28, 29]
    assert len(recorded.clients) == 30
    assert set(rare["classes"].explode()) == {8, 9}
    assert set(recorded.clients.filter(~pl.col("rare"))["classes"].explode()) == set(range(8))
    assert rare["weight_error"].null_count() == 3
    assert rare["weight"].sum() < 0.01


def test_the_defaults_and_shorter_ones():
    assert (demo().rounds, demo().every, demo().seeds) == (2000, 50, (0, 1, 2, 3, 4))
    assert (demo(7, 1).rounds, demo(7, 1).every, demo(7, 1).seeds) == (7, 1, (0,))
    assert demo(rounds=1).every == 1


def test_the_control_has_federage_s_effective_step_size():
    federage = demo().methods["FedeRage"]
    assert demo().methods[CONTROL].lr == pytest.approx(federage.lr * federage.kappa, rel=1e-5)


@pytest.mark.parametrize("label", TUNED)
def test_every_method_is_played_as_the_search_chose_it(label):
    chosen = SEARCH["methods"][label]["chosen"]
    assert chosen
    assert {name: getattr(demo().methods[label], name) for name in chosen} == chosen


@pytest.mark.parametrize("label", TUNED)
def test_the_chosen_one_is_the_best_of_as_many_as_any_method_had(label):
    rows = TABLE.filter(method=label)
    assert len(rows) == 32
    best = rows.filter(pl.col("score") == pl.col("score").max())
    assert {name: best[name].item() for name in SEARCH["methods"][label]["chosen"]} == SEARCH["methods"][label][
        "chosen"
    ]
    assert SEARCH["methods"][label]["on_the_edge"] == {}


def test_the_search_is_the_one_that_the_demonstration_describes():
    table = json.loads(json.dumps(search_of(demo()).table()))
    assert SEARCH["search"] == table
    assert SEARCH["split"] == "validation"
    assert not set(table["seeds"]) & set(demo().seeds)
    said = demo().notes[0]
    assert f"{table['budget']} configurations a method" in said
    assert f"{len(table['seeds'])} seeds that are not used here" in said
    assert f"{table['rounds']:,} rounds" in said
    assert SEARCH["environment"]["date"][:10] in said
