"""Measure several workers side by side: all started, then one at a time in turns, so that moods of the machine hit all.

    measure({"ours": [...argv], "torch": [...argv]}, passes=3, seconds=4)

A worker is a program speaking the language of `rivals/protocol.py`. Run as a script, it measures the rivals alone.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

HERE = Path(__file__).resolve().parent
RIVALS = {"torch": "torch_loop.py", "fedjax": "fedjax_rounds.py", "fluke": "fluke_rounds.py"}
WORKLOADS = ("softmax", "mlp", "lenet")
START_S, SLACK_S = 180, 120  # patience with a start, and with a pass beyond its length


class Measured(NamedTuple):
    """Rounds a second (median, lowest, highest of the passes), peak memory, and seconds from spawn to warm."""

    rate: float
    low: float
    high: float
    rss_mb: float
    start_s: float


class Failure(Exception):
    """A worker that ended, hung, or never spoke."""


class Worker:
    """One process and the conversation with it."""

    def __init__(self, argv: Sequence[str]):
        start = time.perf_counter()
        self._noise = tempfile.TemporaryFile("w+")  # noqa: SIM115 - lives as long as the worker
        pipe = subprocess.PIPE
        self._process = subprocess.Popen(list(argv), stdin=pipe, stdout=pipe, stderr=self._noise, text=True, bufsize=1)
        if self._process.stdin is None or self._process.stdout is None:
            raise Failure("no pipes to the worker")
        self._mouth, self._ear = self._process.stdin, self._process.stdout
        self.hear(START_S)
        self.start_s = time.perf_counter() - start

    def say(self, line: str) -> None:
        try:
            self._mouth.write(line + "\n")
        except OSError as error:
            raise Failure(self._last_words()) from error

    def hear(self, patience: float) -> dict:
        watch = threading.Timer(patience, self._process.kill)
        watch.start()
        line = self._ear.readline()
        watch.cancel()
        if not line:
            raise Failure(self._last_words())
        return json.loads(line)

    def close(self) -> None:
        self._process.kill()
        self._process.communicate()
        self._noise.close()

    def _last_words(self) -> str:
        self._process.kill()
        self._process.wait()
        self._noise.seek(0)
        return (self._noise.read().strip().splitlines() or [f"ended with code {self._process.returncode}"])[-1]


def measure(
    workers: Mapping[str, Sequence[str]], passes: int = 3, seconds: float = 4, copies: Mapping[str, int] | None = None
) -> dict[str, Measured | str]:
    """Start every worker, then let them play in turns; of a worker that failed, the reason in one line.

    Where `copies` names a worker, so many of its processes play at the same time and their rates and memory are summed.
    """
    teams: dict[str, list[Worker]] = {}
    said: dict[str, list[list[dict]]] = {}
    failed: dict[str, str] = {}
    try:
        for name, argv in workers.items():
            teams[name] = []
            try:
                for _ in range((copies or {}).get(name, 1)):
                    teams[name].append(Worker(argv))
            except (Failure, OSError) as error:
                failed[name] = str(error)
        for _ in range(passes):
            for name, team in teams.items():
                if name not in failed:
                    try:
                        for worker in team:
                            worker.say(f"go {seconds}")
                        said.setdefault(name, []).append([worker.hear(seconds + SLACK_S) for worker in team])
                    except Failure as error:
                        failed[name] = str(error)
        return {name: failed.get(name) or _summary(said[name], team) for name, team in teams.items()}
    finally:
        for worker in (worker for team in teams.values() for worker in team):
            worker.close()


def _summary(said: list[list[dict]], team: list[Worker]) -> Measured:
    rates = [sum(one["rounds"] / one["seconds"] for one in together) for together in said]
    return Measured(
        rate=statistics.median(rates),
        low=min(rates),
        high=max(rates),
        rss_mb=sum(one["rss_mb"] for one in said[-1]),
        start_s=max(worker.start_s for worker in team),
    )


def rivals(workload: str, threads: int = os.cpu_count() or 1) -> tuple[dict[str, list[str]], dict[str, int]]:
    """The workers of the rivals that are installed, and the `copies` among them: single threads, side by side."""

    def argv(name: str, threads: int) -> list[str]:
        python, script = HERE / f".venv-{name}" / "bin" / "python", HERE / "rivals" / RIVALS[name]
        return [str(python), str(script), "--workload", workload, "--threads", str(threads)]

    found = [name for name in RIVALS if (HERE / f".venv-{name}" / ".ready").exists()]
    workers = {name: argv(name, threads) for name in found}
    if "torch" not in found:
        return workers, {}
    alone = f"torch, {threads} x 1 thread"
    return {**workers, alone: argv("torch", 1)}, {alone: threads}


def busy_elsewhere(seconds: float = 1.0) -> float:
    """Cores that others keep busy, where the system tells: two busy threads of PyTorch fall a hundredfold if one is."""

    def spent() -> tuple[int, int]:
        ticks = [int(field) for field in Path("/proc/stat").read_text().splitlines()[0].split()[1:9]]
        return sum(ticks) - ticks[3] - ticks[4], sum(ticks)

    try:
        busy, total = spent()
        time.sleep(seconds)
        busy, total = spent()[0] - busy, spent()[1] - total
        return (os.cpu_count() or 1) * busy / total
    except (OSError, ValueError, ZeroDivisionError):
        return 0.0


def warn() -> None:
    """Say on stderr what a reader of the numbers must know: rivals that are not there, and cores that are busy."""
    for name in sorted(RIVALS):
        if not (HERE / f".venv-{name}" / ".ready").exists():
            print(f"{name}: not installed, left out (setup_rivals.py installs it)", file=sys.stderr)
    if (busy := busy_elsewhere()) > 0.2:
        print(f"{busy:.1f} cores are busy with something else: do not trust these numbers", file=sys.stderr)


def cores() -> int:
    """Those this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--workloads", nargs="+", choices=WORKLOADS, default=list(WORKLOADS))
    parser.add_argument("--threads", type=int, default=cores())
    parser.add_argument("--passes", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=4)
    args = parser.parse_args()
    warn()
    print(f"{'':8} {'':24} {'rounds/s':>9} {'low':>8} {'high':>8} {'MB':>6} {'start s':>8}")
    for workload in args.workloads:
        workers, copies = rivals(workload, args.threads)
        for name, result in measure(workers, args.passes, args.seconds, copies).items():
            if isinstance(result, str):
                print(f"{workload:8} {name:24} failed: {result}")
            else:
                rates = f"{result.rate:9.1f} {result.low:8.1f} {result.high:8.1f}"
                print(f"{workload:8} {name:24} {rates} {result.rss_mb:6.0f} {result.start_s:8.1f}")


if __name__ == "__main__":
    main()
