"""Tables of a report against numbers known by hand: see `recorded_by_hand`."""

import subprocess
from shutil import which

import numpy as np
import polars as pl
import pytest
import recorded_by_hand as by_hand

from federage import report
from federage.analysis import statistics
from federage.report import latex, summary, tables, wording

T_3 = 3.182446305284263  # Student's t at 97.5 %, 3 degrees of freedom


def row(frame, **where):
    return frame.row(
        by_predicate=pl.all_horizontal(*(pl.col(key) == value for key, value in where.items())), named=True
    )


@pytest.fixture(scope="module")
def recorded():
    return by_hand.recorded()


def test_means_and_deviations_are_those_of_the_final_ten_looks(recorded):
    results = tables.results(recorded)
    for label, mean in by_hand.MEANS.items():
        told = row(results, checkpoint="last", metric="accuracy", method=label)
        effects = np.array(by_hand.EFFECTS[label])
        assert told["mean"] == pytest.approx(mean)
        assert told["std_over_seeds"] == pytest.approx(effects.std(ddof=1))
        assert told["std"] == pytest.approx(np.add.outer(effects, by_hand.WIGGLE).std(ddof=1))
        assert (told["seeds"], told["values"]) == (4, 40)
        worst = row(results, checkpoint="last", metric="worst", method=label)
        assert worst["mean"] == pytest.approx(mean - 0.3)
        loss = row(results, checkpoint="last", metric="loss", method=label)
        assert loss["mean"] == pytest.approx(2 * (1 - mean))


def test_marks_are_table_one_s_and_of_a_loss_less_is_better(recorded):
    results = tables.results(recorded).filter(pl.col("checkpoint") == "last")
    best = {
        metric: results.filter((pl.col("metric") == metric) & pl.col(mark))["method"].to_list()
        for metric in tables.METRICS
        for mark in ["best_mean"]
    }
    assert best == {
        "accuracy": ["SCAFFOLD"],
        "worst_tenth": ["SCAFFOLD"],
        "worst": ["SCAFFOLD"],
        "rare": ["FedeRage <κ>"],
        "loss": ["SCAFFOLD"],
    }
    steady = results.filter("best_mean_minus_std")
    assert set(steady.filter(pl.col("metric") != "rare")["method"]) == {"SCAFFOLD"}, (
        "0.83 - 0.0124 beats 0.825 - 0.0248"
    )
    # 82.5 ± 2.5 and 83 ± 1.2, 40 values each, differ by 1.1 errors: no dagger; 9.5 points in the rare group are clear.
    assert results.filter("significant").select("metric", "method").rows() == [("rare", "FedeRage <κ>")]


def test_differences_are_paired_by_seed(recorded):
    told = row(tables.paired(recorded), checkpoint="last", metric="accuracy", against="FedAvg", method="SCAFFOLD")
    half = T_3 * np.std([-1, 1, -1, 1], ddof=1) * by_hand.SPREAD / 2
    assert told["difference"] == pytest.approx(0.03)
    assert told["low"] == pytest.approx(0.03 - half)
    assert told["high"] == pytest.approx(0.03 + half)
    assert told["reference"] == "FedAvg"
    best = row(tables.paired(recorded), checkpoint="last", metric="accuracy", against="best", method="FedAvg")
    assert best["reference"] == "SCAFFOLD"
    assert best["difference"] == pytest.approx(-0.03)
    assert best["p"] == pytest.approx(told["p"])


def test_the_paper_s_test_is_beside_them_and_is_caught_when_too_sure(recorded):
    told = row(tables.paired(recorded), checkpoint="last", metric="accuracy", against="FedAvg", method="FedeRage <κ>")
    spread = {label: np.add.outer(effects, by_hand.WIGGLE).std(ddof=1) for label, effects in by_hand.EFFECTS.items()}
    error = np.hypot(spread["FedAvg"], spread["FedeRage <κ>"]) / np.sqrt(40)
    assert told["z"] == pytest.approx(0.025 / error)
    assert told["z_low"] == pytest.approx(0.025 - 1.959964 * error, abs=1e-8)
    assert told["low"] < 0 < told["z_low"]
    assert told["too_sure"]
    sure = row(tables.paired(recorded), checkpoint="last", metric="accuracy", against="FedAvg", method="SCAFFOLD")
    assert not sure["too_sure"]


