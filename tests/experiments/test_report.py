"""A report is one file that needs no other, says what the outcome says, and can be read by anybody."""

import dataclasses
import re
import xml.etree.ElementTree as ET
from html.parser import HTMLParser

import jax
import numpy as np
import pytest

import federage as fr
from federage.experiments import charts, palette, report, summary
from federage.experiments.demo import demo
from federage.experiments.experiment import Choice
from federage.experiments.outcome import METRICS, play

VOID = {"meta", "br", "hr", "img", "link", "input"}


class Page(HTMLParser):
    """The page as lists of (tag, attributes) and of tables, whose rows are lists of [tag, attributes, text].

    It refuses tags that are not balanced.
    """

    def __init__(self, text):
        super().__init__()
        self.tags, self.tables, self.open, self.words = [], [], [], []
        self.feed(text)
        self.close()
        assert not self.open, f"left open: {self.open}"

    def handle_starttag(self, tag, attrs):
        assert len(dict(attrs)) == len(attrs), f"an attribute of {tag} came twice"
        self.tags.append((tag, dict(attrs)))
        if tag == "table":
            self.tables.append([])
        if tag == "tr":
            self.tables[-1].append([])
        if tag in ("td", "th"):
            self.tables[-1][-1].append([tag, dict(attrs), ""])
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        assert self.open.pop() == tag, f"{tag} closed out of turn"

    def handle_data(self, data):
        if "style" not in self.open:
            self.words.append(data)
        if self.tables and {"td", "th"} & set(self.open):
            self.tables[-1][-1][-1][2] += data

    @property
    def text(self):
        return " ".join(" ".join(self.words).split())


@pytest.fixture(scope="module")
def outcome():
    """The demonstration with a linear model; one seed of one method and all of another are not finite."""
    methods = {"FedAvg": fr.FedAvg(0.1), "twin <&>": fr.FedAvg(0.1), "half": fr.FedAvg(0.3), "lost": fr.FedAvg(3e38)}
    experiment = dataclasses.replace(demo(8, 3), model=Choice.of("softmax"), methods=methods, every=3)
    played = play(experiment)
    half = played.results["half"]
    broke = np.array([-1, 5, -1])
    results = {**played.results, "half": dataclasses.replace(half, state=half.state._replace(broke=broke))}
    return dataclasses.replace(played, results=results)


@pytest.fixture(scope="module")
def text(outcome):
    return report.html(outcome)


@pytest.fixture(scope="module")
def page(text):
    return Page(text)


def recomputed(outcome, label, checkpoint, metric):
    """Mean and deviation over finite seeds in per cent, from the looks, by hand; None if no seed is finite."""
    result = outcome.results[label]
    values = [
        float(100 * row[-1])
        for row, broke in zip(getattr(result.looks[checkpoint], metric), result.state.broke, strict=True)
        if broke < 0
    ]
    if not values:
        return None
    mean = sum(values) / len(values)
    return mean, (sum((value - mean) ** 2 for value in values) / (len(values) - 1)) ** 0.5


def test_the_page_is_whole_and_needs_nothing_else(text, page):
    assert text.startswith("<!DOCTYPE html>")
    assert "twin &lt;&amp;&gt;" in text
    assert "twin <" not in text
    outside = re.sub(r'xmlns(:\w+)?="[^"]*"', "", text)
    assert not re.search(r"https?:|//\w+\.|url\(|@import|@font-face", outside)
    assert not {"script", "link", "img", "iframe", "image", "use"} & {tag for tag, _ in page.tags}
    assert not [attrs for _, attrs in page.tags if {"src", "href", "xlink:href", "onclick"} & set(attrs)]
    assert len(text) < 2_000_000


def test_headings_go_down_one_step_at_a_time(page):
    levels = [int(tag[1]) for tag, _ in page.tags if re.fullmatch(r"h\d", tag)]
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert max(np.diff(levels)) == 1


def test_every_colour_is_a_variable_that_is_defined_for_light_and_dark(text):
    assert not [colour.stand_in for colour in palette.COLOURS if colour.stand_in in text]
    used = set(re.findall(r"var\(--([\w-]+)\)", text))
    light, dark = text.split("</style>")[0].split("prefers-color-scheme:dark")
    for name in used:
        assert f"--{name}:#" in light
        assert f"--{name}:#" in dark
    painted = set(re.findall(r'(?:fill|stroke)="([^"]*)"', text))
    assert all(paint in ("none", "transparent") or paint.startswith("var(--") for paint in painted)


def luminance(colour):
    parts = [int(colour[k : k + 2], 16) / 255 for k in (1, 3, 5)]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return float(np.dot(linear, [0.2126, 0.7152, 0.0722]))


