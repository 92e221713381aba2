"""Runs split over several devices are the runs: a run is computed by one device, whichever that is."""

import os
import subprocess
import sys
from pathlib import Path

import jax
import numpy as np
import sweep_on_devices
from same_numbers import assert_same_up_to_rounding

DEVICES = 4


def test_four_devices_give_the_numbers_of_one(tmp_path: Path):
    """Two and six runs on four devices; the arrivals to the last one, the rest up to rounding."""
    environment = os.environ | {
        "XLA_FLAGS": f"--xla_force_host_platform_device_count={DEVICES}",
        "JAX_PLATFORMS": "cpu",
    }
    command = [sys.executable, sweep_on_devices.__file__, str(tmp_path / "numbers.npz")]
    child = subprocess.Popen(command, env=environment, stderr=subprocess.PIPE, text=True)
    here = sweep_on_devices.numbers()
    _, noise = child.communicate()
    assert child.returncode == 0, noise
    with np.load(tmp_path / "numbers.npz") as file:
        there = dict(file)
    assert here.pop("devices") == len(jax.local_devices())
    assert there.pop("devices") == DEVICES
    assert there.pop("shares").tolist() == [2] * DEVICES
    assert {name.partition(":")[0] for name in here} == set(sweep_on_devices.SEEDS)
    assert_same_up_to_rounding(here, there)
