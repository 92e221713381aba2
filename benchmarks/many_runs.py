"""Many runs batched on an accelerator: seed-rounds a second, and how far that is from what the hardware allows.

    python benchmarks/many_runs.py --runs 64 [--precision tensorfloat32]

FedAvg, 30 clients of 2,000 examples (noise), 3 arrivals, K = 10, b = 32, no looks. Models: softmax 784-10; MLP
784-200-10; LeNet on 32 x 32 x 3. Two floors a seed-round are printed beside what was measured, of numbers given on the
command line (defaults: an H200): arithmetic, and memory traffic if every local step reads its weights twice, and reads
and writes them once more to move them. What is above both is dispatch.
"""

import argparse
import time

import jax
import numpy as np

import federage as fr

CLIENTS, SAMPLES, ARRIVALS, STEPS, BATCH = 30, 2_000, 3, 10, 32
MODELS = {
    "softmax": (fr.models.softmax(), (784,)),
    "mlp": (fr.models.mlp((200,)), (784,)),
    "lenet": (fr.models.lenet(), (32, 32, 3)),
}
LEG = {"softmax": 200, "mlp": 100, "lenet": 20}


def problem(name: str, precision: str) -> fr.Problem:
    """The workload of one model."""
    model, shape = MODELS[name]
    rng = np.random.default_rng(0)
    pairs = [
        (rng.integers(0, 64, (SAMPLES, *shape), np.uint8), rng.integers(0, 10, SAMPLES, np.uint8))
        for _ in range(CLIENTS)
    ]
    clients = fr.partition.from_lists(pairs, validation=0, classes=10, inputs=fr.data.Affine(1 / 255, 0.0))
    law = fr.participation.uniform(CLIENTS, ARRIVALS)
    return fr.Problem(model, clients, law, local_steps=STEPS, batch=BATCH, precision=precision)


def rate(problem: fr.Problem, leg: int, runs: int, legs: int = 5) -> tuple[float, float]:
    """Seed-rounds a second over some legs, and the seconds until the first leg was done."""
    begin = time.perf_counter()
    stream = fr.stream(problem, fr.FedAvg(lr=0.05), rounds=leg * (legs + 2), every=leg, seeds=runs)
    next(stream)
    first = time.perf_counter() - begin
    next(stream)
    start = time.perf_counter()
    for _ in stream:
        pass
    return runs * leg * legs / (time.perf_counter() - start), first


def floors(problem: fr.Problem, tflops: float, terabytes: float) -> tuple[float, float]:
    """Seed-rounds a second that arithmetic allows, and that traffic of weights allows."""
    theta = jax.eval_shape(problem.init, jax.random.key(0))
    x, y = problem.inputs(problem.gather(np.zeros(BATCH, np.int32)))

    def loss(theta: object) -> jax.Array:
        return problem.losses(theta, (x, y)).mean()

    cost = jax.jit(jax.grad(loss)).lower(theta).compile().cost_analysis()
    weights = sum(leaf.size * 4 for leaf in jax.tree.leaves(theta))
    steps = ARRIVALS * STEPS
    return 1e12 * tflops / (steps * cost["flops"]), 1e12 * terabytes / (steps * 4 * weights)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--models", nargs="+", choices=list(MODELS), default=list(MODELS))
    parser.add_argument("--runs", type=int, default=64)
    parser.add_argument("--precision", default="float32")
    parser.add_argument("--tflops", type=float, default=67.0, help="of the precision (H200: float32 67, TF32 495)")
    parser.add_argument("--terabytes", type=float, default=4.8, help="a second of memory traffic")
    args = parser.parse_args()
    print(f"{jax.devices()[0].device_kind}, {args.runs} runs batched, {args.precision}")
    for name in args.models:
        one = problem(name, args.precision)
        measured, first = rate(one, LEG[name], args.runs)
        arithmetic, traffic = floors(one, args.tflops, args.terabytes)
        share = 100 * measured / min(arithmetic, traffic)
        print(
            f"{name:8} {measured:10,.0f} seed-rounds/s  {share:5.1f} % of the roofline "
            f"(arithmetic {arithmetic:,.0f}, traffic {traffic:,.0f})  first leg after {first:.1f} s",
            flush=True,
        )


if __name__ == "__main__":
    main()
