"""Every figure is made, from what was recorded, and says so on its face where it is small."""

import csv
import dataclasses
import re
import shutil
import subprocess
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from federage.errors import ExperimentError, FederageError
from federage.experiments.store import open_folder
from federage.paper import FIGURES, drawing, make, sensitivity, table1
from federage.paper.stage import Stage
from federage.report import tables

STAMP = "small: digits, 12 rounds, 2 seeds"
PLAYED = [name for name in FIGURES if name not in ("fig1", "profile")]


@pytest.fixture(scope="module")
def short():
    """The committed experiments, cut short: what is drawn is the same."""
    whole = Stage.experiment

    def cut(stage, name):
        experiment = whole(stage, name)
        kept = [label for label in experiment.methods if label not in ("FedProx", "SCAFFOLD")][:6]
        methods = {label: experiment.methods[label] for label in kept}
        return dataclasses.replace(experiment, rounds=12, every=1, seeds=(0, 1), methods=methods)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Stage, "experiment", cut)
        yield


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("paper")


@pytest.fixture(scope="module")
def made(short, folder):
    return {name: make(name, folder, small=True) for name in PLAYED}


@pytest.mark.parametrize("name", PLAYED)
def test_files_are_there_and_every_picture_of_runs_is_stamped(made, folder, name):
    files, names = made[name].files, [path.name for path in made[name].files]
    assert files
    assert all(path.is_file() and path.parent == folder for path in files)
    assert names[-1] == f"{name}.html"
    page = files[-1].read_text()
    assert STAMP in page
    assert made[name].notes[0] == STAMP
    assert "#0100" not in page
    for path in files:
        if path.suffix == ".svg":
            assert (STAMP in path.read_text()) == (path.name != "fig3b.svg"), "fig3b is computed, whatever was played"
            assert path.with_suffix(".png") in files


def test_a_second_time_nothing_is_played(made, short, folder):
    ticks = []
    again = make("fig4", folder, small=True, tell=ticks.append)
    assert ticks == []
    assert again.table == made["fig4"].table


def test_figures_share_their_runs(made, folder):
    assert sorted(path.name for path in folder.iterdir() if path.is_dir()) == [
        "digits-skewed",
        "digits-uniform",
        "effective-small",
        "sensitivity-small",
    ]


def test_table_1_holds_what_was_recorded(made, folder):
    table = made["table1"].table
    assert table.columns == ["accuracy in %", "digits, uniform", "digits, non-uniform"]
    rows = {row[0].strip(): row[1:] for row in table.rows[1:4]}
    for column, name in enumerate(("digits-uniform", "digits-skewed")):
        looks = open_folder(folder / name).looks.filter((pl.col("checkpoint") == "last") & (pl.col("round") > 2))
        for (label,), part in looks.group_by("method"):
            values = 100 * part["accuracy"].to_numpy()
            assert len(values) == 20
            assert rows[label][column].startswith(f"{values.mean():.2f} ± {values.std(ddof=1):.2f}")
    for column in zip(*(rows[label] for label in rows), strict=True):
        assert max(column, key=lambda cell: float(cell.split()[0])).split()[-1].startswith("*")


def test_published_numbers_stand_beside_measured_ones_and_are_called_so(made, folder):
    record = open_folder(folder / "digits-skewed")
    beside = {"cifar10-skewed": record, "digits-skewed": record}
    rows = table1.text(beside).rows
    at = [row[0] for row in rows].index("published")
    assert {row[0].strip(): row[1:] for row in rows[at + 1 :]} == {
        "FedAvg": ["50.61 ± 1.48", "-"],
        "FedProx": ["50.25 ± 1.75", "-"],
        "SCAFFOLD": ["50.57 ± 1.49", "-"],
        "FedeRage": ["56.34 ± 0.61", "-"],
    }
    assert r"\quad published & \textit{56.34 $\pm$ 0.61} & \textit{-}" in table1.typeset(beside)
    assert "published" not in made["table1"].files[-1].read_text()


