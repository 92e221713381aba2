"""Flags make the tables that a file holds: both lead to the same experiment, and to the same complaints."""

import contextlib
import tomllib
from argparse import Namespace

import pytest
from experiments_by_hand import FILE, FLAGS, assert_one_line
from hypothesis import given
from hypothesis import strategies as st

from federage.cli import flags
from federage.cli.main import parser
from federage.errors import ExperimentError
from federage.experiments import load


def laid(words, over=""):
    """The tables that flags make, laid over those of a file."""
    tables = tomllib.loads(over)
    flags.lay(parser().parse_args(["run", *words]), tables)
    return tables


def test_flags_make_the_tables_of_the_file():
    assert laid(FLAGS) == tomllib.loads(FILE)
    assert load(laid(FLAGS)) == load(tomllib.loads(FILE))


@pytest.mark.parametrize(
    ("words", "value"),
    [
        ("3", 3),
        ("0.1", 0.1),
        (".5", 0.5),
        ("-5.", -5.0),
        ("1e-3", 0.001),
        ("true", True),
        ("by_class", "by_class"),
        ("a b", "a b"),
        ('"3"', "3"),
        ("[1, 2]", [1, 2]),
        ("[.1,.3]", [0.1, 0.3]),
        ("[[0,1],[2]]", [[0, 1], [2]]),
        ("[a,b]", ["a", "b"]),
        ("{kind = 'ball', radius = 1}", {"kind": "ball", "radius": 1}),
        ("1\nx = 2", "1\nx = 2"),
        ("", ""),
    ],
)
def test_a_value_is_toml_s_or_else_a_text(words, value):
    assert flags.value(words) == value
    assert type(flags.value(words)) is type(value)


@given(st.recursive(st.integers() | st.booleans() | st.text("abc,[]{}'", max_size=5), st.lists, max_leaves=8))
def test_whatever_toml_can_say_of_numbers_texts_and_lists_is_read_as_toml(value):
    def said(value):
        if isinstance(value, list):
            return f"[{', '.join(map(said, value))}]"
        return f'"{value}"' if isinstance(value, str) else str(value).lower()

    assert flags.value(said(value)) == value
    assert flags.choice(f"x:a={said(value)},b=1", "--data", {}) == ("x", {"a": value, "b": 1})


@given(st.text())
def test_any_words_are_a_value_or_a_complaint(words):
    flags.value(words)
    for flag in ("--data", "--method", "--set"):
        with contextlib.suppress(ExperimentError):
            flags.lay(parser().parse_args(["run", f"{flag}={words}"]), {})


def test_the_same_name_keeps_the_file_s_settings_and_another_begins_anew():
    over = '[law]\nname = "skewed"\narrivals = 2\nrare = 2\n'
    assert laid(["--law", "skewed:rare=1"], over)["law"] == {"name": "skewed", "arrivals": 2, "rare": 1}
    assert laid(["--law", "uniform:arrivals=3"], over)["law"] == {"name": "uniform", "arrivals": 3}
    assert laid(["--law", "my.laws:mine:a=1"])["law"] == {"name": "my.laws:mine", "a": 1}
    assert laid(["--law", "my.laws:mine"])["law"] == {"name": "my.laws:mine"}


def test_methods_by_flags():
    over = '[methods.FedAvg]\nlr = 0.1\n[methods.mine]\nkind = "fedprox"\nlr = 0.2\nmu = 0.5\n'
    words = ["FedAvg:lr=[.3,1]", "mine:lr=0.7", "SCAFFOLD:lr=.1", "FedAvg at κ·lr=fedavg:lr=.4", "my.own:Method:a=1"]
    methods = laid([word for method in words for word in ("--method", method)], over)["methods"]
    assert methods == {
        "FedAvg": {"lr": [0.3, 1]},
        "mine": {"kind": "fedprox", "lr": 0.7, "mu": 0.5},
        "SCAFFOLD": {"lr": 0.1},
        "FedAvg at κ·lr": {"kind": "fedavg", "lr": 0.4},
        "Method": {"kind": "my.own:Method", "a": 1},
    }
    assert laid(["--method", "mine=fedavg:lr=1"], over)["methods"]["mine"] == {"kind": "fedavg", "lr": 1}


