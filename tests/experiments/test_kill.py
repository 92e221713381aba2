"""`kill -9` at random instants loses at most the leg in progress, and changes no byte of what the run comes to."""

import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterable
from pathlib import Path
from typing import IO

from play_until_killed import ROUNDS

from federage.experiments.checkpoint import FILE

SCRIPT = Path(__file__).with_name("play_until_killed.py")


class Program:
    """The run in a folder, as a program of its own. What one has compiled the next one finds."""

    def __init__(self, folder: Path):
        cache = {
            "JAX_COMPILATION_CACHE_DIR": str(folder.parent / "compiled"),
            "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0",
            "JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES": "-1",
        }
        command = [sys.executable, str(SCRIPT), str(folder)]
        self.errors = open(folder.with_suffix(".errors"), "w+")  # noqa: SIM115
        self.process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=self.errors, text=True, env={**os.environ, **cache}
        )
        assert self.process.stdout is not None
        self.told: IO[str] = self.process.stdout

    def __enter__(self) -> IO[str]:
        """What it tells: "ready", then the round after each leg."""
        return self.told

    def __exit__(self, *_: object) -> None:
        self.process.kill()
        self.process.wait()
        self.told.close()
        self.errors.close()

    def kill(self) -> None:
        self.process.send_signal(signal.SIGKILL)
        assert self.process.wait() == -signal.SIGKILL  # so it had not ended by itself

    def finish(self) -> None:
        assert self.process.wait(timeout=120) == 0, Path(self.errors.name).read_text()


def rounds(lines: Iterable[str]) -> list[int]:
    return [int(line) for line in lines if line.endswith("\n") and line != "ready\n"]


def test_killed_at_random_instants(tmp_path: Path):
    with (undisturbed := Program(tmp_path / "undisturbed")) as told:
        assert rounds(told) == [*range(2, ROUNDS, 2), ROUNDS]
        undisturbed.finish()

    last = 0
    chance = random.Random(0)
    for legs in (1, 30, 60):
        with (victim := Program(tmp_path / "killed")) as told:
            lines = [told.readline() for _ in range(1 + legs)]
            time.sleep(chance.uniform(0, 0.02))
            victim.kill()
            last = follows(last, rounds([*lines, *told]))
    with (survivor := Program(tmp_path / "killed")) as told:
        assert follows(last, rounds(told)) == ROUNDS
        survivor.finish()

    assert (tmp_path / "killed" / FILE).read_bytes() == (tmp_path / "undisturbed" / FILE).read_bytes()
    assert os.listdir(tmp_path / "killed") == [FILE]


def follows(last: int, told: list[int]) -> int:
    """No leg that was told is played again; one may have been on the disk and not yet told."""
    if not told:
        return last
    assert told[0] - last in (2, 4)
    return told[-1]
