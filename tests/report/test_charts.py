"""Figures say what was recorded, and vanish where there is nothing to say."""

import json
import re
import xml.etree.ElementTree as ET

import numpy as np
import polars as pl
import pytest
import recorded_by_hand as by_hand

from federage import report
from federage.errors import RecordError
from federage.report import chart_clients, chart_style, charts, palette, tables


@pytest.fixture(scope="module")
def recorded():
    return by_hand.recorded()


@pytest.fixture(scope="module")
def figures(recorded):
    return {name: charts.draw(name, recorded) for name in charts.FIGURES}


def test_every_figure_is_one_image_that_can_be_read_out(figures):
    for name, figure in figures.items():
        root = ET.fromstring(chart_style.drawing(figure))
        assert root.attrib["role"] == "img"
        assert [child.tag.split("}")[1] for child in root][:2] == ["title", "desc"], name
        assert len(root[0].text) > 10
        assert len(root[1].text) > 30
        assert len(figure.numbers), name


def test_curves_are_the_means_of_the_seeds_within_one_deviation(figures):
    rows = figures["accuracy"].data["curves"]
    for label, effects in by_hand.EFFECTS.items():
        of = rows.filter((pl.col("method") == label) & (pl.col("checkpoint") == "last checkpoint")).sort("round")
        assert of["round"].to_list() == list(range(10, 201, 10))
        np.testing.assert_allclose(of["mean"][-10:], by_hand.MEANS[label] + by_hand.WIGGLE)
        np.testing.assert_allclose(of["high"][-10:] - of["mean"][-10:], np.std(effects, ddof=1), rtol=1e-9)


def test_the_band_of_a_loss_goes_from_the_least_to_the_greatest(figures):
    last = (
        figures["loss"]
        .data["curves"]
        .filter((pl.col("method") == "FedAvg") & (pl.col("round") == 200))
        .row(0, named=True)
    )
    np.testing.assert_allclose([last["low"], last["high"]], [2 * (1 - 0.81), 2 * (1 - 0.77)])


def test_the_glance_and_the_differences_are_the_tables(figures, recorded):
    scores = figures["glance"].data["scores"]
    assert scores.filter(pl.col("method") == "SCAFFOLD")["mean"].to_list() == pytest.approx([0.83, 0.63, 0.53, 0.58])
    gaps = figures["differences"].data["differences"]
    here = (pl.col("checkpoint") == "last") & (pl.col("metric") == "accuracy")
    truth = tables.paired(recorded).filter(here)
    for name in ("difference", "low", "high", "z_low", "z_high"):
        np.testing.assert_allclose(gaps[name], 100 * truth[name])


def test_beta_ends_beside_the_quantile(figures):
    curve, ends = figures["beta"].data["beta"], figures["beta"].data["quantiles"]
    assert set(curve["method"]) == set(by_hand.BETA)
    assert curve.sort("round")["mean"][-1] == pytest.approx(0.4)
    assert ends["quantile"].to_list() == [0.5] * 4
    assert ends["round"].to_list() == [200] * 4


def test_effective_weights_are_drawn_for_risk_averse_methods(figures):
    assert set(figures["effective"].data["effective"]["method"]) == {"FedeRage <κ>"}
    assert "The risk of FedAvg and SCAFFOLD gives every client its p." in figures["effective"].caption


def test_participation_says_how_it_was_come_by(figures):
    assert "(exact, enumeration)" in figures["participation"].caption
    assert "(Monte Carlo, 640 draws)" in figures["participation"].caption


@pytest.mark.parametrize(
    ("settings", "gone"),
    [
        ({"methods": ["FedAvg", "SCAFFOLD"]}, {"beta", "effective"}),
        ({"audit": False}, {"effective"}),
        ({"seeds": (0,)}, {"differences"}),
        ({"accuracy": False}, {"glance", "accuracy", "left-behind"}),
        (
            {"lost": [(label, seed) for label in by_hand.MEANS for seed in by_hand.SEEDS]},
            {*charts.FIGURES} - {"participation"},
        ),
    ],
)
def test_what_has_nothing_to_show_vanishes(settings, gone):
    recorded = by_hand.recorded(**settings)
    assert {name for name in charts.FIGURES if charts.draw(name, recorded) is None} == gone


