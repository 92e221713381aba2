"""What all rooms share."""

import os
from collections.abc import Iterator

import jax
import pytest
from hypothesis import settings
from jax.experimental.compilation_cache import compilation_cache

from federage.core import program

settings.register_profile("replayable", derandomize=True)  # a failure anywhere is one everywhere
settings.load_profile("replayable")


@pytest.fixture(autouse=True, scope="session")
def _compiled_once(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Keep compiled programs on the disk for a session: modules, and programs that tests start, play the same few."""
    base = tmp_path_factory.getbasetemp()
    shared = base.parent if "PYTEST_XDIST_WORKER" in os.environ else base  # workers have a folder each, in one of all
    settings = {
        "jax_compilation_cache_dir": str(shared / "compiled"),
        "jax_persistent_cache_min_compile_time_secs": 0,
        "jax_persistent_cache_min_entry_size_bytes": -1,
    }
    for name, value in settings.items():
        jax.config.update(name, value)
        os.environ[name.upper()] = str(value)
    compilation_cache.reset_cache()


@pytest.fixture(autouse=True, scope="module")
def _forgotten_programs() -> Iterator[None]:
    """Let go of compiled programs after each module: hundreds in a process use up its memory maps (`core.program`)."""
    yield
    program._executable.cache_clear()
    program._jitted.cache_clear()
    jax.clear_caches()
