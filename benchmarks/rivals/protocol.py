"""What every contestant shares: the workload, its data and first weights, and a conversation over stdin and stdout.

A worker is a program that calls `serve(build)`. It builds, warms up, prints ``{"ready": true, "start_s": ...}`` and
then answers one line of JSON to each line it reads:

    go SECONDS   ->  {"rounds": n, "seconds": s, "rss_mb": peak}     plays for about that long
    loss         ->  {"rounds": n so far, "loss": ..., "accuracy": ...}     of the global model, worked out in NumPy

It ends at end of file. Whatever a library prints goes to stderr. Nothing here needs more than NumPy, so every virtual
environment can import it; and it is imported first, so that the clock of `start_s` counts the libraries.
"""

import argparse
import gzip
import json
import math
import os
import resource
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

_BORN = time.perf_counter()

CLIENTS, ARRIVALS, STEPS, BATCH, SAMPLES, LR = 30, 3, 10, 32, 2_000, 0.05


class Layer(NamedTuple):
    """A dense layer, or (kernel > 1) a valid convolution, whose weights meet an example at `positions` places."""

    inputs: int
    outputs: int
    kernel: int = 1
    positions: int = 1

    @property
    def shape(self) -> tuple[int, ...]:
        """Of the weights, in PyTorch's order."""
        spatial = (self.kernel, self.kernel) if self.kernel > 1 else ()
        return (self.outputs, self.inputs, *spatial)

    @property
    def multiplications(self) -> int:
        """Of one example, forwards."""
        return self.positions * math.prod(self.shape)


LAYERS: dict[str, tuple[Layer, ...]] = {
    "softmax": (Layer(784, 10),),
    "mlp": (Layer(784, 128), Layer(128, 128), Layer(128, 10)),
    "lenet": (Layer(1, 6, 5, 24 * 24), Layer(6, 16, 5, 8 * 8), Layer(256, 120), Layer(120, 10)),
}


class Contestant(NamedTuple):
    """A contestant that is ready to play.

    `play(n)` plays about n rounds and says how many once they are done (None: n); `weights()` are the global (w, b), in
    PyTorch's order.
    """

    play: Callable[[int], int | None]
    weights: Callable[[], list]


def load():
    """Images (30, 2000, 784) uint8 and labels (30, 2000) uint8: two classes a client, each class split evenly.

    Real FashionMNIST if FEDERAGE_DATA is a folder with its training files (IDX, also gzipped, also in a folder
    ``fashion_mnist`` inside it), else noise of the same shape: throughput does not depend on what is in the pictures.
    """
    import numpy as np

    images, labels = _idx("train-images-idx3-ubyte"), _idx("train-labels-idx1-ubyte")
    if images is None or labels is None:
        rng = np.random.default_rng(0)
        images = rng.integers(0, 64, (60_000, 784), np.uint8)  # dim, lest a softmax saturate and breed denormals
        labels = np.repeat(np.arange(10, dtype=np.uint8), 6_000)
    order = np.argsort(labels, kind="stable").reshape(2, CLIENTS, SAMPLES // 2)  # client i: shards i and i + 30
    order = order.transpose(1, 0, 2).reshape(CLIENTS, SAMPLES)
    return images.reshape(-1, 784)[order], labels[order]


def _idx(name: str):
    import numpy as np

    if "FEDERAGE_DATA" in os.environ:
        root = Path(os.environ["FEDERAGE_DATA"])
        for path in (root / name, root / "fashion_mnist" / name):
            for file, opened in ((path, open), (path.with_name(name + ".gz"), gzip.open)):
                if file.exists():
                    with opened(file, "rb") as stream:
                        raw = stream.read()
                    return np.frombuffer(raw, np.uint8, offset=4 + 4 * raw[3])
    return None


def first_weights(workload: str) -> list:
    """The same start for everybody: uniform within 1/sqrt(fan-in), as PyTorch's layers do; biases zero."""
    import numpy as np

    rng = np.random.default_rng(1)
    weights = []
    for layer in LAYERS[workload]:
        bound = 1 / math.sqrt(math.prod(layer.shape[1:]))
        weights.append((rng.uniform(-bound, bound, layer.shape).astype("f"), np.zeros(layer.outputs, "f")))
    return weights


def loss(weights: list, images, labels) -> tuple[float, float]:
    """Mean cross-entropy and accuracy: the reference network, in NumPy."""
    import numpy as np

    x = images.astype("f") / 255
    for place, (w, b) in enumerate(weights):
        if w.ndim == 4:
            side = math.isqrt(math.prod(x.shape[1:]) // w.shape[1])
            windows = np.lib.stride_tricks.sliding_window_view(x.reshape(-1, w.shape[1], side, side), (5, 5), (2, 3))
            y = np.einsum("nchwij,ocij->nohw", windows, w, optimize=True) + b[:, None, None]
            x = np.maximum(y, 0).reshape(*y.shape[:2], y.shape[2] // 2, 2, -1, 2).max((3, 5))
        else:
            x = x.reshape(len(x), -1) @ w.T + b
            x = np.maximum(x, 0) if place < len(weights) - 1 else x
    shifted = x - x.max(1, keepdims=True)
    log_likelihood = shifted[np.arange(len(x)), labels] - np.log(np.exp(shifted).sum(1))
    return float(-log_likelihood.mean()), float((x.argmax(1) == labels).mean())


def peak_rss_mb() -> float:
    """Of this process alone: on Linux ru_maxrss also remembers the parent it was forked from."""
    try:
        status = Path("/proc/self/status").read_text()
        return int(status.split("VmHWM:")[1].split()[0]) / 1024
    except (OSError, IndexError):
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return peak / (1024**2 if sys.platform == "darwin" else 1024)


def serve(build: Callable[[argparse.Namespace], Contestant], parser: argparse.ArgumentParser | None = None) -> None:
    """Build the contestant for the command line's workload, warm it up, and answer until end of file."""
    parser = parser or argparse.ArgumentParser()
    parser.add_argument("--workload", choices=list(LAYERS), required=True)
    parser.add_argument("--seconds", type=float, default=4.0, help="of a 'go' that names none")
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    args = parser.parse_args()
    for pool in ("OMP", "MKL", "OPENBLAS"):  # read when the libraries are imported, which `build` does
        os.environ[f"{pool}_NUM_THREADS"] = str(args.threads)
    answers = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)

    contestant, played, chunk = build(args), 0, 1

    def go(seconds: float) -> dict:
        nonlocal played
        rounds, start = 0, time.perf_counter()
        while (elapsed := time.perf_counter() - start) < seconds:
            rounds += contestant.play(chunk) or chunk
        played += rounds
        return {"rounds": rounds, "seconds": elapsed, "rss_mb": peak_rss_mb()}

    go(1e-9)  # one round: everything is compiled
    warm = go(0.3)
    chunk = max(1, round(warm["rounds"] / warm["seconds"]))  # the clock is looked at about once a second
    go(1e-9)
    print(json.dumps({"ready": True, "start_s": time.perf_counter() - _BORN}), file=answers)
    for line in sys.stdin:
        match line.split():
            case ["go", *seconds]:
                answer = go(float(seconds[0]) if seconds else args.seconds)
            case ["loss"]:
                images, labels = load()
                mean, accuracy = loss(contestant.weights(), images[:, ::20].reshape(-1, 784), labels[:, ::20].ravel())
                answer = {"rounds": played, "loss": mean, "accuracy": accuracy}
            case _:
                answer = {"error": f"expected 'go SECONDS' or 'loss', got {line.strip()!r}"}
        print(json.dumps(answer), file=answers)