def test_all_pairs_were_in_the_running_for_the_best_and_those_with_fedavg_alone_for_fedavg(recorded):
    pairs = tables.paired(recorded).filter((pl.col("checkpoint") == "last") & (pl.col("metric") == "accuracy"))
    ours = pairs.filter(pl.col("against") == "FedAvg")
    np.testing.assert_allclose(ours["p_holm"], statistics.holm(ours["p"].to_numpy()))
    best = row(pairs, against="best", method="FedAvg")
    assert best["p_holm"] == pytest.approx(3 * best["p"]), "the least of three"


def test_runs_that_are_not_finite_are_in_no_mean():
    lost = by_hand.recorded(lost=[("FedAvg", 1), *(("SCAFFOLD", seed) for seed in by_hand.SEEDS)])
    results = tables.results(lost)
    half = row(results, checkpoint="last", metric="accuracy", method="FedAvg")
    assert half["seeds"] == 3
    assert half["mean"] == pytest.approx(0.80 + np.mean([0.01, 0.02, -0.02]))
    none = row(results, checkpoint="last", metric="accuracy", method="SCAFFOLD")
    assert none["mean"] is None
    assert not none["best_mean"]
    pair = row(tables.paired(lost), checkpoint="last", metric="accuracy", against="FedAvg", method="FedeRage <κ>")
    assert pair["seeds"] == 3
    assert set(tables.clients(lost)["method"]) == {"FedAvg", "FedeRage <κ>"}
    told = list(wording.lost(lost))
    assert told[0] == "FedAvg became non-finite (seed 1 after round 105); those runs are in no mean."
    assert told[1].startswith("SCAFFOLD became non-finite (seed 0 after round 105, seed 1")


def test_clients_accuracy_and_participation_are_as_recorded(recorded):
    clients = tables.clients(recorded)
    third = row(clients, method="SCAFFOLD", client=3)
    assert third["accuracy"] == pytest.approx(0.83 - 0.15)
    assert (third["p"], third["rare"]) == (0.2, False)
    profile = tables.participation(recorded)
    np.testing.assert_allclose(profile["observed"], np.minimum(1, 2 * by_hand.WEIGHTS))
    shares = tables.effective(recorded)
    assert shares.group_by("method").agg(pl.col("share").sum())["share"].to_list() == pytest.approx([1, 1, 1])


def test_the_answer_never_oversells(recorded):
    first, apart, *costs = wording.answer(recorded)
    assert (
        first
        == "SCAFFOLD has the highest mean accuracy at the last checkpoint, 83.0 %, over the final 10 looks of 4 seeds."
    )
    assert apart == (
        "With 4 seeds it cannot be told apart from FedeRage <κ> (0.5 points, 95 % interval −3.4 to 4.4). "
        "It is ahead of FedAvg."
    )
    assert (
        "For the rare group it has 58.0 %; FedeRage <κ> has the highest mean there, 67.5 %: a cost of 9.5" in costs[0]
    )
    assert costs[1] == "It also has the highest mean for the worst 10 % (63.0 %)."


def test_more_comparisons_need_more_to_be_sure(monkeypatch):
    """SCAFFOLD against FedAvg has p = 0.014: enough among three pairs of methods, not among six."""
    monkeypatch.setitem(by_hand.MEANS, "twin", by_hand.MEANS["FedAvg"])
    monkeypatch.setitem(by_hand.EFFECTS, "twin", by_hand.EFFECTS["FedAvg"])
    recorded = by_hand.recorded(methods=list(by_hand.MEANS))
    told = tables.paired_at(recorded, "last", "accuracy").row(
        by_predicate=(pl.col("against") == "best") & (pl.col("method") == "FedAvg"), named=True
    )
    assert told["p"] == pytest.approx(0.01385, abs=1e-5)
    assert told["p_holm"] == pytest.approx(6 * told["p"])
    assert "ahead" not in wording.answer(recorded)[1]


