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

from play_experiment_until_killed import CASTS, TABLES
from play_until_killed import ROUNDS
from polars.testing import assert_frame_equal

import federage as fr
from federage.experiments.checkpoint import FILE

HERE = Path(__file__).parent
KILLS = int(os.environ.get("FEDERAGE_KILLS", "4"))  # of an experiment


class Program:
    """The run in a folder, as a program of its own."""

    def __init__(self, folder: Path, script: str = "play_until_killed.py"):
        command = [sys.executable, str(HERE / script), str(folder)]
        self.errors = open(folder.with_suffix(".errors"), "w+")  # noqa: SIM115
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=self.errors, text=True)
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


def test_an_experiment_killed_at_random_instants_comes_to_the_same_tables(tmp_path: Path):
    script = "play_experiment_until_killed.py"
    with (undisturbed := Program(tmp_path / "undisturbed", script)) as told:
        assert len(list(told)) == CASTS * 152 + 1
        undisturbed.finish()

    chance, over = random.Random(1), 0
    for _ in range(KILLS):
        with (victim := Program(tmp_path / "killed", script)) as told:
            for _ in range(chance.randint(1, 2 * CASTS * 152 // KILLS)):
                if told.readline() == "done\n":
                    break
            time.sleep(chance.uniform(0, 0.01))
            victim.process.kill()
            over += victim.process.wait() == 0
    assert over <= 1, "the last kill may come too late, the others must not"
    with (survivor := Program(tmp_path / "killed", script)) as told:
        list(told)
        survivor.finish()

    one, other = fr.open(tmp_path / "undisturbed"), fr.open(tmp_path / "killed")
    assert one.methods == list(one.experiment.methods)
    assert len(one.methods) == len(TABLES["methods"]) + 1  # one of them is a grid of two
    for name in ("looks", "by_client", "heard", "audit", "clients"):
        assert_frame_equal(getattr(one, name), getattr(other, name))
