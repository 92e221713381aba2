"""The motivating example: what is drawn is what was measured, and it was tuned as it says."""

import csv
import dataclasses
import json
from pathlib import Path

import jax
import numpy as np
import pytest

from federage import FedAvg
from federage.data import synthetic
from federage.paper import drawing, motivation, motivation_figure
from federage.paper.motivation import CELLS, FINAL, REACH
from federage.paper.stage import Stage

TUNING = json.loads((Path(__file__).parents[2] / "scripts" / "motivation_tuning.json").read_text())


def experiment():
    return Stage(("motivation",), Path()).experiment("motivation")


@pytest.fixture(scope="module")
def played():
    return motivation.play(dataclasses.replace(experiment(), rounds=40, every=2, seeds=(0, 1)))


def test_one_client_a_round_is_heard_as_often_as_the_paper_says(played):
    np.testing.assert_allclose(played.weights, synthetic.AVAILABILITY, atol=1e-12)
    first, *others = played.results.values()
    assert (first.heard.sum(axis=1) == 40).all()
    for other in others:
        np.testing.assert_array_equal(other.heard, first.heard)


def test_the_control_has_federage_s_effective_step_size():
    methods = experiment().methods
    federage = methods["FedeRage"]
    assert methods["FedAvg at κ·lr"] == FedAvg(lr=pytest.approx(federage.kappa * federage.lr))


@pytest.mark.parametrize("label", ["FedAvg", "FedeRage"])
def test_every_method_is_played_as_it_was_tuned(label):
    found, method = TUNING["methods"][label], experiment().methods[label]
    settings = {name: value for name, value in found["chosen"].items() if name != "accuracy"}
    assert {name: getattr(method, name) for name in settings} == settings
    assert found["chosen"]["accuracy"] == max(row["accuracy"] or 0 for row in found["table"])
    assert len({tuple(row.values()) for row in found["table"]}) == len(found["table"]) == 48
    assert found["on_the_edge"] == []
    assert TUNING["runs"]["rounds"] == experiment().rounds


def test_tuning_saw_neither_these_examples_nor_these_seeds():
    example = experiment()
    assert not set(TUNING["runs"]["seeds"]) & set(example.seeds)
    assert TUNING["runs"]["data_seed"] != example.data.settings["seed"]


def test_regions_are_what_the_model_predicts_and_keep_the_plane_s_directions(played):
    x = np.asarray(played.clients.test.x)
    column, row = np.floor((x + REACH) / (2 * REACH) * CELLS).astype(int).clip(0, CELLS - 1).T
    for label, region in played.regions.items():
        model, theta = played.experiment.problem().model, played.results[label].last.theta
        predicted = np.argmax(model.apply(jax.tree.map(lambda leaf: leaf[0], theta), x), axis=1)
        assert np.mean(region[row, column] == predicted) > 0.985, "but for examples beside a boundary"
        assert np.mean(region[column, row] == predicted) < 0.97


def test_stretches_are_the_cells_taken_together():
    region = np.random.default_rng(0).integers(0, 3, (CELLS, CELLS))
    rows = motivation_figure.stretches(region)
    painted = np.full((CELLS, CELLS), -1)
    for row in rows:
        x, x2, y, y2 = (round((row[edge] + REACH) / (2 * REACH) * CELLS) for edge in ("x", "x2", "y", "y2"))
        assert y2 == y + 1
        assert (painted[y, x:x2] == -1).all()
        painted[y, x:x2] = row["class"] - 1
    np.testing.assert_array_equal(painted, region)
    assert len(rows) == CELLS + np.count_nonzero(np.diff(region))


def test_the_table_holds_the_means_of_the_final_looks(played):
    table = motivation.table(played)
    assert table.columns == [
        "accuracy in %",
        "all clients",
        "clients 1–3 (p = 0.3 each)",
        "clients 4–5 (p = 0.05 each)",
        "worst client",
    ]
    rows = {row[0]: row[1:] for row in table.rows[1:4]}
    for label, result in played.results.items():
        everybody, _, rare, worst = rows[f"  {label}"]
        assert everybody.startswith(f"{100 * result.accuracy[:, -FINAL:].mean():.1f} ± ")
        assert rare.startswith(f"{100 * result.rare[:, -FINAL:].mean():.1f} ± ")
        assert worst.startswith(f"{100 * result.worst[:, -FINAL:].mean():.1f} ± ")
    assert [len(row) for row in table.rows] == [1, 5, 5, 5, 1, 5, 5, 5]


def test_the_files(played, tmp_path):
    table, notes = motivation.table(played), motivation.notes(played)
    drawn = drawing.Drawn("The example", [motivation_figure.picture(played)], table, notes)
    made = drawing.write(tmp_path / "new", "fig1", drawn)
    assert [path.name for path in made.files] == ["fig1.svg", "fig1.png", "fig1.csv", "fig1.html"]
    svg, png, numbers, page = made.files
    assert png.read_bytes().startswith(b"\x89PNG")
    for text in (svg.read_text(), page.read_text()):
        assert "#0100" not in text, "every stand-in became a variable"
        assert all(label in text for label in played.results)
        assert 'role="img"' in text
    html = page.read_text()
    assert "http" not in html.replace("http://www.w3.org", ""), "the page needs nothing from elsewhere"
    for row in table.rows:
        assert all(cell.strip() in html for cell in row)
    head, first, *_ = csv.reader(numbers.read_text().splitlines())
    assert head == ["", *table.columns]
    assert first == [table.rows[0][0], *(cell.strip() for cell in table.rows[1])]


def test_a_single_seed_has_no_spread(played):
    one = {
        label: dataclasses.replace(
            result,
            seeds=(0,),
            looks={
                name: type(look)(*(np.asarray(a)[:1] for a in look[:-1]), None) for name, look in result.looks.items()
            },
            state=result.state._replace(broke=result.state.broke[:1]),
        )
        for label, result in played.results.items()
    }
    example = dataclasses.replace(played.experiment, seeds=(0,))
    single = dataclasses.replace(played, experiment=example, results=one)
    assert "±" not in "".join(cell for row in motivation.table(single).rows for cell in row)
    assert not any("paired" in note for note in motivation.notes(single))
    drawing._svg(motivation_figure.picture(single), "")