@pytest.mark.skipif(shutil.which("pdflatex") is None, reason="needs LaTeX")
def test_the_latex_compiles(made, folder, tmp_path):
    command = ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", str(folder / "table1.tex")]
    run = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stdout[-2000:]


def test_numbers_are_written_as_csv(made, folder):
    rows = list(csv.reader((folder / "fairness.csv").read_text().splitlines()))
    table = made["fairness"].table
    assert rows == [table.columns, *table.rows]
    record = open_folder(folder / "digits-skewed")
    own = tables.clients(record).filter(pl.col("method") == "FedeRage")
    told = dict(zip(table.columns, next(row for row in table.rows if row[0] == "FedeRage"), strict=True))
    assert float(told["rare clients"]) == pytest.approx(100 * own.filter("rare")["accuracy"].mean(), abs=0.05)
    assert float(told["least"]) == pytest.approx(100 * own["accuracy"].min(), abs=0.05)


def test_effective_availability_is_the_audit_s(made, folder):
    record = open_folder(folder / "effective-small")
    (_, p, share), (_, _, rare) = made["fig3"].table.rows
    assert float(share) + float(rare) == pytest.approx(1, abs=2e-4)
    audit = record.audit.join(record.clients.select("client", "rare"), on="client")
    mean = audit.filter("rare").group_by("seed").agg(pl.col("share").sum())["share"].mean()
    assert float(rare) == pytest.approx(mean, abs=1e-4)
    assert float(p) == pytest.approx(record.clients.filter(~pl.col("rare"))["weight"].sum(), abs=1e-4)


def test_a_configuration_that_broke_has_no_score(made, folder):
    record = open_folder(folder / "sensitivity-small")
    label = record.methods[0]
    broke = (pl.col("method") == label) & (pl.col("seed") == 1)
    looks = record.looks.with_columns(finite=pl.col("finite") & ~broke)
    held = dataclasses.replace(record)
    held.__dict__["looks"] = looks
    scores = {(row["lr"], row["alpha"], row["gamma"], row["metric"]): row["mean"] for row in sensitivity.scores(held)}
    method = record.experiment.methods[label]
    assert np.isnan(scores.pop((method.lr, method.alpha, method.gamma, "all clients")))
    assert np.isnan(scores.pop((method.lr, method.alpha, method.gamma, "rare clients")))
    assert not np.isnan(list(scores.values())).any()
    assert drawing.percent(float("nan")) == "-"


def test_the_profile_is_exact_and_plays_nothing(tmp_path):
    made = make("profile", tmp_path, small=True)
    assert made.table.rows[0][:3] == ["0–29", "uniform", f"{1 / 30:.4f}"]
    assert made.table.rows[1][0] == "0–26"
    assert 27 * float(made.table.rows[1][2]) + 3 * float(made.table.rows[2][2]) == pytest.approx(1, abs=3e-3)
    for row in made.table.rows:
        assert float(row[3]) == pytest.approx(3 * float(row[2]), abs=2e-4), "pi = M p where M is fixed"
    assert not any("small:" in note for note in made.notes)
    assert not any(path.is_dir() for path in tmp_path.iterdir())


def test_stopping_leaves_no_figure_and_says_how_to_go_on(short, tmp_path):
    made = make("fairness", tmp_path, small=True, stop=lambda: True)
    assert made.files == []
    assert re.match(r"stopped .* goes on", made.notes[0])
    assert not list(tmp_path.glob("*.html"))


def test_wrong_input_is_told_in_one_sentence(tmp_path):
    with pytest.raises(ExperimentError, match=r"unknown figure 'fig2'.*table1.*did you mean"):
        make("fig2", tmp_path)
    with pytest.raises(FederageError, match="mnist"):
        make("table1", tmp_path, data=Path("/nowhere"))
