"""The committed experiments: the paper's setting, whole, fair, and all of them used."""

from importlib import resources
from pathlib import Path

import numpy as np
import pytest

from federage import FedAvg, FedeRage
from federage.experiments.reading import load
from federage.paper import FIGURES
from federage.paper.stage import Stage, committed

NAMES = sorted(
    Path(file.name).stem
    for file in resources.files("federage.paper").iterdir()
    if file.name.endswith(".toml") and file.name != "published.toml"
)
FULL = [name for name in NAMES if not name.startswith(("digits", "motivation")) and not name.endswith("-small")]


def experiment(name, **settings):
    return Stage((name,), Path(), **settings).experiment(name)


@pytest.mark.parametrize("name", NAMES)
def test_a_file_is_an_experiment_that_says_how_its_step_sizes_came(name):
    read = experiment(name)
    assert read == load(committed(name))
    assert any("tuned" in note or "none chosen" in note for note in read.notes)


@pytest.mark.parametrize("name", FULL)
def test_the_full_size_is_the_paper_s(name):
    read = experiment(name)
    assert read.data.name in ("mnist", "fashion_mnist", "cifar10")
    assert (read.rounds, len(read.seeds)) == (10_000, 5)
    assert read.partition is not None
    assert read.partition.settings["clients"] == 30
    assert read.partition.settings["classes_per_client"] == 2
    law = read.participation()
    assert (law.clients, law.capacity) == (30, 3)
    p = np.asarray(law.weights().values)
    if name.endswith("-uniform"):
        np.testing.assert_allclose(p, 1 / 30)
    else:
        assert read.law.settings["rare"] == read.partition.settings["rare"] == 3
        assert p[27:].max() < 0.1 * p[:27].min()


@pytest.mark.parametrize("name", [name for name in NAMES if name.endswith(("-uniform", "-skewed"))])
def test_table_1_compares_its_four_methods_and_the_control(name):
    methods = experiment(name).methods
    assert list(methods) == ["FedAvg", "FedAvg at κ·lr", "FedProx", "SCAFFOLD", "FedeRage"]
    federage = methods["FedeRage"]
    assert isinstance(federage, FedeRage)
    assert methods["FedAvg at κ·lr"] == FedAvg(lr=pytest.approx(federage.kappa * federage.lr))


def test_figure_3_has_the_paper_s_alpha_and_gamma():
    for name in ("effective", "effective-small"):
        (method,) = experiment(name).methods.values()
        assert (method.alpha, method.gamma) == (0.01, 0.25)


def test_the_grid_holds_what_the_paper_recommends():
    methods = experiment("sensitivity").methods.values()
    assert len(methods) == 60
    assert {0.01, 0.1} <= {method.alpha for method in methods}
    assert {0.0, 0.1, 0.5} <= {method.gamma for method in methods}


def test_every_file_belongs_to_a_figure_and_every_figure_has_its_files():
    used = {name for figure in FIGURES.values() for name in (*figure.files, *figure.small)}
    assert used == set(NAMES)


def test_the_folder_of_datasets_is_handed_on():
    assert experiment("mnist-skewed", data=Path("/somewhere")).data.settings["folder"] == "/somewhere"
    assert "folder" not in experiment("motivation", data=Path("/somewhere")).data.settings


def test_what_was_published_has_the_paper_s_marks():
    """Bold and blue, as printed in Table I: transcribed from another place than the numbers."""
    published = committed("published")
    bold = {name: max(column, key=lambda label: column[label][0]) for name, column in published.items()}
    blue = {
        name: max(column, key=lambda label: column[label][0] - column[label][1]) for name, column in published.items()
    }
    scaffold = {"mnist-uniform", "fashion_mnist-uniform"}
    assert set(published) == set(FIGURES["table1"].files)
    assert bold == {name: "SCAFFOLD" if name in scaffold else "FedeRage" for name in published}
    assert blue == {name: "SCAFFOLD" if name == "mnist-uniform" else "FedeRage" for name in published}