def test_any_method_may_be_compared_with(recorded):
    asked = tables.paired(recorded, to="FedeRage <κ>").filter(against="to", checkpoint="last", metric="rare")
    assert asked["method"].to_list() == ["FedAvg", "SCAFFOLD"]
    assert asked["difference"].to_list() == pytest.approx([-0.125, -0.095])


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"methods": ["FedAvg", "SCAFFOLD"]}, "it is ahead of FedAvg by 3.0 points, 95 % interval 1.2 to 4.8."),
        ({"seeds": (0,)}, "One seed cannot say whether that is more than chance."),
        ({"methods": ["FedAvg"]}, "FedAvg has the highest mean accuracy"),
        ({"accuracy": False}, "SCAFFOLD has the lowest mean loss at the last checkpoint, 0.340"),
        ({"lost": [(label, seed) for label in by_hand.MEANS for seed in by_hand.SEEDS]}, "No run stayed finite."),
    ],
)
def test_the_answer_in_other_cases(settings, words):
    assert words in " ".join(wording.answer(by_hand.recorded(**settings)))


def test_what_is_not_finished_is_said():
    recorded = by_hand.recorded()
    recorded.finished = False
    recorded.experiment.methods["late"] = None
    assert "Not finished: rounds played of 200: FedAvg 200, SCAFFOLD 200, FedeRage <κ> 200; not yet begun: late." in [
        *wording.notes(recorded)
    ]


def test_a_single_seed_has_no_dagger_and_no_interval():
    single = by_hand.recorded(seeds=(0,))
    results = tables.results(single)
    assert not results["significant"].any()
    assert results["std_over_seeds"].null_count() == len(results)
    assert tables.paired(single)["low"].null_count() == len(tables.paired(single))


def test_without_a_rare_group_or_accuracy_their_columns_vanish():
    assert list(tables.metrics(by_hand.recorded(rare=False))) == ["accuracy", "worst_tenth", "worst", "loss"]
    regression = by_hand.recorded(accuracy=False)
    assert list(tables.metrics(regression)) == ["loss"]
    assert summary.table(regression)[0] == ["", "loss"]


def test_the_terminal_says_the_same(recorded):
    columns, rows = summary.table(recorded)
    assert columns == ["accuracy in %", "all clients", "worst 10 %", "worst client", "rare group", "loss"]
    assert rows[0] == ["last checkpoint"]
    assert [row[0].strip() for row in rows if len(row) == len(columns)] == 3 * list(by_hand.MEANS)
    assert rows[2][1].rstrip() == "83.0 ± 1.2 *"
    assert rows[3][4].rstrip() == "67.5 ± 2.5 *†"
    assert "exponential average, decay 0.9" in rows[8][0]
    assert any("cannot be told apart" in note for note in summary.notes(recorded))


def test_latex_escapes_what_a_label_may_hold():
    assert latex.text("a_b & 5 % <κ·lr> \\x ~ λ") == (
        r"a\_b \& 5 \% $<$$\kappa$$\cdot$lr$>$ \textbackslash{}x \textasciitilde{} $\lambda$"
    )


def test_latex_has_the_paper_s_marks_in_per_cent(recorded):
    text = latex.documents(recorded)["results"]
    assert r"SCAFFOLD & \textcolor{blue}{\textbf{83.00}} $\pm$ \textcolor{blue}{1.24} &" in text
    assert r"\textcolor{blue}{\textbf{67.50}}\textsuperscript{\textdagger} $\pm$ \textcolor{blue}{2.48}" in text
    assert r"FedeRage $<$$\kappa$$>$ & 82.50 $\pm$ 2.48 &" in text
    for name, document in latex.documents(recorded).items():
        assert document.count("{") == document.count("}"), name
        body = [line for line in document.splitlines() if " & " in line]
        assert len({line.count(" & ") for line in body}) == 1, name


@pytest.mark.skipif(which("pdflatex") is None, reason="no LaTeX on this machine")
def test_latex_compiles_alone(recorded, tmp_path):
    for path in report.export(recorded, tmp_path, "latex"):
        done = subprocess.run(
            ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", path.name], cwd=tmp_path, capture_output=True
        )
        assert done.returncode == 0, done.stdout[-800:]


def test_csv_reads_back_as_the_tables(recorded, tmp_path):
    paths = report.export(recorded, tmp_path, "csv")
    assert [path.name for path in paths] == [f"{name}.csv" for name in tables.TABLES]
    read = pl.read_csv(tmp_path / "results.csv")
    assert read["mean"].to_list() == tables.results(recorded)["mean"].to_list()
