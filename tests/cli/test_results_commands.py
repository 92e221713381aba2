"""`federage table`, `compare` and `report`: the numbers are those of the frames."""

import csv
import io
import json
import re
import shutil
import tomllib

import numpy as np
import pytest
from experiments_by_hand import FILE, assert_one_line

import federage as fr
from federage.analysis import statistics
from federage.cli import report
from federage.experiments import load, play
from federage.report import files

MINUS_SIGN_FREE = re.compile(r"  (\S.*?)  +([+-][\d.]+)  +([+-][\d.]+) to ([+-][\d.]+)  +(<?[\d.]+)")


def accuracies(folder, label, metric="accuracy", checkpoint="last"):
    """[seeds, looks] straight from the store."""
    rows = fr.open(folder).looks.filter(method=label, checkpoint=checkpoint).sort("seed", "round")
    return rows[metric].to_numpy().reshape(3, 6)


def test_a_table_of_one_folder(federage, played):
    status, out, err = federage("table", played)
    assert status == 0
    header, *rows = out.splitlines()
    assert re.split(r"  +", header) == [
        "accuracy in %",
        "all clients",
        "worst 10 %",
        "worst client",
        "rare group",
        "loss",
    ]
    assert len(rows) == 3 * 3
    mean = 100 * accuracies(played, "FedAvg").mean()
    assert re.split(r"  +", rows[1].strip())[:2][1].startswith(f"{mean:.1f} ± ")
    assert "mean ± standard deviation over 3 seeds and the final 6 looks of 12 rounds" in err

    only = federage("table", played, "--checkpoint", "smooth")[1].splitlines()
    assert [row.split() for row in only[1:]] == [row.split() for row in rows[6:]]


def test_several_folders(federage, played, tmp_path):
    other = tmp_path / "other"
    shutil.copytree(played, other)
    status, out, err = federage("table", played, other, "--checkpoint", "last")
    assert status == 0
    first, second = out.split("\n\n")
    assert first.splitlines()[0] == f"{played}: Two of ten hardly ever come"
    assert first.splitlines()[1:] == second.splitlines()[1:]
    assert err.splitlines()[0] == f"{played}:"

    rows = list(csv.DictReader(io.StringIO(federage("table", played, other, "--csv")[1])))
    assert {row["folder"] for row in rows} == {str(played), str(other)}
    assert len(rows) == 2 * 3 * 5 * 2
    objects = json.loads(federage("table", played, other, "--json", "--checkpoint", "last")[1])
    assert [told["folder"] for told in objects] == [str(played), str(other)]
    assert len(objects[0]["results"]) == 5 * 2


def test_a_table_for_a_paper(federage, played):
    status, out, err = federage("table", played, "--latex")
    assert (status, err) == (0, "")
    assert out.startswith("\\documentclass")
    for words in ([played, "--latex", "--checkpoint", "last"], [played, played, "--latex"]):
        status, out, err = federage("table", *words)
        assert (status, out) == (2, "")
        assert_one_line(err)


@pytest.mark.parametrize("to", [None, "FedAvg", "FedeRage"])
def test_differences_are_paired_by_seed(federage, played, to):
    status, out, err = federage("compare", played, *([] if to is None else ["--to", to]))
    assert status == 0
    lines = out.splitlines()
    assert lines[0].split() == ["difference", "95", "%", "interval", "p", "Z-test"]
    best = max(("FedAvg", "FedeRage"), key=lambda label: accuracies(played, label).mean())
    reference = best if to is None else to
    [other] = {"FedAvg", "FedeRage"} - {reference}
    assert lines[1] == f"all clients, last checkpoint: minus {reference}{', the best' if to is None else ''}"
    known = statistics.paired(*(accuracies(played, label).mean(axis=1) for label in (other, reference)))
    name, difference, low, high, p = MINUS_SIGN_FREE.match(lines[2]).groups()
    assert name == other
    assert [difference, low, high] == [f"{100 * x:+.1f}" for x in (known.difference, known.low, known.high)]
    assert p == f"{known.p:.3f}", "one comparison needs no adjustment"
    assert "paired differences over 3 seeds" in err


def test_differences_for_a_script(federage, played):
    status, out, _ = federage("compare", played, "--to", "FedAvg", "--checkpoint", "all", "--json")
    assert status == 0
    [told] = json.loads(out)
    assert {(row["checkpoint"], row["metric"]) for row in told["differences"]} == {
        (checkpoint, metric)
        for checkpoint in ("last", "average", "smooth")
        for metric in ("accuracy", "worst", "worst_tenth", "rare", "loss")
    }
    assert {(row["method"], row["reference"]) for row in told["differences"]} == {("FedeRage", "FedAvg")}
    worst = next(row for row in told["differences"] if (row["checkpoint"], row["metric"]) == ("smooth", "loss"))
    a, b = (accuracies(played, label, "loss", "smooth") for label in ("FedeRage", "FedAvg"))
    np.testing.assert_allclose(worst["difference"], (a - b).mean(), rtol=1e-6)


def test_a_report_and_what_else_there_is(federage, played, here):
    status, out, err = federage("report", played)
    assert (status, out, err) == (0, f"{played}/report.html\n", "")
    assert (played / "report.html").read_text().startswith("<!DOCTYPE html>")
    assert federage("report", played, played)[1] == "report.html\n"
    assert federage("report", played, "--out", "some/page.html")[1] == "some/page.html\n"
    status, out, err = federage("report", played, "--format", "csv", "--out", "figures")
    assert status == 0
    assert set(out.split()) == {str(path.relative_to(here)) for path in (here / "figures").iterdir()}
    assert "figures/results.csv" in out
    assert federage("report", played, "--format", "tensorboard")[1] == f"{played}/tensorboard\n"
    assert set(report.FORMATS) == {"html", "tensorboard", *files.FORMATS}


def test_folders_that_have_nothing_to_show(federage, played, here):
    (here / "file").touch()
    (here / "empty").mkdir()
    shutil.copytree(played, here / "begun")
    shutil.rmtree(here / "begun" / "casts")
    for words, status, said in (
        (["table", "empty"], 1, "empty is no folder of runs"),
        (["compare", "nowhere"], 1, "nowhere does not exist"),
        (["report", "file"], 1, "file"),
        (["report", "begun"], 1, "casts"),
        (
            ["compare", played, "--to", "FedRage"],
            2,
            "unknown method 'FedRage', expected one of FedAvg, FedeRage; did you",
        ),
        (["report", played, "--out", "empty"], 2, "--out empty: expected a page to write, but it is a folder"),
        (["report", played, "--out", "file/page.html"], 1, "file/page.html cannot be written"),
        (["report", played, "--format", "csv", "--out", "file"], 1, "file cannot be written"),
    ):
        came, out, err = federage(*words)
        assert (came, out) == (status, "")
        assert said in err
        assert_one_line(err)


def test_an_unfinished_folder_says_how_to_go_on(federage, here):
    play(load(tomllib.loads(FILE)), "x", stop=lambda: True)
    status, out, err = federage("table", "x")
    assert status == 0
    assert err.splitlines()[0] == "x is not finished; go on with: federage run --resume x"
    assert "FedeRage" not in out
    status, out, err = federage("compare", "x")
    assert (status, out) == (2, "")
    assert "error: x has one method alone, FedAvg; two can be compared" in err
