"""Tables for eyes and for scripts: no number is ever cut short."""

import io
import sys

import pytest

from federage.cli import terminal

COLUMNS = ["", "first column", "second column", "third"]
ROWS = [
    ["a heading that is longer than its column, and of no number"],
    ["  FedAvg", "95.5 ± 1.7", "79.9 ± 8.6", "1"],
    ["  FedeRage", "95.0 ± 1.6", "78.7 ± 8.5 *", "22"],
]


class Terminal(io.StringIO):
    def isatty(self):
        return True


def shown(monkeypatch, width, *, colour=False, numbers=True, rows=ROWS):
    monkeypatch.setattr(sys, "stdout", Terminal())
    monkeypatch.setenv("COLUMNS", str(width))
    monkeypatch.setenv("NO_COLOR", "" if colour else "1")
    terminal.table("", COLUMNS, rows, numbers=numbers)
    return sys.stdout.getvalue()


def test_plain_elsewhere(capsys):
    terminal.table("title", COLUMNS, ROWS, numbers=True)
    assert capsys.readouterr().out.splitlines() == [
        "title",
        "            first column  second column  third",
        "a heading that is longer than its column, and of no number",
        "  FedAvg      95.5 ± 1.7     79.9 ± 8.6      1",
        "  FedeRage    95.0 ± 1.6   78.7 ± 8.5 *     22",
    ]


@pytest.mark.parametrize(("width", "blocks"), [(46, 1), (45, 2), (38, 2), (26, 3), (5, 3)])
def test_a_narrow_terminal_gets_columns_below_each_other(monkeypatch, width, blocks):
    out = shown(monkeypatch, width)
    assert out.count("FedeRage") == blocks
    assert all(cell in out for row in [COLUMNS, *ROWS] for cell in row)
    lines = [line for line in out.splitlines() if "heading" not in line and "─" not in line]
    if width >= 26:
        assert max(map(len, lines)) <= width
    assert "\033" not in out
    if blocks == 1:
        assert out.splitlines()[3] == "  FedAvg      95.5 ± 1.7     79.9 ± 8.6      1"


def test_colour_is_told_apart_from_content(monkeypatch):
    out = shown(monkeypatch, 80, colour=True)
    for code in ("\033[1m", "\033[2m", "\033[0m"):
        assert code in out
        out = out.replace(code, "")
    assert out == shown(monkeypatch, 80)


def test_words_are_folded_and_not_lost(monkeypatch):
    words = [["name", "a b c d e f g h i j k l m n o p q r s t u v w x y z", "more", "x"]]
    out = shown(monkeypatch, 40, numbers=False, rows=words)
    assert set("abcdefghijklmnopqrstuvwxyz") <= set(out.replace("\n", " ").split())
    assert max(map(len, out.splitlines())) <= 40


@pytest.mark.parametrize(("encoding", "known"), [("utf-8", True), ("ascii", False), ("cp437", True)])
def test_whether_a_stream_has_letters(monkeypatch, encoding, known):
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(io.BytesIO(), encoding=encoding))
    assert terminal.shows("█") == known
