"""`federage demo` and `paper`: thin over what they show."""

import dataclasses
import re

import pytest
from experiments_by_hand import assert_one_line

import federage as fr
from federage.experiments import demo as demonstration
from federage.experiments.choice import Choice
from federage.paper import Made, Table

whole = demonstration.demo


def small(rounds, seeds):
    """The demonstration with a linear model and three methods, one of which goes astray."""
    methods = {"FedAvg": fr.FedAvg(0.1), "too far": fr.FedAvg(3e38), "FedeRage": fr.FedeRage(0.1)}
    return dataclasses.replace(whole(rounds, seeds), model=Choice("softmax", {}), methods=methods)


def test_the_demo(federage, monkeypatch, here):
    monkeypatch.setattr(demonstration, "demo", small)
    words = ["demo", "--rounds", 8, "--seeds", 2, "--out", "new/folder"]
    status, out, err = federage(*words)
    assert status == 0, err
    header, *rows, path = out.splitlines()
    assert header.startswith("accuracy in %")
    assert len(rows) == 3 * (1 + 3)
    assert [set(re.split(r"  +", row.strip())[1:]) for row in rows if "too far" in row] == [{"-"}] * 3
    assert path == "new/folder/report.html"
    assert (here / path).read_text().startswith("<!DOCTYPE html>")
    assert (here / "new/folder/overview.svg").read_text().startswith("<svg")

    assert err.splitlines()[0].endswith("(3 methods, 8 rounds, 2 seeds)")
    assert re.search(r"^1/2  FedAvg ×2  round +2/8 .*  2 of 4 runs not finite", err, re.MULTILINE)
    assert "too far became non-finite" in err
    assert "nan" not in out + err

    status, again, err = federage(*words)
    assert (status, again) == (0, out)
    assert "new/folder is finished: nothing to play" in err


def test_the_demo_s_help_tells_its_defaults(federage):
    _, out, _ = federage("demo", "--help")
    experiment = whole()
    assert f"[default: {experiment.rounds}]" in out
    assert f"[default: {len(experiment.seeds)}]" in out
    words = ["no", "one", "two", "three", "four", "five", "six", "seven", "eight"]
    assert f"Play {words[len(experiment.methods)]} methods" in out
    assert f"{experiment.partition.settings['clients']} clients" in out
    assert f"{words[experiment.partition.settings['rare']]} of them" in out


def test_a_folder_that_cannot_be_written_to(federage, here):
    (here / "file").touch()
    for folder in ("file", "file/below"):
        status, out, err = federage("demo", "--rounds", 1, "--out", folder)
        assert (status, out) == (1, "")
        assert f"{folder} cannot be written to" in err
        assert_one_line(err)


@pytest.fixture
def asked(monkeypatch):
    """What is asked of the paper's figures."""
    calls = []

    def make(name, folder, **how):
        calls.append((name, str(folder), how["small"], how["data"] and str(how["data"])))
        return Made([folder / f"{name}.svg", folder / f"{name}.html"], Table(["", "p"], [["a", "1"]]), ("by hand",))

    monkeypatch.setattr("federage.paper.make", make)
    return calls


@pytest.mark.parametrize(
    ("words", "asks"),
    [
        ("demo --motivation", ("fig1", "runs/motivation", False, None)),
        ("demo --motivation --out here", ("fig1", "here", False, None)),
        ("paper fig4 --small", ("fig4", "runs/paper-small", True, None)),
        ("paper table1 --data d --out o", ("table1", "o", False, "d")),
    ],
)
def test_figures_of_the_paper(federage, asked, here, words, asks):
    status, out, err = federage(*words.split())
    assert (status, err) == (0, "by hand\n")
    assert asked == [asks]
    name, folder = asks[:2]
    assert out.splitlines()[-2:] == [f"{folder}/{name}.svg", f"{folder}/{name}.html"]


def test_the_motivating_example_is_as_the_paper_has_it(federage, asked):
    status, out, err = federage("demo", "--motivation", "--seeds", 2)
    assert (status, out, asked) == (2, "", [])
    assert err == "error: --motivation is played as the paper has it; leave --seeds out\n"


def test_a_figure_that_was_stopped_says_how_to_go_on(federage, monkeypatch):
    monkeypatch.setattr("federage.paper.make", lambda *_, **__: Made([], None, ("stopped",)))
    status, out, err = federage("paper", "fig4", "--small")
    assert (status, out) == (130, "")
    assert err == "stopped; go on with: federage paper fig4 --small --out runs/paper-small\n"
