"""FedJAX 0.0.17: its own `fed_avg` algorithm on its `for_each_client` jit backend.

The clients are `InMemoryFederatedData` of float32 images; `UniformGetClientSampler` picks a cohort of 3;
`ShuffleRepeatBatchHParams(batch_size=32, num_steps=10)` makes the batches (a prefix of one permutation: without
replacement across the ten steps as well); local `sgd(.05)`, server `sgd(1.0)`. Its mean is weighted by the number of
examples, which is uniform here. The convolution is XLA's own, NHWC. Rounds are waited for once a chunk, so that
asynchronous dispatch counts in its favour.
"""

import argparse
import os

from protocol import ARRIVALS, BATCH, LR, STEPS, Contestant, first_weights, load, serve


def build(args: argparse.Namespace) -> Contestant:
    """FedJAX's federated averaging over a model in plain JAX."""
    if args.threads == 1:
        flags = "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"
        os.environ["XLA_FLAGS"] = f"{os.environ.get('XLA_FLAGS', '')} {flags}"
    import fedjax
    import jax
    import jax.numpy as jnp
    import numpy as np
    from fedjax.algorithms import fed_avg

    images, labels = load()
    data = fedjax.InMemoryFederatedData(
        {
            f"{i:02d}": {"x": x / np.float32(255), "y": y.astype("i")}
            for i, (x, y) in enumerate(zip(images, labels, strict=True))
        }
    )

    def convolution(x, w, b):
        y = jax.lax.conv_general_dilated(x, w, (1, 1), "VALID", dimension_numbers=("NHWC", "HWIO", "NHWC"))
        return jax.lax.reduce_window(jax.nn.relu(y + b), -jnp.inf, jax.lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "VALID")

    def logits(params: list, x):
        for place, (w, b) in enumerate(params):
            if w.ndim == 4:
                x = convolution(x.reshape(-1, 28, 28, 1) if x.ndim == 2 else x, w, b)
            else:
                x = x.reshape(len(x), -1) @ w + b
                x = jax.nn.relu(x) if place < len(params) - 1 else x
        return x

    def losses(params: list, batch: dict, rng):
        return -jnp.take_along_axis(jax.nn.log_softmax(logits(params, batch["x"])), batch["y"][:, None], 1)[:, 0]

    algorithm = fed_avg.federated_averaging(
        fedjax.grad(losses),
        client_optimizer=fedjax.optimizers.sgd(LR),
        server_optimizer=fedjax.optimizers.sgd(1.0),
        client_batch_hparams=fedjax.ShuffleRepeatBatchHParams(batch_size=BATCH, num_epochs=None, num_steps=STEPS),
    )
    sampler = fedjax.client_samplers.UniformGetClientSampler(data, num_clients=ARRIVALS, seed=0)
    theirs = {4: (2, 3, 1, 0), 2: (1, 0)}  # PyTorch's order of weights to JAX's
    state = algorithm.init(
        [(jnp.asarray(w.transpose(theirs[w.ndim])), jnp.asarray(b)) for w, b in first_weights(args.workload)]
    )

    def play(rounds: int) -> None:
        nonlocal state
        with fedjax.for_each_client_backend("jit"):
            for _ in range(rounds):
                state, _ = algorithm.apply(state, sampler.sample())
        jax.block_until_ready(state.params)

    def weights() -> list:
        ours = {4: (3, 2, 0, 1), 2: (1, 0)}
        arrays = [(np.asarray(w).transpose(ours[w.ndim]), np.asarray(b)) for w, b in state.params]
        return _channels_first(arrays) if args.workload == "lenet" else arrays

    def _channels_first(arrays: list) -> list:
        w, b = arrays[2]  # the first dense layer reads its 4 x 4 x 16 inputs with the channel last
        return [*arrays[:2], (w.reshape(-1, 4, 4, 16).transpose(0, 3, 1, 2).reshape(-1, 256), b), arrays[3]]

    return Contestant(play, weights)


if __name__ == "__main__":
    serve(build)
