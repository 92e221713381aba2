"""Tune the demonstration's methods on the clients' validation examples, and write down the whole search.

    python scripts/tune_demo.py            plays the search, writes scripts/demo_tuning.json, prints the choice

Every method gets 32 configurations on three seeds that the demonstration does not use. A configuration's score is its
mean accuracy on validation examples over the looks of the last quarter of the rounds (one look alone is noisy: three
clients a round), averaged over seeds; one that became non-finite on any seed has none. The best score is chosen; where
it lies on the edge of its grid, that is said. The choice is copied by hand into `federage/experiments/demo.py`, and
`tests/experiments/test_demo.py` compares the two.
"""

from __future__ import annotations

import dataclasses
import itertools
import json
from pathlib import Path
from typing import Any

import numpy as np

import federage as fr
from federage.experiments.demo import demo
from federage.experiments.environment import environment

SEEDS = (100, 101, 102)
TARGET = Path(__file__).with_name("demo_tuning.json")


def log_steps(count: int) -> list[float]:
    """Step sizes from 0.01 to 1, evenly in the logarithm."""
    return [float(f"{value:.3g}") for value in np.geomspace(0.01, 1.0, count)]


RISKS = [{"alpha": 0.1, "gamma": 0.5}, {"alpha": 0.3, "gamma": 0.9}]
RISK_STEPS = list(itertools.product([0.01, 0.03, 0.1, 0.3], [0.0001, 0.001, 0.01, 0.1], RISKS))
CV_STEPS = list(itertools.product([0.003, 0.01, 0.03, 0.1], [0.001, 0.01, 0.1, 1.0], RISKS))

CONFIGURATIONS: dict[str, list[Any]] = {
    "FedAvg": [fr.FedAvg(lr) for lr in log_steps(32)],
    "FedProx": [fr.FedProx(lr, mu) for lr, mu in itertools.product(log_steps(8), [0.001, 0.01, 0.1, 1.0])],
    "SCAFFOLD": [fr.Scaffold(lr) for lr in log_steps(32)],
    "FedeRage": [fr.FedeRage(lr, beta_lr, **risk) for lr, beta_lr, risk in RISK_STEPS],
    "FedeRage + CV": [fr.FedeRageCV(lr, beta_lr, **risk) for lr, beta_lr, risk in CV_STEPS],
}


def search(methods: list[Any]) -> dict[str, Any]:
    """One method's table, its best row, and in which numbers that lies on the edge of the grid."""
    experiment = demo()
    problem = experiment.problem(look_at="validation")
    results = fr.sweep(problem, methods, rounds=experiment.rounds, seeds=SEEDS, every=experiment.every)
    names = [
        field.name
        for field in dataclasses.fields(methods[0])
        if len({getattr(method, field.name) for method in methods}) > 1
    ]
    table = [_row(result, names) for result in results]
    chosen = max((row for row in table if row["accuracy"] is not None), key=lambda row: row["accuracy"])
    grid = {name: sorted({row[name] for row in table}) for name in names}
    edge = [name for name, values in grid.items() if len(values) > 2 and chosen[name] in (values[0], values[-1])]
    return {"chosen": chosen, "on_the_edge": edge, "table": table}


def _row(result: fr.Result, names: list[str]) -> dict[str, Any]:
    late = result.rounds > 0.75 * result.rounds[-1]
    by_seed = [round(value, 5) for value in result.accuracy[:, late].mean(axis=1, dtype=float).tolist()]
    score = round(float(np.mean(by_seed)), 5) if result.finite.all() else None
    return {name: getattr(result.method, name) for name in names} | {"accuracy": score, "by_seed": by_seed}


def main() -> None:
    found = {}
    for label, methods in CONFIGURATIONS.items():
        found[label] = search(methods)
        chosen, edge = found[label]["chosen"], found[label]["on_the_edge"]
        warning = f"  on the edge of its grid in {', '.join(edge)}" if edge else ""
        print(f"{label:<15} {chosen}{warning}", flush=True)
    problem = {key: value for key, value in demo().settings().items() if not key.startswith("methods.")}
    problem["runs"] |= {"seeds": list(SEEDS)}
    record = {"problem": problem, "split": "validation", "environment": environment(), "methods": found}
    TARGET.write_text(json.dumps(record, indent=1) + "\n")


if __name__ == "__main__":
    main()
