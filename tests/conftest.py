"""What all rooms share."""

from collections.abc import Iterator

import jax
import pytest
from hypothesis import settings

from federage.core import program

settings.register_profile("replayable", derandomize=True)  # a failure anywhere is one everywhere
settings.load_profile("replayable")


@pytest.fixture(autouse=True, scope="module")
def _forgotten_programs() -> Iterator[None]:
    """Let go of compiled programs after each module: hundreds in a process use up its memory maps (`core.program`)."""
    yield
    program._executable.cache_clear()
    program._jitted.cache_clear()
    jax.clear_caches()
