"""`federage tune` as a person or a script meets it."""

import json
import re
import tomllib
from pathlib import Path

import pytest

from federage.cli import main
from federage.experiments import load

FILE = """
[data]
name = "digits"
[partition]
name = "iid"
clients = 4
validation = 0.2
[law]
name = "uniform"
arrivals = 2
[model]
name = "softmax"
[work]
batch = 8
local_steps = 1
[runs]
rounds = 6
every = 1
[tune]
strategy = "grid"
budget = 3
seeds = 2
[tune.space.FedAvg]
lr = [0.001, 0.002, 0.2]
[methods.FedAvg]
lr = 0.1
"""


@pytest.fixture(autouse=True)
def file(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "mine.toml"
    path.write_text(FILE)
    return path


def test_from_a_file_to_a_file(file: Path, capsys: pytest.CaptureFixture[str]):
    assert main(["tune", "mine.toml"]) == 0
    out, err = capsys.readouterr()
    header, row, path = out.splitlines()
    assert header.split("  ")[0] == "method"
    assert re.match(r"FedAvg +lr=0\.2 +\d+\.\d\d ± \d+\.\d\d +1 of 3 +lr \(upper\)$", row)
    assert path == "runs/mine-tune/tuned.toml"
    assert load(path).methods["FedAvg"].lr == 0.2  # pyright: ignore[reportAttributeAccessIssue]
    first, *progress = err.splitlines()
    assert first.startswith(
        "Tuning FedAvg on validation examples: 3 configurations a method, on a grid, seeds 100, 101"
    )
    assert any(line.startswith("FedAvg ×3  round 6/6") for line in progress)
    assert "FedAvg: lr = 0.2 lies at the upper edge" in err
    assert "widen [tune.space.FedAvg] lr" in err
    assert err.endswith("to play it on the test examples: federage run runs/mine-tune/tuned.toml\n")

    assert main(["tune", "mine.toml", "--json"]) == 0
    out, err = capsys.readouterr()
    assert json.loads(out) == json.loads(Path("runs/mine-tune/tuning.json").read_text())
    assert "round" not in err.partition("\n")[2], "nothing is played again"


def test_options_take_the_place_of_the_file_s_keys(file: Path, capsys: pytest.CaptureFixture[str]):
    laid_over = ["--budget", "2", "--strategy", "random", "--rounds", "2", "--out", "there"]
    assert main(["tune", "mine.toml", *laid_over]) == 0
    tables = tomllib.loads(Path("there/tuned.toml").read_text())
    assert (tables["tune"]["budget"], tables["tune"]["strategy"], tables["tune"]["rounds"]) == (2, "random", 2)
    assert tables["runs"]["rounds"] == 6, "the experiment itself keeps its rounds"
    assert json.loads(Path("there/tuning.json").read_text())["rungs"] == [{"rounds": 2, "configurations": 2}]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["none.toml"], "none.toml: no such file"),
        (["mine.toml", "--budget", "4"], r"mine.toml, \[tune.space.FedAvg\]: expected at least 4 different"),
        (["mine.toml", "--budget", "0"], "expected a whole number of at least 1, but '0' came"),
        (["mine.toml", "--strategy", "gird"], "unknown strategy 'gird', .*; did you mean grid"),
        (["mine.toml", "--budgets", "3"], "unknown option '--budgets'.*; did you mean --budget"),
        ([], "FILE"),
    ],
)
def test_what_is_wrong_is_one_line(words: list[str], message: str, capsys: pytest.CaptureFixture[str]):
    assert main(["tune", *words]) == 2
    out, err = capsys.readouterr()
    assert re.search(message, err)
    assert err.splitlines()[-1].startswith("error: ")
    assert (out, "Traceback" in err) == ("", False)


def test_help_is_data(capsys: pytest.CaptureFixture[str]):
    assert main(["tune", "--help"]) == 0
    out, err = capsys.readouterr()
    assert "Usage: federage tune FILE [options]" in out
    assert err == ""
    assert max(map(len, out.splitlines())) <= 92
