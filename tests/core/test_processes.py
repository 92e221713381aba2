"""Runs played by several processes are the runs, and every process ends with all of them."""

import os
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import jax
import numpy as np
import play_in_processes
import pytest
from same_numbers import assert_same_bits

import federage as fr
from federage.core import devices, processes
from federage.core.cast import Cast
from federage.testing import tiny

PROCESSES = 2


def free_port() -> int:
    with socket.socket() as one:
        one.bind(("localhost", 0))
        return one.getsockname()[1]


@pytest.fixture(scope="module")
def here() -> dict[str, Any]:
    """By this process alone."""
    return play_in_processes.numbers()


@pytest.fixture(scope="module")
def there(tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, Any]]:
    """By each of two processes."""
    folder: Path = tmp_path_factory.mktemp("processes")
    environment = {name: value for name, value in os.environ.items() if name != "JAX_COORDINATOR_ADDRESS"}
    address = f"localhost:{free_port()}"
    files = [folder / f"{index}.npz" for index in range(PROCESSES)]
    children = [
        subprocess.Popen(
            [sys.executable, play_in_processes.__file__, str(file), address, str(PROCESSES), str(index)],
            env=environment | {"JAX_PLATFORMS": "cpu"},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        for index, file in enumerate(files)
    ]
    try:
        for child in children:
            noise, _ = child.communicate(timeout=240)
            assert child.returncode == 0, noise
    finally:
        for child in children:
            child.kill()
            child.communicate()
    found = []
    for file in files:
        with np.load(file) as numbers:
            found.append(dict(numbers))
    return found


@pytest.mark.skipif(jax.default_backend() != "cpu", reason="the two processes play on the CPU")
def test_two_processes_give_the_bits_of_one(here: dict[str, Any], there: list[dict[str, Any]]):
    """Swept, streamed, taken up again; two groups or more, three, and one, for two processes."""
    for index, numbers in enumerate(there):
        assert numbers["process"].tolist() == [index, PROCESSES]
        assert_same_bits({name: numbers[name] for name in here}, here)


def test_taken_up_again_it_is_the_stream(there: list[dict[str, Any]]):
    for numbers in there:
        whole = {name[len("legs: 2") :]: a for name, a in numbers.items() if name.startswith("legs: 2")}
        rest = {name[len("taken up: 1") :]: a for name, a in numbers.items() if name.startswith("taken up: 1")}
        assert whole["[0]"] == 6
        assert_same_bits(rest, whole)


def test_processes_that_go_on_from_different_rounds_are_refused(there: list[dict[str, Any]]):
    for numbers in there:
        assert str(numbers["different_starts"]).startswith("the processes go on from different rounds, [0, 2];")


def test_without_a_cluster_the_processes_must_be_named(there: list[dict[str, Any]]):
    for numbers in there:
        assert str(numbers["without_a_cluster"]).startswith("nothing says which processes to join")


@pytest.mark.parametrize("count", [1, 2, 3, 5])
@pytest.mark.parametrize("items", [1, 2, 3, 7])
def test_items_are_taken_in_turn_and_the_last_fills_up(items: int, count: int, monkeypatch: pytest.MonkeyPatch):
    shares = []
    for index in range(count):
        monkeypatch.setattr(devices, "process", lambda index=index: (index, count))
        shares.append(processes.share(range(items)))
    in_order = [item for turn in zip(*shares, strict=True) for item in turn]
    filled = len(in_order) - items
    assert in_order == [*range(items), *[items - 1] * filled]
    assert filled < count


@pytest.mark.parametrize("count", [2, 3, 4])
@pytest.mark.parametrize("runs", [1, 2, 5, 6, 13])
def test_a_device_plays_as_many_runs_as_if_one_process_held_all(runs: int, count: int, monkeypatch: pytest.MonkeyPatch):
    each = 4
    cast = Cast.of(tiny(), [fr.FedAvg(lr=0.1)], runs)

    def by_one_device(processes: int, local: int) -> int:
        monkeypatch.setattr(jax, "process_count", lambda: processes)
        monkeypatch.setattr(jax, "local_devices", lambda: [None] * local)
        width = cast._width()
        assert width * processes >= runs
        return width // min(width, local)

    assert by_one_device(count, each) == by_one_device(1, count * each)


def test_alone_a_process_is_the_lead_and_meets_nobody():
    assert devices.process() == (0, 1)
    assert devices.lead()
    assert processes.words(7) == [7]


@pytest.mark.parametrize(
    ("coordinator", "count", "index", "says"),
    [
        ("localhost:9876", 0, 0, "processes=0 is not a whole number of at least 1"),
        ("localhost:9876", 2, 2, "index=2 is not that of a process; 2 processes count from 0"),
        ("localhost:9876", 2, -1, "index=-1 is not that of a process"),
        ("localhost", 2, 0, "the coordinator's address 'localhost' is not of the form HOST:PORT"),
        ("localhost:http", 2, 0, "the coordinator's address 'localhost:http' is not of the form HOST:PORT"),
        ("localhost:free", 2, 1, "process 0 was not found at localhost:"),
        ("no.such.host.invalid:9876", 2, 1, "process 0 was not found at no.such.host.invalid:9876"),
        ("localhost:9876", 2, 0, "this process could not join the others"),
    ],
)
def test_what_cannot_be_joined_is_said_in_a_sentence(
    coordinator: str, count: int, index: int, says: str, monkeypatch: pytest.MonkeyPatch
):
    """The last, because this process has computed already."""
    jax.devices()
    monkeypatch.setattr(devices, "_PATIENCE", 0)
    with pytest.raises(fr.FederageError) as refusal:
        devices.join(coordinator.replace("free", str(free_port())), count, index)
    assert str(refusal.value).startswith(says)
    assert "\n" not in str(refusal.value)
