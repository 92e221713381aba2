"""Where runs are played: batched on an accelerator, split over several, side by side in threads on a CPU."""

from __future__ import annotations

import functools
import os

import jax
import jax.numpy as jnp
from jax.sharding import Mesh

AXIS = "devices"


def mesh(runs: int) -> Mesh | None:
    """The local devices in a row, at most one a run, over which runs are split; None if that is only one."""
    devices = jax.local_devices()[:runs]
    return Mesh(devices, (AXIS,)) if len(devices) > 1 else None


def threads() -> int:
    """How many programs to play side by side.

    On a CPU one for each core this process may use: the products of one small model gain little from several
    threads, and runs have nothing to do with each other. An accelerator plays one program, of all runs.
    """
    if jax.default_backend() != "cpu" or len(jax.local_devices()) > 1:
        return 1
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@functools.cache
def compiler_options() -> dict[str, str | bool]:
    """What the engine's programs ask of XLA: on a CPU, to leave out its YNN fusions.

    They make batched products of MLPs and CNNs a third slower, though a softmax's faster (`benchmarks/README.md`).
    """
    if jax.default_backend() != "cpu":
        return {}
    options: dict[str, str | bool] = {"xla_cpu_experimental_ynn_fusion_type": ""}
    try:
        jax.jit(lambda x: x + 1, compiler_options=options)(jnp.zeros(()))
    except Exception:  # an XLA without this option (its name is not part of any promise) does without it
        return {}
    return options
