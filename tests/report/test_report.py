"""A report is one file that needs no other, says what was recorded, and can be read by anybody."""

import base64
import hashlib
import json
import re
import xml.etree.ElementTree as ET
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import polars as pl
import pytest
import recorded_by_hand as by_hand

from federage import report
from federage.experiments import load, play
from federage.report import charts, page_tables, palette, tables

VOID = {"meta", "br", "hr", "img", "link", "input", "line"}


class Page(HTMLParser):
    """The page as lists of (tag, attributes) and of tables, whose rows are lists of [tag, attributes, text].

    It refuses tags that are not balanced.
    """

    def __init__(self, text):
        super().__init__()
        self.tags, self.tables, self.open, self.words, self.scripts = [], [], [], [], []
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
        if tag == "script":
            self.scripts.append("")
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        assert self.open.pop() == tag, f"{tag} closed out of turn"

    def handle_data(self, data):
        if "script" in self.open:
            self.scripts[-1] += data
        elif "style" not in self.open:
            self.words.append(data)
            if self.tables and {"td", "th"} & set(self.open):
                self.tables[-1][-1][-1][2] += data

    @property
    def text(self):
        return " ".join(" ".join(self.words).split())

    def of(self, tag):
        return [attrs for name, attrs in self.tags if name == tag]


@pytest.fixture(scope="module")
def recorded():
    return by_hand.recorded(lost=[("FedAvg", 1)])


@pytest.fixture(scope="module")
def text(recorded):
    return report.html([recorded])


@pytest.fixture(scope="module")
def page(text):
    return Page(text)


def test_the_page_is_whole_and_needs_nothing_else(text, page):
    assert text.startswith("<!DOCTYPE html>")
    assert "FedeRage &lt;κ&gt;" in text
    assert not re.search(r"FedeRage <κ>(?!\"|\\)", re.sub(r"<script.*?</script>", "", text, flags=re.DOTALL))
    assert not {"link", "img", "iframe", "image", "use"} & {tag for tag, _ in page.tags}
    assert not [attrs for _, attrs in page.tags if {"src", "href", "xlink:href", "onclick"} & set(attrs)]
    assert len(text.encode()) < 2_000_000


def test_the_browser_may_load_nothing_and_run_this_script_alone(page):
    [policy] = [attrs["content"] for attrs in page.of("meta") if attrs.get("http-equiv") == "Content-Security-Policy"]
    *data, script = page.scripts
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    assert policy == f"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{digest}'"
    assert len(data) == len(charts.FIGURES)
    assert [attrs.get("type") for attrs in page.of("script")] == ["application/json"] * len(data) + [None]


def test_a_label_cannot_end_a_script():
    text = report.html([by_hand.recorded(methods=["FedAvg", "</script><b>"])])
    assert "</script><b>" not in text
    *data, _ = Page(text).scripts
    assert any("</script><b>" in set(json.loads(source)["data"].get("curves", {}).get("method", [])) for source in data)


def test_headings_go_down_one_step_at_a_time(page, recorded):
    for parsed in (page, Page(report.html([recorded, recorded]))):
        levels = [int(tag[1]) for tag, _ in parsed.tags if re.fullmatch(r"h\d", tag)]
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
    still = re.sub(r"<script.*?</script>", "", text, flags=re.DOTALL)
    painted = set(re.findall(r'(?:fill|stroke)="([^"]*)"', still))
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
    for colour in (palette.INK, palette.QUIET, palette.BLUE):
        assert contrast(getattr(colour, mode), paper) >= 4.5, colour.name
    for colour in palette.SERIES:
        assert contrast(getattr(colour, mode), paper) >= 3, colour.name
    assert len({getattr(colour, mode) for colour in palette.COLOURS}) == len(palette.COLOURS)


def test_figures_can_be_read_out_and_their_numbers_opened(page):
    drawings = [attrs for attrs in page.of("div") if attrs.get("class") == "drawing"]
    assert len(drawings) == len(page.of("figure")) == len(page.of("figcaption")) == len(charts.FIGURES)
    for attrs in drawings:
        assert attrs["role"] == "img"
        assert len(attrs["aria-label"]) > 40
    assert len(page.of("summary")) == len(charts.FIGURES) + 1
    assert dict(page.tags)["html"]["lang"] == "en"
    ids = [attrs["id"] for _, attrs in page.tags if "id" in attrs]
    assert len(ids) == len(set(ids))


