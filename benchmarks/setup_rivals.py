"""Give every rival an environment of its own: benchmarks/.venv-NAME from benchmarks/rivals/requirements-NAME.txt.

    python setup_rivals.py [NAME ...]

The requirements are complete locks, installed without resolving. Of a rival that cannot be installed one line tells
why, and the benchmark goes on without it. PyTorch is pinned to a version, not to a build: where the default index would
give gigabytes of CUDA, let PIP_EXTRA_INDEX_URL or PIP_FIND_LINKS point at the CPU builds of that version.
"""

import hashlib
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
PROOF = {"torch": "import torch", "fedjax": "import fedjax", "fluke": "import fluke.algorithms.fedavg"}


def setup(name: str) -> str:
    """Bring one environment up to its lock, and say in a line how that went."""
    home, lock = HERE / f".venv-{name}", HERE / "rivals" / f"requirements-{name}.txt"
    python, stamp = str(home / "bin" / "python"), home / ".ready"
    wanted = hashlib.sha256(lock.read_bytes()).hexdigest()
    if stamp.exists() and stamp.read_text() == wanted:
        return f"{name}: ready"
    stamp.unlink(missing_ok=True)
    for command in (
        [sys.executable, "-m", "venv", "--clear", str(home)],
        [python, "-m", "pip", "install", "--quiet", "--no-deps", "--only-binary", ":all:", "--requirement", str(lock)],
        [python, "-c", PROOF[name]],
    ):
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            words = (done.stderr.strip() or done.stdout.strip() or f"code {done.returncode}").splitlines()
            reason = next((line for line in words if line.startswith("ERROR")), words[-1])
            return f"{name}: left out, {reason}"
    stamp.write_text(wanted)
    return f"{name}: installed"


if __name__ == "__main__":
    for name in sys.argv[1:] or PROOF:
        print(setup(name) if name in PROOF else f"{name}: unknown, one of {', '.join(PROOF)}", flush=True)
