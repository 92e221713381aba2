"""What keeping a run costs: checkpoints, tables and progress, against the engine alone, in turns.

    python benchmarks/storing.py [--methods fedavg scaffold federage] [--legs 16] [--passes 2]

The workload of `rivals/protocol.py` with its MLP, five seeds, a look about once a second at the last checkpoint, their
average and their exponential average. `alone` streams the legs and throws the looks away; `kept` plays the same
experiment into a folder and tells how far it has come. Both pay for the looks; `audit` is the share of what is asked
once, at the end, about whom the risk weighed. Compilation is left out: both compile the same program.
"""

import argparse
import contextlib
import io
import statistics
import sys
import tempfile
import time
from pathlib import Path
from unittest import mock

import numpy as np

import federage as fr
from federage.cli.progress import Legs
from federage.experiments import load, play
from federage.experiments.experiment import Experiment

sys.path.insert(0, str(Path(__file__).resolve().parent / "rivals"))

from protocol import ARRIVALS, BATCH, CLIENTS, LR, STEPS
from protocol import load as images

SEEDS = 5


def experiment(kind: str, every: int, legs: int, data: Path) -> Experiment:
    tables = {
        "data": {"name": "npz", "path": str(data), "hold_out": 0.1, "standardise": False},
        "partition": {"name": "by_class", "clients": CLIENTS, "validation": 0.0},
        "law": {"name": "uniform", "arrivals": ARRIVALS},
        "model": {"name": "mlp"},
        "work": {"local_steps": STEPS, "batch": BATCH},
        "runs": {"rounds": every * legs, "every": every, "seeds": SEEDS},
        "methods": {kind: {"lr": LR}},
    }
    return load(tables)


def alone(it: Experiment, problem: fr.Problem) -> float:
    """Seconds for all legs after the first, which compiles."""
    (method,) = it.methods.values()
    ends = [
        time.perf_counter()
        for _ in fr.stream(
            problem, method, rounds=it.rounds, every=it.every, seeds=it.seeds, watch=("average",), smooth=it.smooth
        )
    ]
    return ends[-1] - ends[0]


def kept(it: Experiment, problem: fr.Problem) -> tuple[float, float]:
    """The same seconds until everything is on the disk, and those of the audit among them."""
    ends, asked = [], []
    real = fr.analysis.effective_weights

    def timed(*words: object, **options: object) -> object:
        start = time.perf_counter()
        found = real(*words, **options)
        asked.append(time.perf_counter() - start)
        return found

    with (
        tempfile.TemporaryDirectory() as folder,
        contextlib.redirect_stderr(io.StringIO()),
        mock.patch.object(Experiment, "problem", return_value=problem),
        mock.patch("federage.experiments.audit.effective_weights", timed),
        Legs(list(it.methods)) as progress,
    ):

        def tell(tick: object) -> None:
            if tick.progress is not None:
                ends.append(time.perf_counter())
            progress(tick)

        play(it, folder, tell=tell)
        return time.perf_counter() - ends[0], sum(asked)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--methods", nargs="+", default=["fedavg", "scaffold", "federage"])
    parser.add_argument("--legs", type=int, default=16)
    parser.add_argument("--passes", type=int, default=2)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        x, y = images()
        data = Path(folder) / "data.npz"
        np.savez(data, x=x.reshape(-1, 28, 28, 1), y=y.ravel())
        print(f"{'':10} {'every':>6} {'a leg':>8} {'alone':>8} {'kept':>8} {'overhead':>9} {'of it audit':>12}")
        for kind in args.methods:
            trial = experiment(kind, 40, 3, data)
            problem = trial.problem()
            every = max(1, round(40 / (alone(trial, problem) / 2)))
            it = experiment(kind, every, args.legs, data)
            rows = [(alone(it, problem), *kept(it, problem)) for _ in range(args.passes + 1)][1:]
            without, within, audit = (statistics.median(column) for column in zip(*rows, strict=True))
            print(
                f"{kind:10} {every:6} {without / (args.legs - 1):6.2f} s {without:6.2f} s {within:6.2f} s "
                f"{100 * (within / without - 1):7.1f} % {100 * audit / without:10.1f} %",
                flush=True,
            )


if __name__ == "__main__":
    main()
