"""What `test_kill_experiment` kills: five methods into the folder it is given; says so after each leg."""

import importlib
import sys

from federage.experiments import load, play

TABLES = {
    "data": {"name": "digits"},
    "partition": {"name": "by_class", "clients": 10, "rare": 2},
    "law": {"name": "markov", "on_to_off": 0.3, "off_to_on": 0.1},
    "model": {"name": "softmax"},
    "work": {"batch": 8, "local_steps": 2},
    "runs": {"rounds": 301, "every": 2, "seeds": 2},
    "methods": {
        "FedAvg": {"lr": [0.1, 0.3]},
        "FedProx": {"lr": 0.1},
        "SCAFFOLD": {"lr": 0.1},
        "FedeRage": {"lr": 0.05},
        "FedeRage + CV": {"kind": "federage_cv", "lr": 0.05},
    },
}
CASTS = 5

if __name__ == "__main__":
    # Checkpoints and parts as often as can be, so that an instant chosen at random may well fall into writing one.
    player = importlib.import_module("federage.experiments.play")
    player._CHECKPOINT_S = 0.0
    player._TABLES_S = 0.05
    play(load(TABLES), sys.argv[1], tell=lambda tick: print(tick.labels[0], flush=True))
    print("done", flush=True)