def test_anything_else_is_set_as_the_file_would_have_it():
    words = ["tune.space.FedAvg.lr=[0.1, 1]", "notes=[a, b]", 'methods."A = b".lr=.5', "work.batch=4", "work.batch=8"]
    assert laid([word for setting in words for word in ("--set", setting)]) == {
        "tune": {"space": {"FedAvg": {"lr": [0.1, 1]}}},
        "notes": ["a", "b"],
        "methods": {"A = b": {"lr": 0.5}},
        "work": {"batch": 8},
    }


def test_numbers_by_flags():
    words = [*("--rounds", "5", "--every", "2", "--seeds", "3,5", "--smooth", ".9"), "--local-steps", "1,2"]
    words += ["--batch", "4", "--precision", "bfloat16"]
    assert laid(words) == {
        "runs": {"rounds": 5, "every": 2, "seeds": [3, 5], "smooth": 0.9},
        "work": {"local_steps": [1, 2], "batch": 4, "precision": "bfloat16"},
    }
    assert laid(["--seeds", "[3, 5]", "--local-epochs", "1"]) == {
        "runs": {"seeds": [3, 5]},
        "work": {"local_epochs": 1},
    }


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--law", "uniform:arrivals"], "--law uniform:arrivals: expected key=value after uniform:, but 'arrivals'"),
        (["--law", "uniform:=3"], "expected key=value after uniform:"),
        (["--method", "FedAvg:lr=1", "--method", "FedAvg:lr=2"], "a second FedAvg came; give it a label, as in again="),
        (["--set", "work"], "--set work: expected TABLE.KEY=VALUE"),
        (["--set", "a..b=1"], "expected TABLE.KEY=VALUE"),
        (["--title", "x", "--set", "title.of=1"], "--set title.of=1: title is no table there, but 'x'"),
    ],
)
def test_what_no_table_can_be_made_of(words, said):
    with pytest.raises(ExperimentError, match=said.replace("(", "\\(").replace(".", "\\.")):
        laid(words)


def test_complaints_are_those_of_the_file(federage, here):
    for words, said in (
        (
            ["--method", "FedAvg:lrr=0.1"],
            "[methods.FedAvg]: unknown key 'lrr', fedavg takes lr, within; did you mean lr?",
        ),
        (["--method", "FedAvgg:lr=0.1"], "[methods.FedAvgg]: 'FedAvgg' is no method's name"),
        (["--data", "digts"], "[data], name: unknown name 'digts'"),
        (["--rounds", "1.5"], "[runs], rounds: expected a whole number, but 1.5 came"),
        (["--set", "wrok.batch=3"], "unknown key 'wrok'"),
        (["--law", "skewed:arrivals=2,rare=2,severity=grave"], "[law]: severity takes"),
        (["--partition", "by_class"], "[partition]: expected clients, but nothing came"),
    ):
        known = FLAGS if words[0] != "--method" else FLAGS[:-4]
        status, out, err = federage("run", *known, *words)
        assert (status, out) == (2, "")
        assert said in err
        assert_one_line(err)
        assert not list(here.glob("runs/*/casts"))


def test_a_file_s_paths_are_relative_to_it_and_a_flag_s_to_where_one_is(here):
    (here / "below").mkdir()
    (here / "below" / "x.toml").write_text('[data]\nname = "csv"\npath = "mine.csv"\nlabel = "y"\n[law]\nname="full"\n')
    arguments = parser().parse_args(["run", "below/x.toml", "--rounds", "3"])
    assert flags.experiment(arguments, arguments.file).data.settings["path"] == str(here / "below" / "mine.csv")
    arguments = parser().parse_args(["run", "below/x.toml", "--data", "csv:path=mine.csv"])
    assert flags.experiment(arguments, arguments.file).data.settings["path"] == str(here / "mine.csv")
    arguments = parser().parse_args(["run", "--data", "npz:path=mine.npz", "--law", "full"])
    assert flags.experiment(arguments, None).data.settings["path"] == str(here / "mine.npz")


def test_given():
    assert not flags.given(parser().parse_args(["run", "x.toml", "--json"]))
    assert flags.given(parser().parse_args(["run", "--seeds", "2"]))
    assert isinstance(parser().parse_args(["law"]), Namespace)
