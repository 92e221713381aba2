"""Progress in a plain log and on a terminal: what is said of the best method of a cast, and how long it takes."""

import io
import re
import sys
import time
from types import SimpleNamespace

import numpy as np
import pytest

from federage.cli import progress
from federage.cli.progress import Legs, duration, named
from federage.experiments.play import Tick


def tick(round, seconds, accuracy, dual=(), broke=(-1, -1, -1, -1), **more):
    """Two methods on two seeds; the last of the looks is what counts."""
    looks = np.stack([np.zeros(4), np.asarray(accuracy, float)], axis=1)
    last = SimpleNamespace(accuracy=looks, worst=looks / 2, loss=1 - looks, dual=dual)
    state = SimpleNamespace(broke=np.asarray(broke))
    at = SimpleNamespace(round=round, looks=(None, {"last": last}), state=state)
    told = {"labels": ("FedAvg lr=0.1", "FedAvg lr=0.3"), "seeds": (0, 1), "number": 0, "casts": 1, "rounds": 1000}
    return Tick(**(told | {"seconds": seconds, "progress": at} | more))


def test_the_best_method_of_a_cast_is_told(capsys):
    beta = np.stack([np.zeros(4), [0.1, 0.2, 0.3, 0.5]], axis=1)
    with Legs(["FedAvg lr=0.1", "FedAvg lr=0.3"]) as legs:
        legs(tick(0, 0.0, [0] * 4)._replace(progress=None))
        legs(tick(100, 3.0, [0.1, 0.2, 0.3, 0.4], beta))
        legs(tick(250, 4.5, [0.1, 0.2, 0.3, 0.5], beta))
        legs(tick(400, 5.0, [0.9] * 4, beta))
        legs(tick(1000, 12.0, [0.9, 0.9, 0.1, 0.1], beta, (-1, 40, -1, -1)))
    assert capsys.readouterr().err.splitlines() == [
        "FedAvg ×2      round   250/1,000  accuracy  40.0 %  worst client  20.0 %  beta 0.400  100 rounds/s  8 s left",
        "FedAvg ×2      round 1,000/1,000  accuracy  90.0 %  worst client  45.0 %  beta 0.100  1 of 4 runs not finite"
        "  100 rounds/s",
    ]


def test_runs_without_accuracy_tell_their_loss_and_lost_ones_nothing(capsys):
    with Legs([]) as legs:
        legs(tick(500, 1.0, [np.nan] * 4))
        at = tick(750, 1.0, [np.nan] * 4)
        at.progress.looks[1]["last"].loss = np.array([[9.0], [7.0], [1.0], [3.0]])
        legs(at)
        legs(tick(1000, 2.0, [0.5] * 4, broke=(1, 1, 1, 1), casts=12))
    first, second, third = capsys.readouterr().err.splitlines()
    assert "accuracy" not in first
    assert "nan" not in first
    assert "loss 2  " in second or second.endswith("loss 2")
    assert third.startswith(" 1/12  FedAvg ×2")
    assert "4 of 4 runs not finite" in third
    assert "accuracy" not in third


def test_a_long_silence_is_broken(capsys, monkeypatch):
    clock = [0.0]
    monkeypatch.setattr(time, "monotonic", lambda: clock[0])
    with Legs([]) as legs:
        for round in range(1, 8):
            clock[0] += 11.0
            legs(tick(round, clock[0], [0.5] * 4))
    assert [line.split()[3] for line in capsys.readouterr().err.splitlines()] == ["3/1,000", "6/1,000"]


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.mark.parametrize("colour", [True, False])
def test_bars_on_a_terminal(monkeypatch, colour):
    monkeypatch.setattr(sys, "stderr", Terminal())
    monkeypatch.setenv("COLUMNS", "160")
    if not colour:
        monkeypatch.setenv("NO_COLOR", "1")
    with Legs(["FedAvg lr=0.1"]) as legs:
        legs(tick(0, 0.0, [0] * 4)._replace(progress=None))
        legs(tick(500, 2.0, [0.1, 0.2, 0.3, 0.4]))
        legs(tick(1000, 3.0, [0.1, 0.2, 0.3, 0.4]))
    shown = sys.stderr.getvalue()
    assert "━" * 10 in shown
    assert "1,000/1,000  accuracy 35.0 %  worst client 17.5 %  500 rounds/s" in shown
    assert bool(re.search(r"\033\[\d+(;\d+)*m", shown)) == colour


@pytest.mark.parametrize(
    ("width", "state"),
    [
        (80, "  500/1,000  accuracy 35.0 %  worst client 17.5 %  beta 0.250  10 s left"),
        (70, "  500/1,000  accuracy 35.0 %  worst client 17.5 %  10 s left"),
        (60, "  500/1,000  accuracy 35.0 %  10 s left"),
    ],
)
def test_a_narrow_terminal_is_told_what_matters_most(monkeypatch, width, state):
    monkeypatch.setattr(sys, "stderr", Terminal())
    monkeypatch.setenv("COLUMNS", str(width))
    monkeypatch.setenv("NO_COLOR", "1")
    beta = np.full((4, 2), 0.25)
    with Legs(["FedAvg"]) as legs:
        legs(tick(0, 0.0, [0] * 4, beta))
        legs(tick(500, 10.0, [0.1, 0.2, 0.3, 0.4], beta))
    assert " ".join(state.split()) in " ".join(sys.stderr.getvalue().split())
    assert "…" not in sys.stderr.getvalue()


@pytest.mark.parametrize(
    ("labels", "name"),
    [
        (["FedAvg"], "FedAvg"),
        (["FedAvg lr=0.1", "FedAvg lr=0.3"], "FedAvg ×2"),
        (["FedAvg", "FedAvg at κ·lr"], "FedAvg ×2"),
        (["a lr=1 mu=1", "a lr=1 mu=2", "a lr=1 mu=3"], "a lr=1 ×3"),
        (["control", "FedAvg"], "control ×2"),
        (["a x", "b x"], "a x ×2"),
    ],
)
def test_methods_played_together_have_one_name(labels, name):
    assert named(labels) == name


@pytest.mark.parametrize(("seconds", "words"), [(0.4, "0 s"), (99.4, "99 s"), (150, "2 min"), (7500, "2 h 05 min")])
def test_durations(seconds, words):
    assert duration(seconds) == words


def test_quarters_of_a_file(capsys):
    with progress.Transfers() as transfers:
        for done in range(0, 101, 10):
            transfers("a.gz", done * 10_000, 1_000_000)
    assert capsys.readouterr().err.splitlines() == [f"a.gz  0.{k} of 1.0 MB" for k in (3, 5, 8)] + [
        "a.gz  1.0 of 1.0 MB"
    ]
