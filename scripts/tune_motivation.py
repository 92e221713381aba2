"""Tune the motivating example's methods on another draw of its data, and write down the whole search.

    python scripts/tune_motivation.py      plays the search, writes scripts/motivation_tuning.json, prints the choice

The clients of the example hold out no validation examples, but there are as many more as anybody wants: the search
trains and measures on a federation drawn with another seed, on seeds of runs that the figure does not use. Each method
gets 48 configurations, over a range that keeps the best off its edge. A configuration's score is its mean accuracy over
the looks of the last quarter of the rounds, averaged over seeds; one that became non-finite on any seed has none. The
best is copied by hand into `federage/paper/motivation.toml`, and `tests/paper/test_motivation.py` compares the two.
"""

from __future__ import annotations

import dataclasses
import itertools
import json
from pathlib import Path
from typing import Any

import numpy as np

import federage as fr
from federage.data import synthetic
from federage.experiments.environment import environment
from federage.paper.stage import Stage

DATA_SEED, SEEDS = 1, (100, 101, 102, 103, 104)
TARGET = Path(__file__).with_name("motivation_tuning.json")

STEPS = itertools.product([0.0003, 0.001, 0.003], [0.000001, 0.00001, 0.0001, 0.001], [0.003, 0.005, 0.01, 0.02])
CONFIGURATIONS: dict[str, list[Any]] = {
    "FedAvg": [fr.FedAvg(float(f"{lr:.3g}")) for lr in np.geomspace(0.003, 1.0, 48)],
    "FedeRage": [fr.FedeRage(lr, beta_lr, alpha=alpha, gamma=0.5) for lr, beta_lr, alpha in STEPS],
}


def row(result: fr.Result, names: list[str]) -> dict[str, Any]:
    late = result.rounds > 0.75 * result.rounds[-1]
    by_seed = result.accuracy[:, late].mean(axis=1, dtype=float)
    score = round(float(by_seed.mean()), 5) if result.finite.all() else None
    return {name: getattr(result.method, name) for name in names} | {"accuracy": score}


def main() -> None:
    experiment = Stage(("motivation",), Path()).experiment("motivation")
    problem = dataclasses.replace(experiment.problem(), clients=synthetic.motivating_example(seed=DATA_SEED))
    found = {}
    for label, methods in CONFIGURATIONS.items():
        names = [
            field.name
            for field in dataclasses.fields(methods[0])
            if len({getattr(method, field.name) for method in methods}) > 1
        ]
        results = fr.sweep(problem, methods, rounds=experiment.rounds, seeds=SEEDS, every=experiment.every)
        table = [row(result, names) for result in results]
        chosen = max((entry for entry in table if entry["accuracy"] is not None), key=lambda entry: entry["accuracy"])
        grid = {name: sorted({entry[name] for entry in table}) for name in names}
        edge = [name for name, values in grid.items() if chosen[name] in (values[0], values[-1])]
        found[label] = {"chosen": chosen, "on_the_edge": edge, "table": table}
        print(f"{label:<10} {chosen}" + (f"  on the edge of its grid in {', '.join(edge)}" if edge else ""), flush=True)
    played = {"rounds": experiment.rounds, "seeds": SEEDS, "data_seed": DATA_SEED}
    record = {"runs": played, "environment": environment(), "methods": found}
    TARGET.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