def test_methods_are_switched_by_real_buttons_that_say_their_state(page):
    buttons = page.of("button")
    assert [attrs["data-method"] for attrs in buttons] == list(by_hand.MEANS)
    assert all(attrs["type"] == "button" and attrs["aria-pressed"] == "true" for attrs in buttons)
    [group] = [attrs for attrs in page.of("div") if attrs.get("role") == "group"]
    assert group["aria-label"]


def test_tables_say_what_their_heads_are_of(page):
    for table in page.tables:
        heads = [attrs for row in table for tag, attrs, _ in row if tag == "th"]
        assert all(attrs.get("scope") in ("col", "row", "rowgroup") for attrs in heads)
        assert all(row[0][0] == "th" for row in table)


def test_the_table_is_the_results(page, recorded):
    [head, *rows] = next(table for table in page.tables if table[1][0][2] == "last checkpoint")
    known = tables.metrics(recorded)
    assert [cell[2] for cell in head] == ["method", *(metric.name for metric in known.values())]
    results = tables.results(recorded)
    rows = iter(rows)
    for checkpoint, name in tables.checkpoints(recorded).items():
        assert [cell[2] for cell in next(rows)] == [name]
        for label in recorded.methods:
            first, *cells = next(rows)
            assert first[2] == label
            for key, cell in zip(known, cells, strict=True):
                told = results.filter(checkpoint=checkpoint, metric=key, method=label).row(0, named=True)
                scale, digits = (100, 1) if known[key].share else (1, 3)
                dagger = "†" if told["significant"] else ""
                assert cell[2] == f"{scale * told['mean']:.{digits}f}{dagger} ± {scale * told['std']:.{digits}f}"
    assert next(rows, None) is None


def test_marks_are_bold_and_blue(text, recorded):
    body = text.split("last checkpoint</th>")[1].split("</tbody>")[0]
    bold = re.findall(r"<strong>([\d.]+)</strong>", body)
    best = tables.results(recorded).filter("best_mean", checkpoint="last")
    assert sorted(bold) == sorted(
        f"{100 * v:.1f}" if m != "loss" else f"{v:.3f}" for m, v in best["metric", "mean"].rows()
    )
    assert body.count('class="steady"') == len(tables.metrics(recorded))


def test_differences_are_shown_beside_the_paper_s_test(page):
    [head, *rows] = next(table for table in page.tables if table[0][1][2] == "difference")
    assert [cell[2] for cell in head][1:] == ["difference", "95 % interval", "p", "p, Holm", "p, Z-test", "verdict"]
    assert rows[0][0][2] == "minus SCAFFOLD, the best mean, in points of accuracy, paired by seed"
    told = {row[0][2]: [cell[2] for cell in row[1:]] for row in rows[1:3]}
    assert told["FedeRage <κ>"][:2] == ["−0.50", "−4.40 to +3.40"]
    assert told["FedeRage <κ>"][-1] == "cannot be told apart"
    assert told["FedAvg"][-1] == "Z-test too sure"
    assert "the 40 values of a method are worth about" in page.text


def test_the_answer_comes_first_and_what_it_rests_on_after(page):
    words = page.text
    assert words.index("SCAFFOLD has the highest mean accuracy") < words.index("6 clients share by hand.")
    assert "2 of them, the only ones with the class 2, are rare: each gets through in 5 % of the rounds" in words
    assert "Nothing was tuned." in words
    assert "FedAvg became non-finite (seed 1 after round 105); those runs are in no mean." in words
    assert not re.search(r"\bnan\b|NaN|None\b|\bnull\b", words)


def test_every_setting_and_the_environment_are_there(recorded, page):
    *settings, environment = page.tables[-len(recorded.experiment.settings()) - 1 :]
    for (name, truth), table in zip(recorded.experiment.settings().items(), settings, strict=True):
        assert [row[0][2] for row in table] == list(truth)
        assert name in page.text
    told = {head[2]: value[2] for head, value in environment}
    assert told.keys() == {*recorded.environment, "time"}
    assert told["device"] == "an abacus"
    assert told["time"] == "4 s in all, compilation included (FedAvg 1.5 s, SCAFFOLD 1.5 s, FedeRage <κ> 1.5 s)"


