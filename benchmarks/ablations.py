"""What each decision of the engine is worth: legs with one decision undone, against legs as they are, in turns.

    python benchmarks/ablations.py [--models tiny softmax mlp lenet] [--seconds 8]

FedAvg on the workload of `rivals/protocol.py`, and on the tiny one of `against_n.py`. Printed are seed-rounds a second
with the decision undone (the fastest of many turns, since noise only adds time), and how much faster the engine is with
it. A ratio below one says that the decision costs something there.
"""

import argparse
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest import mock

import against_n
import jax

import federage as fr
from federage.core import cast, devices, local, program
from federage.core.plan import Plan
from federage.models import convolution

sys.path.insert(0, str(Path(__file__).resolve().parent / "rivals"))

from protocol import ARRIVALS, BATCH, CLIENTS, LR, STEPS, load

LEG = {"tiny": 400, "softmax": 100, "mlp": 25, "lenet": 5}
MODELS = {"softmax": fr.models.softmax, "mlp": fr.models.mlp, "lenet": fr.models.lenet}


DECISIONS = {
    "draws a block of rounds ahead": (program, "block", mock.Mock(return_value=1)),
    "no batch axis for one run": (program, "_each", lambda one, *runs: jax.vmap(one)(*runs)),
    "five local steps unrolled": (local, "_UNROLLED", 1),
    "a round's batches gathered at once": (local, "_GATHERED_AT_ONCE", 0),
    "no YNN fusions": (devices, "compiler_options", dict),
    "wide tiles in convolutions": (convolution, "_WIDE", 1),
}
"""What a single run's program rests on, and what undoes it."""

AS_IS = "as it is"


def program_of(name: str, problem: fr.Problem) -> Callable[[], Any]:
    """A leg of one run, compiled now: whatever is patched now stays so in it."""
    program._executable.cache_clear()
    program._jitted.cache_clear()
    jax.clear_caches()
    runs = cast.Cast.of(problem, [fr.FedAvg(lr=LR)], 1)
    (group,) = runs.groups()
    state = next(runs.legs(Plan(1, 1))).states[0]
    play = program.compiled(
        program.PlayLeg(LEG[name], ("last",), None), runs.problem, runs.facts, group, program.appearance(state)
    )
    return lambda: jax.block_until_ready(play(runs.problem, runs.facts, group, state))


def side_by_side(name: str, problem: fr.Problem, seeds: int) -> Callable[[], Any]:
    """Three legs of several runs, as the engine plays them."""
    runs = cast.Cast.of(problem, [fr.FedAvg(lr=LR)], seeds)
    return lambda: list(runs.legs(Plan(3 * LEG[name], LEG[name])))


def race(contestants: dict[str, Callable[[], Any]], seconds: float) -> dict[str, float]:
    """The fastest time of each, all in turns."""
    best = dict.fromkeys(contestants, float("inf"))
    end = time.perf_counter() + seconds * len(contestants)
    while time.perf_counter() < end:
        for name, play in contestants.items():
            start = time.perf_counter()
            play()
            best[name] = min(best[name], time.perf_counter() - start)
    return best


def tell(name: str, seeds: int, rounds: int, best: dict[str, float]) -> None:
    for decision, each in best.items():
        rate, worth = seeds * rounds / each, each / best[AS_IS]
        print(f"{name:8} {seeds} seed(s)  {decision:36} {rate:8.1f}  {worth:5.2f}x", flush=True)


def compare(name: str, problem: fr.Problem, seconds: float) -> None:
    """One run's program, decision by decision; then five runs, in threads and as one batch."""
    contestants = {AS_IS: program_of(name, problem)}
    for decision, (where, what, instead) in DECISIONS.items():
        if where is not convolution or name == "lenet":
            with mock.patch.object(where, what, instead):
                contestants[decision] = program_of(name, problem)
    tell(name, 1, LEG[name], race(contestants, seconds))
    five = {AS_IS: side_by_side(name, problem, 5)}
    threads, batch = five[AS_IS], side_by_side(name, problem, 5)

    def one_batch() -> Any:
        with mock.patch.object(devices, "threads", mock.Mock(return_value=1)), mock.patch.object(cast, "_CACHE", 2**40):
            return batch()

    for warm in (threads, one_batch):
        warm()
    tell(name, 5, 3 * LEG[name], race({AS_IS: threads, "runs side by side in threads": one_batch}, seconds))


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--models", nargs="+", choices=list(LEG), default=list(LEG))
    parser.add_argument("--seconds", type=float, default=8)
    args = parser.parse_args()
    images, labels = load()
    pairs = [(x.reshape(-1, 28, 28, 1), y) for x, y in zip(images, labels, strict=True)]
    clients = fr.partition.from_lists(pairs, validation=0, classes=10, inputs=fr.data.Affine(1 / 255, 0.0))
    law = fr.participation.uniform(CLIENTS, ARRIVALS)
    print(f"{'':8} {'':10} {'undone':36} {'rounds/s':>8}  worth")
    for name in args.models:
        if name == "tiny":
            problem = against_n.problem(CLIENTS, law)
        else:
            problem = fr.Problem(MODELS[name](), clients, law, local_steps=STEPS, batch=BATCH)
        compare(name, problem, args.seconds)


if __name__ == "__main__":
    main()