def test_without_an_audit_beta_stands_alone():
    figure = charts.draw("beta", by_hand.recorded(audit=False))
    assert list(figure.data) == ["beta"]
    assert "Diamonds" not in figure.caption


def test_a_client_that_never_comes_is_named_and_not_drawn(recorded):
    never = by_hand.recorded()
    never.clients = never.clients.with_columns(weight=pl.when(pl.col("client") == 5).then(0.0).otherwise("weight"))
    figure = charts.draw("fairness", never)
    assert "Not shown: 1 that never gets through." in figure.caption
    assert figure.data["clients"]["p"].min() > 0


def test_thousands_of_clients_are_sampled_and_their_means_are_not(monkeypatch):
    monkeypatch.setattr(chart_clients, "POINTS", 9)
    figure = charts.draw("fairness", by_hand.recorded())
    assert "A random 3 of 6 clients are drawn." in figure.caption
    drawn = figure.data["clients"].filter(pl.col("kind") == "client")
    assert drawn.group_by("method").agg(pl.col("client").n_unique())["client"].to_list() == [3, 3, 3]
    dash = figure.data["clients"].filter((pl.col("kind") == "mean") & (pl.col("method") == "FedAvg"))
    assert dash["accuracy"].to_list() == pytest.approx([0.8 - 0.05 * 1.5, 0.8 - 0.05 * 4.5])


def test_of_a_grid_figures_show_the_best_dozen():
    labels = [*by_hand.MEANS, *(f"FedAvg {k}" for k in range(12))]
    recorded = by_hand.recorded(methods=labels)
    kept = charts.shown(recorded)
    assert len(kept) == 12
    assert set(by_hand.MEANS) <= set(kept), "the others stand at 50 %"
    figure = charts.draw("accuracy", recorded)
    assert set(figure.data["curves"]["method"]) == set(kept)
    assert "Shown: the best 12 of 15 methods." in figure.caption
    assert len(tables.results(recorded).filter((pl.col("checkpoint") == "last") & (pl.col("metric") == "loss"))) == 15


def test_methods_are_told_apart_beyond_eight():
    pens = palette.pens(map(str, range(12)))
    assert len({(pen.colour.name, tuple(pen.dash)) for pen in pens.values()}) == 12
    assert pens["8"].colour == pens["0"].colour


def test_a_still_drawing_has_no_marks_for_the_pointer(figures):
    live = json.dumps(chart_style.description(figures["accuracy"]))
    assert '"opacity": 0}' in re.sub(r'("opacity": 0), [^}]*}', r"\1}", live)
    assert 'opacity="0"' not in chart_style.drawing(figures["accuracy"])


def test_pictures_for_a_paper_are_in_the_colours_of_the_light_page(recorded, tmp_path):
    paths = report.export(recorded, tmp_path, "svg")
    assert [path.stem for path in paths] == list(charts.FIGURES)
    for path in paths:
        drawing = path.read_text(encoding="utf-8")
        assert "var(" not in drawing
        assert not [colour.stand_in for colour in palette.COLOURS if colour.stand_in in drawing]
        assert f'<rect width="100%" height="100%" fill="{palette.PAPER.light}"/>' in drawing


@pytest.mark.parametrize(("form", "magic"), [("png", b"\x89PNG"), ("pdf", b"%PDF")])
def test_pictures_are_what_their_names_say(form, magic, tmp_path, monkeypatch):
    monkeypatch.setattr(charts, "FIGURES", {"participation": charts.FIGURES["participation"]})
    [path] = report.export(by_hand.recorded(), tmp_path / "new", form)
    assert path.name == f"participation.{form}"
    assert path.read_bytes().startswith(magic)


def test_another_format_is_refused_in_a_sentence(recorded, tmp_path):
    with pytest.raises(RecordError, match=r"^expected one of png, svg, pdf, csv, latex as a format, but 'gif' came"):
        report.export(recorded, tmp_path, "gif")