def contrast(one, other):
    low, high = sorted([luminance(one), luminance(other)])
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("mode", ["light", "dark"])
def test_words_and_lines_stand_out_from_the_paper(mode):
    """By the contrast of WCAG 2: 4.5 for text, 3 for the lines of a figure."""
    paper = getattr(palette.PAPER, mode)
    for colour in (palette.INK, palette.QUIET):
        assert contrast(getattr(colour, mode), paper) >= 4.5, colour.name
    for colour in palette.SERIES:
        assert contrast(getattr(colour, mode), paper) >= 3, colour.name
    assert len({getattr(colour, mode) for colour in palette.COLOURS}) == len(palette.COLOURS)
    assert palette.series(9)[8] == palette.series(9)[0]


def test_figures_can_be_read_out(text, page):
    figures = [attrs for tag, attrs in page.tags if tag == "svg"]
    assert len(figures) == 4
    assert all(attrs["role"] == "img" for attrs in figures)
    assert sum(tag == "figcaption" for tag, _ in page.tags) == 4
    for drawing in re.findall(r"<svg.*?</svg>", text, re.DOTALL):
        title, description = list(ET.fromstring(drawing))[:2]
        assert title.tag.endswith("}title")
        assert len(title.text) > 10
        assert description.tag.endswith("}desc")
        assert len(description.text) > 30
    spoken = [attrs for tag, attrs in page.tags if "aria-label" in attrs]
    assert all(attrs["aria-roledescription"] == "title" for attrs in spoken), "an image is one thing, not hundreds"
    assert dict(page.tags)["html"]["lang"] == "en"


def test_tables_say_what_their_heads_are_of(page):
    scores, *others = page.tables
    for table in page.tables:
        assert all(
            attrs.get("scope") in ("col", "row", "rowgroup") for row in table for tag, attrs, _ in row if tag == "th"
        )
    assert [attrs["scope"] for _, attrs, _ in scores[0]] == ["col"] * 5
    for row in [*scores[1:], *(row for table in others for row in table)]:
        assert row[0][0] == "th"


def test_the_scores_are_the_outcome_s(outcome, page):
    head, *rows = page.tables[0]
    assert [text for *_, text in head] == ["accuracy in %", *METRICS.values()]
    rows = iter(rows)
    for checkpoint, name in outcome.checkpoints.items():
        assert [text for *_, text in next(rows)] == [name]
        means = {}
        for label in outcome.results:
            first, *cells = next(rows)
            assert first[2] == label
            for metric, (_, attrs, shown) in zip(METRICS, cells, strict=True):
                truth = recomputed(outcome, label, checkpoint, metric)
                if truth is None:
                    assert shown == "–"
                    assert "class" not in attrs
                    continue
                assert shown == f"{truth[0]:.1f} ± {truth[1]:.1f}"
                means.setdefault(metric, []).append((round(truth[0], 9), attrs.get("class") == "best"))
        for column in means.values():
            best = max(mean for mean, _ in column)
            assert [bold for _, bold in column] == [mean == best for mean, _ in column], "all that share the best mean"
    assert next(rows, None) is None


def test_the_table_of_the_terminal_says_the_same(outcome, page):
    columns, rows = summary.table(outcome)
    shown = [[text.replace("–", "-") for *_, text in row] for row in page.tables[0]]
    assert shown[0] == columns
    assert shown[1:] == [[cell.strip() for cell in row] for row in rows]


def test_runs_that_are_not_finite_are_named_and_in_no_figure(outcome, text, page):
    assert "half became non-finite (seed 1 after round 5); those runs are in no mean." in page.text
    assert re.search(r"lost became non-finite \(seed 0 after round \d, seed 1 after round \d, seed 2 after", page.text)
    assert not re.search(r"\bnan\b|NaN|Infinity", text)
    curves = re.findall(r"<svg.*?</svg>", text, re.DOTALL)[0]
    lines = set(re.findall(r'stroke="var\(--(series-\d)\)" stroke-width="1.8"', curves))
    assert lines == {"series-1", "series-2", "series-3"}
    assert list(outcome.results).index("lost") == 3


def test_the_best_is_named_and_so_are_several(outcome, page):
    means = {}
    for label in outcome.results:
        truth = recomputed(outcome, label, "last", "accuracy")
        means[label] = -1 if truth is None else round(truth[0], 9)
    best = [label for label, mean in means.items() if mean == max(means.values())]
    assert outcome.best("last", "accuracy") == best
    told = page.text.replace(" , ", ", ").replace(" ( ", " (")
    assert f"checkpoint: all clients: {', '.join(best)} ({max(means.values()):.1f}" in told
    assert means["FedAvg"] == means["twin <&>"], "two of one kind play one game"