def test_several_experiments_are_sections_after_one_table(recorded):
    other = by_hand.recorded(folder=Path("runs/other"), methods=["SCAFFOLD", "another"], rare=False)
    text = report.html([recorded, other])
    page = Page(text)
    first = page.tables[0]
    assert [row[0][2] for row in first if len(row) == 1] == ["By hand & known (by-hand)", "By hand & known (other)"]
    assert first[-1][0][2] == "another"
    assert first[-1][4][2] == "–", "it has no rare group"
    assert [attrs["data-method"] for attrs in page.of("button")] == [*by_hand.MEANS, "another"]
    ids = [attrs["id"] for _, attrs in page.tags if "id" in attrs]
    assert len(ids) == len(set(ids))
    assert '"1-glance"' in text
    assert '"2-glance"' in text


@pytest.mark.parametrize(
    "settings",
    [
        {"seeds": (0,)},
        {"methods": ["FedAvg"]},
        {"accuracy": False},
        {"rare": False, "audit": False},
        {"lost": [(label, seed) for label in by_hand.MEANS for seed in by_hand.SEEDS]},
    ],
)
def test_a_page_is_written_of_anything(settings):
    words = Page(report.html([by_hand.recorded(**settings)])).text
    assert not re.search(r"\bnan\b|NaN|None\b", words)


def test_the_picture_is_a_drawing_of_its_own(recorded):
    drawing = report.picture(recorded)
    root = ET.fromstring(drawing)
    names = [child.tag.split("}")[1] for child in root]
    assert names[:4] == ["title", "desc", "style", "rect"]
    assert root.attrib["role"] == "img"
    assert root[0].text == recorded.experiment.title
    for name in set(re.findall(r"var\(--([\w-]+)\)", drawing)):
        assert root[2].text.count(f"--{name}:#") == 2, "light and dark"
    written = {element.text for element in root.iter() if element.tag.endswith("}text")}
    assert {"all clients", "rare group", "worst client", *by_hand.MEANS} <= written
    assert "http" not in re.sub(r'xmlns(:\w+)?="[^"]*"', "", drawing)


def test_the_same_record_gives_the_same_bytes_in_a_folder_that_is_made(recorded, text, tmp_path):
    path = report.write([recorded], tmp_path / "a" / "b" / "report.html")
    assert path.read_text(encoding="utf-8") == text


def test_a_frame_s_rows_are_shown_up_to_a_number_that_is_said():
    shown = page_tables.frame(pl.DataFrame({"a": range(5), "b": [0.5] * 5}), "c", most=3)
    assert "(the first 3 of 5 rows)" in shown
    assert shown.count("<tr>") == 4


def test_a_run_that_was_played_is_reported_as_it_was_recorded(tmp_path):
    experiment = load(
        {
            "data": {"name": "digits"},
            "partition": {"name": "by_class", "clients": 10, "rare": 2},
            "law": {"name": "skewed", "arrivals": 2, "rare": 2},
            "model": {"name": "softmax"},
            "work": {"batch": 8, "local_steps": 2},
            "runs": {"rounds": 6, "every": 2, "seeds": 2},
            "methods": {
                "a tenth": {"kind": "federage", "lr": 0.05, "alpha": 0.1},
                "a half": {"kind": "federage", "lr": 0.05, "alpha": 0.5},
            },
        }
    )
    recorded = play(experiment, tmp_path)
    page = Page(report.html([recorded]))
    assert len(page.of("figure")) == len(charts.FIGURES)
    [_, _, first, *_] = next(table for table in page.tables if table[1][0][2] == "last checkpoint")
    looks = recorded.looks.filter(method="a tenth", checkpoint="last")
    assert first[1][2] == f"{100 * looks['accuracy'].mean():.1f} ± {100 * looks['accuracy'].std():.1f}"
    law = experiment.problem().law
    assert f"each gets through in {100 * law.inclusion().values[8:].mean():.2g} % of the rounds" in page.text
    assert f"({law.weights().how})" in page.text or f"(exact, {law.weights().how})" in page.text
