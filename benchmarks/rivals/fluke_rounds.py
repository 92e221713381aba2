"""fluke-fl 0.8.1: its `FedAVG`, with `eligible_perc` .1 of 30 clients and everything in memory.

fluke counts local work in epochs over a loader, not in steps. Ten batches of 32 are one epoch of a `FastDataLoader`
with `percentage=.16` of a client's 2,000 samples. That loader fixes its 320 samples at its first epoch and from then on
reshuffles those: cheaper than drawing from all 2,000, so in its favour. (A `single_batch` loader and ten epochs would
draw from all, but copies all of a client's data for each batch.) Server mean unweighted, SGD(.05), no logger, no
evaluation, and no `finalize` (a broadcast to all clients at the end of `run`), which every chunk of rounds would pay.
"""

import argparse
import warnings

from protocol import ARRIVALS, BATCH, CLIENTS, LR, SAMPLES, STEPS, Contestant, first_weights, load, serve


def build(args: argparse.Namespace) -> Contestant:
    """The library's FedAVG over a plain `torch.nn.Sequential`."""
    import numpy as np
    import torch
    from fluke import DDict, FlukeENV
    from fluke.algorithms.fedavg import FedAVG
    from fluke.data import DataSplitter, DummyDataContainer, FastDataLoader
    from torch import nn

    torch.set_num_threads(args.threads)
    warnings.simplefilter("ignore")
    environment = FlukeENV()
    environment.set_seed(0)
    environment.set_device("cpu")
    environment.set_inmemory(True)
    environment.set_eval_cfg(pre_fit=False, post_fit=False, locals=False, server=False)

    images, labels = load()
    shape = (-1, 1, 28, 28) if args.workload == "lenet" else (-1, 784)
    loaders = [
        FastDataLoader(
            torch.from_numpy(x).float().div_(255).view(shape),
            torch.from_numpy(y).long(),
            num_labels=10,
            batch_size=BATCH,
            shuffle=True,
            percentage=STEPS * BATCH / SAMPLES,
        )
        for x, y in zip(images, labels, strict=True)
    ]
    parts = {
        "softmax": lambda: [nn.Linear(784, 10)],
        "mlp": lambda: [nn.Linear(784, 128), nn.ReLU(), nn.Linear(128, 128), nn.ReLU(), nn.Linear(128, 10)],
        "lenet": lambda: [
            *(nn.Conv2d(1, 6, 5), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(6, 16, 5), nn.ReLU(), nn.MaxPool2d(2)),
            *(nn.Flatten(), nn.Linear(256, 120), nn.ReLU(), nn.Linear(120, 10)),
        ],
    }
    model = nn.Sequential(*parts[args.workload]())
    flat = [torch.from_numpy(p) for layer in first_weights(args.workload) for p in layer]
    nn.utils.vector_to_parameters(nn.utils.parameters_to_vector(flat), model.parameters())

    class Federation(FedAVG):
        def finalize(self) -> None:
            """Leave out the broadcast to every client at the end of `run`."""

    federation = Federation(
        CLIENTS,
        DataSplitter(DummyDataContainer(loaders, [None] * CLIENTS, None, num_classes=10)),
        DDict(
            client=DDict(
                batch_size=BATCH,
                local_epochs=1,
                loss="CrossEntropyLoss",
                optimizer=DDict(name="SGD", lr=LR),
                scheduler=DDict(name="StepLR", step_size=1, gamma=1),
            ),
            server=DDict(weighted=False),
            model=model,
        ),
    )

    def play(rounds: int) -> None:
        federation.run(rounds, eligible_perc=ARRIVALS / CLIENTS)

    def weights() -> list:
        arrays = [np.asarray(p.detach()) for p in federation.server.model.parameters()]
        return list(zip(arrays[::2], arrays[1::2], strict=True))

    return Contestant(play, weights)


if __name__ == "__main__":
    serve(build)
