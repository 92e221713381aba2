"""What `test_kill` kills: plays a small run in the folder it is given, and says so after each leg."""

import sys

import numpy as np

import federage as fr
from federage.experiments import train

ROUNDS = 401  # 200 legs and a shorter one

if __name__ == "__main__":
    rng = np.random.default_rng(0)
    data = [(rng.normal(size=(n, 3)), rng.integers(0, 2, n)) for n in (4, 5, 6)]
    problem = fr.Problem(
        fr.models.softmax(),
        fr.partition.from_lists(data, data, classes=2, validation=0),
        fr.participation.Markov([0.3, 0.4, 0.5], 0.4),
        local_steps=2,
        batch=2,
    )
    print("ready", flush=True)
    train(
        problem,
        fr.Scaffold(lr=0.1),
        folder=sys.argv[1],
        rounds=ROUNDS,
        every=2,
        watch=("average",),
        progress=lambda at: print(at.round, flush=True),
    )
