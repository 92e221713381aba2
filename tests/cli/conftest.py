"""The command within this process: its exit status and its two streams."""

import os
import tomllib
from collections.abc import Iterator

import jax
import pytest
from experiments_by_hand import FILE
from jax.experimental.compilation_cache import compilation_cache

from federage.cli import main
from federage.experiments import load, play

KEPT = {
    "jax_compilation_cache_dir": None,
    "jax_persistent_cache_min_compile_time_secs": 0,
    "jax_persistent_cache_min_entry_size_bytes": -1,
}


@pytest.fixture(autouse=True, scope="module")
def compiled_once(tmp_path_factory) -> Iterator[None]:
    """Keep compiled programs on the disk: here and in the commands' own processes the same few are played."""
    before = {name: getattr(jax.config, name) for name in KEPT}
    folder = str(tmp_path_factory.getbasetemp() / "compiled")
    for name, value in KEPT.items():
        jax.config.update(name, folder if value is None else value)
        os.environ[name.upper()] = str(folder if value is None else value)
    compilation_cache.reset_cache()
    yield
    for name, value in before.items():
        jax.config.update(name, value)
        del os.environ[name.upper()]
    compilation_cache.reset_cache()


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
