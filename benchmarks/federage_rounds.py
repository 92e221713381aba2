"""federage as a contestant: agnostic FedAvg through the public engine, `--seeds` runs batched.

Its own interpreter runs it, so that it can stand beside the rivals of `rivals/`.
"""

import argparse
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent / "rivals"))

from protocol import ARRIVALS, BATCH, CLIENTS, LR, STEPS, Contestant, first_weights, load, serve

LEG = {"softmax": 100, "mlp": 25, "lenet": 5}


def build(args: argparse.Namespace) -> Contestant:
    import jax
    import jax.numpy as jnp

    import federage as fr

    images, labels = load()
    inputs = fr.data.Affine(1 / 255, 0.0)
    clients = fr.partition.from_lists(
        [(x.reshape(-1, 28, 28, 1), y) for x, y in zip(images, labels, strict=True)],
        validation=0,
        classes=10,
        inputs=inputs,
    )
    model = {"softmax": fr.models.softmax, "mlp": fr.models.mlp, "lenet": fr.models.lenet}[args.workload]()
    start = _ours(args.workload, first_weights(args.workload))
    model = model._replace(init=lambda key, example, classes: jax.tree.map(jnp.asarray, start))
    law = fr.participation.uniform(CLIENTS, ARRIVALS)
    problem = fr.Problem(model, clients, law, local_steps=STEPS, batch=BATCH)
    leg = LEG[args.workload]
    now: fr.Progress | None = None

    def play(rounds: int) -> int:
        nonlocal now
        legs = max(1, round(rounds / leg / args.seeds))
        done = now.round if now else 0
        cut = {"rounds": done + legs * leg, "every": leg, "seeds": args.seeds}
        for progress in fr.stream(problem, fr.FedAvg(lr=LR), start=now, **cut):
            now = progress._replace(looks=None)  # all that was ever seen is not part of the workload
        return legs * leg * args.seeds

    def weights() -> list:
        return _theirs(args.workload, jax.tree.map(lambda a: a[0], now.state.vars.theta))

    return Contestant(play, weights)


def _ours(workload: str, weights: list) -> object:
    """PyTorch's order of axes to ours: dense [in, out], the last [out, in]; kernels [row, column, in, out]."""
    layers = [{"weights": w.transpose(2, 3, 1, 0) if w.ndim == 4 else w.T, "bias": b} for w, b in weights]
    layers[-1]["weights"] = layers[-1]["weights"].T
    if workload != "lenet":
        return layers if workload == "mlp" else layers[0]
    first = layers[2]["weights"]  # its inputs are (channel, row, column) there and (row, column, channel) here
    layers[2]["weights"] = first.reshape(16, 4, 4, -1).transpose(1, 2, 0, 3).reshape(first.shape)
    return {"blocks": layers[:2], "dense": layers[2:]}


def _theirs(workload: str, theta: object) -> list:
    layers = {"softmax": lambda t: [t], "mlp": list, "lenet": lambda t: [*t["blocks"], *t["dense"]]}[workload](theta)
    weights = [
        (w.transpose(3, 2, 0, 1) if (w := layer["weights"]).ndim == 4 else w.T, layer["bias"]) for layer in layers
    ]
    weights[-1] = (weights[-1][0].T, weights[-1][1])
    if workload == "lenet":
        w, b = weights[2]
        weights[2] = (w.reshape(-1, 4, 4, 16).transpose(0, 3, 1, 2).reshape(w.shape), b)
    return weights


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--seeds", type=int, default=1)
    serve(build, parser)
