"""`federage run` by two processes that share a folder: the tables of one."""

import socket
import subprocess
import sys
from pathlib import Path

import jax
import pytest
from polars.testing import assert_frame_equal

import federage as fr

FILE = """
[data]
name = "digits"
[partition]
name = "iid"
clients = 6
[law]
name = "uniform"
arrivals = 2
[model]
name = "mlp"
hidden = [128, 128]
[work]
batch = 4
local_steps = 2
[runs]
rounds = 7
every = 2
seeds = 3
[methods.FedAvg]
lr = [0.1, 0.3]
[methods.SCAFFOLD]
lr = 0.1
"""


def command(file: Path, out: Path, *words: str) -> list[str]:
    return [sys.executable, "-m", "federage.cli", "run", str(file), "--out", str(out), *words]


@pytest.mark.skipif(jax.default_backend() != "cpu", reason="the processes play on the CPU")
def test_two_processes_fill_a_folder_like_one(tmp_path: Path):
    file = tmp_path / "it.toml"
    file.write_text(FILE)
    subprocess.run(command(file, tmp_path / "one"), check=True, capture_output=True)
    with socket.socket() as free:
        free.bind(("localhost", 0))
        address = f"localhost:{free.getsockname()[1]}"
    children = [
        subprocess.Popen(
            command(file, tmp_path / "two", "--coordinator", address, "--processes", "2", "--process", str(k)),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for k in range(2)
    ]
    told = [child.communicate(timeout=300) for child in children]
    assert [child.returncode for child in children] == [0, 0], told
    assert "FedAvg" in told[0][0]
    assert "FedAvg" not in told[1][0] + told[1][1], "process 0 tells, the others are silent"
    one, two = fr.open(tmp_path / "one"), fr.open(tmp_path / "two")
    for name in ("looks", "by_client", "heard", "audit", "clients"):
        assert_frame_equal(getattr(one, name), getattr(two, name))
