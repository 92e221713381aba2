"""`make bench`: federage beside its rivals on this machine, as rates and as ratios measured in one run.

    python benchmarks/bench.py [--workloads softmax mlp lenet] [--passes 3] [--seconds 6]

All contestants are started, then take turns of some seconds each, so that moods of the machine hit all. A rate is the
median over the passes; with five seeds batched it counts the rounds of all five. `start` is the time from spawning a
process to its being warm: imports, data, compilation, first rounds.
"""

import argparse
import sys
from pathlib import Path

import bound
import drive

HERE = Path(__file__).resolve().parent
ONE, FIVE = "federage", "federage, 5 seeds"


def contestants(workload: str, threads: int) -> tuple[dict[str, list[str]], dict[str, int]]:
    """Ours first, then the rivals that are installed."""
    ours = [sys.executable, str(HERE / "federage_rounds.py"), "--workload", workload, "--threads", str(threads)]
    rivals, copies = drive.rivals(workload, threads)
    return {ONE: ours, FIVE: [*ours, "--seeds", "5"], **rivals}, copies


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--workloads", nargs="+", choices=drive.WORKLOADS, default=list(drive.WORKLOADS))
    parser.add_argument("--threads", type=int, default=drive.cores())
    parser.add_argument("--passes", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=6)
    args = parser.parse_args()
    drive.warn()
    gflops = bound.sgemm_gflops(args.threads)
    print(
        f"{args.threads} threads; sgemm {gflops:.0f} GFLOP/s; {args.passes} passes of {args.seconds:g} s, interleaved"
    )
    head = f"{'rounds/s':>9} {'low':>8} {'high':>8} {'% bound':>8} {'MB':>6} {'start s':>8}"
    print(f"{'':8} {'':20} {head}  ours / this, with 1 and 5 seeds")
    for workload in args.workloads:
        workers, copies = contestants(workload, args.threads)
        measured = drive.measure(workers, args.passes, args.seconds, copies)
        most = bound.rounds_per_s(workload, gflops)
        for name, result in measured.items():
            if isinstance(result, str):
                print(f"{workload:8} {name:20} failed: {result}")
                continue
            ours = [measured[who] for who in (ONE, FIVE)]
            ratios = " / ".join("-" if isinstance(us, str) else f"{us.rate / result.rate:.2f}x" for us in ours)
            rates = f"{result.rate:9.1f} {result.low:8.1f} {result.high:8.1f} {100 * result.rate / most:8.0f}"
            print(f"{workload:8} {name:20} {rates} {result.rss_mb:6.0f} {result.start_s:8.1f}  {ratios}", flush=True)


if __name__ == "__main__":
    main()
