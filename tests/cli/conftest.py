"""The command within this process: its exit status and its two streams."""

import tomllib

import pytest
from experiments_by_hand import FILE

from federage.cli import main
from federage.experiments import load, play


@pytest.fixture(autouse=True)
def nobody_s_settings(monkeypatch, tmp_path):
    for name in ("NO_COLOR", "FEDERAGE_TRACEBACK", "FORCE_COLOR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("FEDERAGE_DATA", str(tmp_path / "data"))


@pytest.fixture
def federage(capfd):
    """Run the command; gives its exit status and what it wrote to each stream."""

    def run(*words):
        status = main([str(word) for word in words])
        return status, *capfd.readouterr()

    return run


@pytest.fixture(scope="module")
def played(tmp_path_factory):
    """A folder in which an experiment was played."""
    folder = tmp_path_factory.mktemp("played") / "x"
    play(load(tomllib.loads(FILE)), folder)
    return folder


@pytest.fixture
def here(monkeypatch, tmp_path):
    """A folder to be in."""
    folder = tmp_path / "here"
    folder.mkdir()
    monkeypatch.chdir(folder)
    return folder
