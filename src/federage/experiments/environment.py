"""What a number was measured with: versions, machine, date. No names of hosts or people."""

from __future__ import annotations

import datetime
import os
import platform
import subprocess
from importlib import metadata
from pathlib import Path

import jax

_PACKAGES = ("federage", "jax", "jaxlib", "numpy", "optax")


def environment() -> dict[str, str]:
    """The environment of this process, by what a reader would ask for."""
    code = {} if (commit := _commit()) is None else {"commit": commit}
    return {
        "date": datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%d %H:%M UTC"),
        **{name: metadata.version(name) for name in _PACKAGES},
        **code,
        "python": platform.python_version(),
        "system": f"{platform.system()} {platform.machine()}",
        "processor": _processor(),
        "devices": ", ".join(f"{device.platform}:{device.device_kind}" for device in jax.local_devices()),
    }


def _processor() -> str:
    """The processor's name and how many of its cores this process may use."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    name = platform.processor() or platform.machine()
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        name = next((line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")), name)
    except OSError:
        pass  # only Linux has this file
    return f"{name}, {cores} core(s)"


def _commit() -> str | None:
    """The commit this package runs from, if it runs from a checkout of its own; marked where files were changed."""
    package = Path(__file__).resolve().parents[1]
    root = package.parents[1]
    if not (root / ".git").exists() or package != root / "src" / "federage":
        return None
    try:
        commit = _git(root, "rev-parse", "--short=12", "HEAD")
        changed = _git(root, "status", "--porcelain", "--untracked-files=no", "--", "src")
    except (OSError, subprocess.SubprocessError):
        return None
    return f"{commit} with changes" if changed else commit


def _git(root: Path, *words: str) -> str:
    done = subprocess.run(["git", "-C", str(root), *words], capture_output=True, text=True, check=True, timeout=10)
    return done.stdout.strip()