def test_no_run_stayed_finite(outcome):
    nothing = {"lost": outcome.results["lost"]}
    page = Page(report.html(dataclasses.replace(outcome, results=nothing, seconds={"lost": 1.0})))
    assert "No run stayed finite." in page.text
    assert outcome.best("last", "rare")
    assert dataclasses.replace(outcome, results=nothing).best("last", "rare") == []


def test_a_federation_without_a_rare_group_and_with_one_client_that_never_comes(outcome):
    def without(look):
        return look._replace(rare=np.full_like(look.rare, np.nan))

    results = {
        label: dataclasses.replace(result, looks={name: without(look) for name, look in result.looks.items()})
        for label, result in outcome.results.items()
    }
    law = fr.participation.Weighted([1] * 29 + [0], 3)
    changed = dataclasses.replace(
        outcome,
        results=results,
        clients=[{**client, "rare": False} for client in outcome.clients],
        inclusion=law.inclusion(),
        weights=law.weights(),
    )
    text = report.html(changed)
    page = Page(text)
    assert all(row[-1][2] == "–" for row in page.tables[0][1:] if len(row) > 1)
    assert summary.table(changed)[1][1][-1] == "-"
    assert "Not shown: 1 that never gets through." in page.text
    [points] = charts.clients(changed, "last").to_dict()["datasets"].values()
    assert len(points) == 29 * 3
    assert min(point["p"] for point in points) > 0
    assert "rare:" not in page.text
    assert not re.search(r"\bnan\b|NaN|Infinity", text)
    assert text.count("<svg") == 3


def test_one_seed_has_no_deviation(outcome):
    result = outcome.results["FedAvg"]
    alone = dataclasses.replace(result, seeds=(0,), looks=jax.tree.map(lambda leaf: leaf[:1], result.looks))
    alone = dataclasses.replace(alone, state=result.state._replace(broke=result.state.broke[:1]))
    experiment = dataclasses.replace(outcome.experiment, seeds=(0,))
    single = dataclasses.replace(outcome, results={"FedAvg": alone}, experiment=experiment)
    page = Page(report.html(single))
    assert all(re.fullmatch(r"\d+\.\d", cell[2]) for row in page.tables[0][2:] if len(row) > 1 for cell in row[1:])
    assert "1 seed, on each of which" in page.text
    assert next(iter(summary.notes(single))) == "one seed, after 8 rounds, on test examples"


def test_the_participation_is_the_law_s_with_how_it_was_computed(outcome, page):
    law = outcome.experiment.problem().law
    np.testing.assert_array_equal(outcome.inclusion.values, law.inclusion().values)
    np.testing.assert_array_equal(outcome.weights.values, law.weights().values)
    assert f"({'exact, ' + law.inclusion().how})" in page.text
    pi = law.inclusion().values
    assert f"each gets through in {100 * pi[27:].mean():.2g} % of the rounds" in page.text
    assert f"the others in {100 * pi[:27].mean():.3g} %" in page.text
    guessed = fr.participation.monte_carlo(law, 640)
    changed = dataclasses.replace(outcome, inclusion=guessed[0], weights=guessed[1])
    told = Page(report.html(changed)).text
    assert "Monte Carlo, 640 draws" in told
    assert "exact" not in told


def test_every_setting_and_the_environment_are_there(outcome, page):
    headings = [*outcome.experiment.settings()]
    for name, table in zip(headings, page.tables[1:-1], strict=True):
        assert [row[0][2] for row in table] == list(outcome.experiment.settings()[name])
        assert name in page.text
    told = {head[2]: value[2] for head, value in page.tables[-1]}
    assert told.keys() == {*outcome.environment, "time"}
    assert all(told[key] == value for key, value in outcome.environment.items())
    assert "twin <&> " in told["time"]


def test_the_picture_is_a_drawing_of_its_own(outcome):
    drawing = report.picture(outcome)
    root = ET.fromstring(drawing)
    names = [child.tag.split("}")[1] for child in root]
    assert names[:4] == ["title", "desc", "style", "rect"]
    assert root.attrib["role"] == "img"
    assert root[0].text == outcome.experiment.title
    assert not [colour.stand_in for colour in palette.COLOURS if colour.stand_in in drawing]
    for name in set(re.findall(r"var\(--([\w-]+)\)", drawing)):
        assert root[2].text.count(f"--{name}:#") == 2, "light and dark"
    written = {element.text for element in root.iter() if element.tag.endswith("}text")}
    assert {"all clients", "rare clients", "worst client", *outcome.results} <= written
    assert "http" not in re.sub(r'xmlns(:\w+)?="[^"]*"', "", drawing)


def test_the_same_outcome_gives_the_same_bytes_in_a_folder_that_is_made(outcome, text, tmp_path):
    path = report.write(outcome, tmp_path / "a" / "b")
    assert path == tmp_path / "a" / "b" / "report.html"
    assert path.read_text(encoding="utf-8") == text
