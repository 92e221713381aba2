"""Devices: one mesh axis, over which runs are split."""

from __future__ import annotations

import functools
import os

import jax
import jax.numpy as jnp
from jax.sharding import Mesh

from federage.errors import FederageError

AXIS = "devices"


def use_cores(count: int | None = None) -> int:
    """Let JAX see each CPU core as a device, so that several runs are worked on side by side.

    Small matrix products gain little from several threads each, and runs are independent: splitting them is worth more
    (`benchmarks/README.md`). Call it before anything touches JAX; it changes nothing on a GPU, nor for a single run.

    Args:
      count: how many cores; all this process may use, if None.

    Returns:
      The number of devices JAX will show.
    """
    cores = count or len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else count or os.cpu_count() or 1
    try:
        jax.config.update("jax_num_cpu_devices", cores)
    except RuntimeError as error:
        raise FederageError("JAX has already started; call use_cores() before anything else that uses JAX") from error
    return cores


def mesh() -> Mesh | None:
    """The local devices in a row; None if there is only one."""
    devices = jax.local_devices()
    return Mesh(devices, (AXIS,)) if len(devices) > 1 else None


@functools.cache
def compiler_options(split: bool) -> dict[str, str | bool]:
    """What the engine's programs ask of XLA on a CPU.

    XLA's YNN fusions make the small batched products of federated rounds slower than its plain ones, and threads inside
    an operation get in the way of threads over devices (both measured: `benchmarks/README.md`).
    """
    if jax.default_backend() != "cpu":
        return {}
    options: dict[str, str | bool] = {"xla_cpu_experimental_ynn_fusion_type": ""}
    if split:
        options["xla_cpu_multi_thread_eigen"] = False
    try:
        jax.jit(lambda x: x + 1, compiler_options=options)(jnp.zeros(()))
    except Exception:  # an XLA without these flags (their names are not part of any promise) does without them
        return {}
    return options
