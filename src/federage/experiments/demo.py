"""The demonstration: six methods on embedded digits, where three clients with classes of their own rarely get through.

The step sizes were tuned on the clients' validation examples by `scripts/tune_demo.py`, with the same number of
configurations for every method and on seeds the demonstration does not use; its complete table is
`scripts/demo_tuning.json`. FedAvg at kappa * lr is the control without which FedeRage cannot be judged: in FedeRage's
first phase every batch is in the tail, so that it is SGD with that step size.
"""

from __future__ import annotations

from federage.algorithms import FedAvg, FedeRage, FedeRageCV, FedProx, Scaffold
from federage.core.algorithm import Method
from federage.experiments.experiment import Choice, Experiment

ROUNDS = 2000
SEEDS = 5
TUNED = "2026-11-19"

CLIENTS, RARE, ARRIVALS = 30, 3, 3

FEDERAGE = FedeRage(lr=0.1, beta_lr=0.001, alpha=0.1, gamma=0.5)

METHODS: dict[str, Method] = {
    "FedAvg": FedAvg(lr=0.476),
    "FedAvg at κ·lr": FedAvg(lr=FEDERAGE.kappa * FEDERAGE.lr),
    "FedProx": FedProx(lr=0.518, mu=0.01),
    "SCAFFOLD": Scaffold(lr=0.0381),
    "FedeRage": FEDERAGE,
    "FedeRage + CV": FedeRageCV(lr=0.01, beta_lr=0.1, alpha=0.1, gamma=0.5),
}


def demo(rounds: int = ROUNDS, seeds: int = SEEDS) -> Experiment:
    """The demonstration, on seeds 0, 1, ..."""
    return Experiment(
        title="Which method holds up when some clients hardly ever answer?",
        data="digits",
        partition=Choice.of("by_class", clients=CLIENTS, classes_per_client=2, rare=RARE, validation=0.2),
        law=Choice.of("skewed", clients=CLIENTS, arrivals=ARRIVALS, rare=RARE, severity="moderate"),
        model=Choice.of("mlp", hidden=(64,)),
        methods=METHODS,
        rounds=rounds,
        every=max(1, rounds // 40),
        seeds=tuple(range(seeds)),
        local_steps=10,
        batch=16,
        notes=(
            f"Step sizes (and FedProx's mu) were tuned on the clients' validation examples on {TUNED}: "
            f"32 configurations a method, 3 seeds that are not used here, {ROUNDS:,} rounds (scripts/tune_demo.py). "
            "Nobody looked at the test examples.",
            "FedAvg at κ·lr is not tuned: it is FedAvg at FedeRage's step size times κ = (1 - gamma) + gamma / alpha.",
            "FedeRage + CV is FedeRage with SCAFFOLD's control variates.",
        ),
    )
