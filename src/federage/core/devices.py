"""Where runs are played: batched on an accelerator, split over several, side by side in threads on a CPU.

And by one process or by several, of which each sees its own devices only (`processes`).
"""

from __future__ import annotations

import functools
import os
import socket
import time

import jax
import jax.numpy as jnp
from jax.sharding import Mesh

from federage.errors import ProcessError

AXIS = "devices"

_PATIENCE = 300.0  # seconds to wait for process 0 to listen, as JAX waits for all to come


def process() -> tuple[int, int]:
    """This process's index among those that play together, and how many they are: (0, 1) where it is alone."""
    return jax.process_index(), jax.process_count()


def lead() -> bool:
    """Whether this is the process that writes files and prints."""
    return jax.process_index() == 0


def join(coordinator: str | None = None, processes: int | None = None, index: int | None = None) -> None:
    """Join the other processes, before anything is computed; once joined, nothing happens.

    Should one end early, or not come within five minutes, JAX ends the others: they could only wait.

    Args:
      coordinator: HOST:PORT at which process 0 listens; None to take it from JAX_COORDINATOR_ADDRESS, or from what
        started the processes (Slurm, Open MPI, Kubernetes, Cloud TPU).
      processes: how many there are; None to take it from what started them.
      index: which of them this one is, from 0; None likewise.
    """
    if jax.distributed.is_initialized():
        return
    if processes is not None and processes < 1:
        raise ProcessError(f"processes={processes} is not a whole number of at least 1")
    if index is not None and not 0 <= index < (processes or index + 1):
        raise ProcessError(f"index={index} is not that of a process; {processes or 'n'} processes count from 0")
    coordinator = coordinator or os.environ.get("JAX_COORDINATOR_ADDRESS")
    if coordinator is not None:
        _reachable(coordinator, listening=bool(index and processes))
    try:
        jax.distributed.initialize(coordinator, processes, index)
    except (ValueError, TypeError) as error:
        raise ProcessError(
            f"nothing says which processes to join ({_first(error)}); pass the coordinator's HOST:PORT, the number of "
            "processes and this one's index, or start all with Slurm or Open MPI"
        ) from error
    except RuntimeError as error:
        raise ProcessError(
            f"this process could not join the others ({_first(error)}); join before anything is computed, at a port "
            "that is free on process 0's machine"
        ) from error


def _reachable(coordinator: str, listening: bool) -> None:
    """Refuse an address at which JAX would fail, or wait, and then end the process without an exception."""
    host, _, port = coordinator.rpartition(":")
    if not host or not port.isdecimal() or not 0 < int(port) < 2**16:
        raise ProcessError(f"the coordinator's address {coordinator!r} is not of the form HOST:PORT, as localhost:9876")
    give_up = time.monotonic() + _PATIENCE
    while listening:
        try:
            socket.create_connection((host.strip("[]"), int(port)), timeout=10).close()
            return
        except OSError as error:
            if isinstance(error, socket.gaierror) or time.monotonic() > give_up:
                raise ProcessError(
                    f"process 0 was not found at {coordinator} ({error}); start it, or pass an address of its machine "
                    "that this one can reach"
                ) from error
            time.sleep(0.2)


def _first(error: Exception) -> str:
    """A message's first sentence."""
    return str(error).partition(". ")[0].partition("\n")[0].rstrip(".")


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
