"""The arithmetic bound: how many rounds a second this machine's matrix products allow, if nothing else took any time.

A local step multiplies forwards, for the weights' gradients, and, but for the first layer, for the inputs' gradients.
"""

import argparse
import os
import subprocess
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent / "rivals"))

from protocol import ARRIVALS, BATCH, LAYERS, STEPS


def step_mflop(workload: str) -> float:
    """Of one local step of one client; an addition and a multiplication are two."""
    per_example = [layer.multiplications for layer in LAYERS[workload]]
    return 2 * BATCH * (3 * sum(per_example) - per_example[0]) / 1e6


def rounds_per_s(workload: str, gflops: float) -> float:
    """The bound at so many GFLOP/s."""
    return gflops * 1e3 / (ARRIVALS * STEPS * step_mflop(workload))


def sgemm_gflops(threads: int = os.cpu_count() or 1, size: int = 3072, seconds: float = 1.5) -> float:
    """The best of NumPy's BLAS on large squares, in a process of its own: BLAS reads its threads when loaded."""
    pools = {f"{pool}_NUM_THREADS": str(threads) for pool in ("OPENBLAS", "OMP", "MKL", "VECLIB_MAXIMUM")}
    command = [sys.executable, __file__, "--worker", str(size), str(seconds)]
    return float(subprocess.run(command, env=os.environ | pools, check=True, capture_output=True, text=True).stdout)


def _best_gflops(size: int, seconds: float) -> float:
    import numpy as np

    a, b = np.random.default_rng(0).standard_normal((2, size, size), np.float32)
    out, best = np.empty_like(a), float("inf")
    end = time.perf_counter() + seconds
    while time.perf_counter() < end:
        start = time.perf_counter()
        np.matmul(a, b, out=out)
        best = min(best, time.perf_counter() - start)
    return 2 * size**3 / best / 1e9


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--threads", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--worker", nargs=2, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.worker:
        print(_best_gflops(int(args.worker[0]), float(args.worker[1])))
        return
    gflops = sgemm_gflops(args.threads)
    print(f"sgemm on {args.threads} threads: {gflops:.0f} GFLOP/s")
    for workload in LAYERS:
        print(f"{workload:8} {step_mflop(workload):6.2f} MFLOP a step {rounds_per_s(workload, gflops):8.0f} rounds/s")


if __name__ == "__main__":
    main()
