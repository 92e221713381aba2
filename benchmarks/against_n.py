"""What a round costs against the number of clients: FedeRage, 3 arrivals, little data a client, N from 30 to a million.

    python benchmarks/against_n.py [--passes 7]

A million clients is an ordinary number, of whom three are heard: nothing in a round may walk over all of them. Every N
plays legs of the same length in turns; the median is printed, and its ratio to that of the smallest N. There are no
test examples, so no look is in the window: a look is at all clients.
"""

import argparse
import statistics
import time

import jax
import numpy as np

import federage as fr
from federage.core.types import Flat

SIZES = (30, 1_000, 100_000, 1_000_000)
EXAMPLES, FEATURES, CLASSES, ROUNDS = 8, 16, 4, 400


def problem(clients: int, law: fr.participation.Law) -> fr.Problem:
    """Noise: what is learnt does not matter here."""
    rng = np.random.default_rng(0)
    x = rng.integers(0, 256, (clients * EXAMPLES, FEATURES), np.uint8)
    y = rng.integers(0, CLASSES, clients * EXAMPLES, np.uint8)
    nothing = np.zeros(clients, np.int32)
    train = Flat(x, y, np.arange(clients, dtype=np.int32) * EXAMPLES, np.full(clients, EXAMPLES, np.int32))
    none = Flat(x[:0], y[:0], nothing, nothing)
    federation = fr.Clients(train, none, none, np.zeros(clients, bool), fr.data.Affine(1 / 255, 0.0), CLASSES)
    return fr.Problem(fr.models.mlp((16,)), jax.tree.map(jax.numpy.asarray, federation), law, local_steps=5, batch=4)


def seconds(problem: fr.Problem, legs: int = 4) -> float:
    """A round, the first two legs left out: they compile, and wait for the one under way."""
    method = fr.FedeRage(lr=0.03, beta_lr=0.03, alpha=0.3, gamma=0.9)
    stream = fr.stream(problem, method, rounds=ROUNDS * (legs + 2), every=ROUNDS)
    next(stream)
    next(stream)
    start = time.perf_counter()
    for _ in stream:
        pass
    return (time.perf_counter() - start) / (ROUNDS * legs)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--passes", type=int, default=7)
    passes = parser.parse_args().passes
    laws = {"uniform": fr.participation.uniform, "weighted": _weighted}
    for name, law in laws.items():
        problems = {clients: problem(clients, law(clients, 3)) for clients in SIZES}
        times = {clients: [] for clients in SIZES}
        for _ in range(passes):
            for clients, one in problems.items():
                times[clients].append(seconds(one))
        smallest = statistics.median(times[SIZES[0]])
        for clients, measured in times.items():
            middle = statistics.median(measured)
            print(f"{name:9} N = {clients:>9,}  {1e6 * middle:7.1f} us a round  {middle / smallest:5.2f}x", flush=True)


def _weighted(clients: int, arrivals: int) -> fr.participation.Law:
    """A skewed prior."""
    return fr.participation.Weighted(np.arange(1, clients + 1, dtype=float), arrivals)


if __name__ == "__main__":
    main()
