"""A recorded experiment made by hand, whose means, spreads and differences are known.

Four seeds, twenty looks. At the final ten looks the accuracy of a run is `MEAN + EFFECT[seed] + WIGGLE[look]`, where
effects and wiggles sum to zero: a run's mean over them is MEAN + EFFECT, a method's is MEAN. SCAFFOLD differs from
FedAvg by GAP -SPREAD, +SPREAD, -SPREAD, +SPREAD on the four seeds.
"""

from pathlib import Path
from types import SimpleNamespace

import numpy as np
import polars as pl

import federage as fr

SEEDS, LOOKS, EVERY, CLIENTS, RARE = (0, 1, 2, 3), 20, 10, 6, 2
ROUNDS = LOOKS * EVERY
MEANS = {"FedAvg": 0.80, "SCAFFOLD": 0.83, "FedeRage <κ>": 0.825}
EFFECTS = {
    "FedAvg": [0.01, -0.01, 0.02, -0.02],
    "SCAFFOLD": [0.0, 0.0, 0.01, -0.01],
    "FedeRage <κ>": [0.03, -0.03, 0.01, -0.01],
}
SPREAD = 0.01  # SCAFFOLD minus FedAvg is 0.03 + [-0.01, +0.01, -0.01, +0.01]
WIGGLE = np.array([0.01, -0.01] * 5)
BELOW = {"accuracy": 0.0, "worst_tenth": 0.2, "worst": 0.3, "rare": 0.25}
"""How far below its accuracy a method's other shares lie."""
RARE_BONUS = {"FedAvg": 0.0, "SCAFFOLD": 0.0, "FedeRage <κ>": 0.1}
BETA = {"FedeRage <κ>": 0.4}
WEIGHTS = np.array([0.3, 0.25, 0.2, 0.2, 0.04, 0.01])


def recorded(
    folder=Path("runs/by-hand"), methods=tuple(MEANS), seeds=SEEDS, rare=True, accuracy=True, lost=(), audit=True
):
    """All of it, or without some: `lost` names (method, seed) runs that become non-finite after round 105."""
    kinds = {
        "FedAvg": fr.FedAvg(0.1),
        "SCAFFOLD": fr.Scaffold(0.1),
        "FedeRage <κ>": fr.FedeRage(0.1, beta_lr=0.01, alpha=0.1, gamma=0.5),
    }
    records = {label: kinds.get(label, fr.FedAvg(0.2)) for label in methods}
    return SimpleNamespace(
        folder=folder,
        experiment=SimpleNamespace(
            title="By hand & known",
            methods=records,
            rounds=ROUNDS,
            every=EVERY,
            seeds=seeds,
            smooth=0.9,
            notes=("Nothing was tuned.",),
            local_steps=5,
            batch=8,
            look_at="test",
            settings=lambda: {
                "data": {"name": "by hand"},
                "runs": {"rounds": ROUNDS, "seeds": list(seeds)},
                **{f"methods.{label}": {"kind": type(record).__name__} for label, record in records.items()},
            },
        ),
        methods=list(methods),
        finished=True,
        environment={"federage": "0.1.0", "device": "an abacus"},
        seconds=dict.fromkeys(methods, 1.5),
        looks=_looks(methods, seeds, rare, accuracy, lost),
        by_client=_by_client(methods, seeds),
        clients=_clients(rare),
        heard=pl.DataFrame(
            [
                {"method": label, "seed": seed, "client": k, "heard": round(ROUNDS * min(1, 2 * p)), "rounds": ROUNDS}
                for label in methods
                for seed in seeds
                for k, p in enumerate(WEIGHTS)
            ]
        ),
        audit=_audit(methods, seeds).clear() if not audit else _audit(methods, seeds),
    )


def accuracy_of(label, seed, look):
    """The accuracy of a run at a look, as the head of this page says; before the final ten it grows."""
    level = MEANS.get(label, 0.5) + EFFECTS.get(label, [0, 0, 0, 0])[seed % 4]
    return level + WIGGLE[look - 10] if look >= 10 else level * (look + 1) / 12


def _looks(methods, seeds, rare, accuracy, lost):
    rows = []
    for label in methods:
        for seed in seeds:
            for look in range(LOOKS):
                at = (look + 1) * EVERY
                broken = (label, seed) in lost and at > 105
                for checkpoint in ("last", "average", "smooth"):
                    value = accuracy_of(label, seed, look)
                    shares = {key: max(0.0, value - below) if accuracy else None for key, below in BELOW.items()}
                    if rare and accuracy:
                        shares["rare"] += RARE_BONUS.get(label, 0)
                    else:
                        shares["rare"] = None
                    rows.append(
                        {"method": label, "seed": seed, "round": at, "checkpoint": checkpoint}
                        | (dict.fromkeys(shares) if broken else shares)
                        | {"loss": float("nan") if broken else 2 * (1 - value)}
                        | {"beta": BETA[label] * (look + 1) / LOOKS if label in BETA else None}
                        | {"arrivals": 2.0, "train_loss": 1 - value, "tail": 0.1}
                        | {"finite": not broken, "broke": 105 if broken else None}
                    )
    kinds = dict.fromkeys([*BELOW, "loss", "beta"], pl.Float64) | {"broke": pl.Int64}
    return pl.DataFrame(rows, schema_overrides=kinds, infer_schema_length=None)


def _by_client(methods, seeds):
    return pl.DataFrame(
        [
            {"method": label, "seed": seed, "round": (look + 1) * EVERY, "checkpoint": checkpoint, "client": k}
            | {"accuracy": accuracy_of(label, seed, look) - 0.05 * k}
            for label in methods
            for seed in seeds
            for look in range(10, LOOKS)
            for checkpoint in ("last", "average", "smooth")
            for k in range(CLIENTS)
        ]
    )


def _clients(rare):
    return pl.DataFrame(
        {
            "client": list(range(CLIENTS)),
            "n_train": [40] * CLIENTS,
            "n_validation": [10] * CLIENTS,
            "n_test": [10] * CLIENTS,
            "classes": [[0, 1]] * (CLIENTS - RARE) + [[2]] * RARE,
            "rare": [rare and k >= CLIENTS - RARE for k in range(CLIENTS)],
            "inclusion": np.minimum(1, 2 * WEIGHTS),
            "inclusion_error": [None] * CLIENTS,
            "weight": WEIGHTS,
            "weight_error": [0.001] * CLIENTS,
            "inclusion_how": ["exact, enumeration"] * CLIENTS,
            "weight_how": ["Monte Carlo, 640 draws"] * CLIENTS,
        },
        schema_overrides={"inclusion_error": pl.Float64},
    )


def _audit(methods, seeds):
    """The tail is all in the rarer half of the clients, which gets 1.5 times its p, for methods with a beta."""
    tilt = np.array([0.8, 0.8, 1.0, 1.0, 2.0, 4.0])
    rows = []
    for label in methods:
        shares = WEIGHTS * tilt / np.sum(WEIGHTS * tilt) if label in BETA else WEIGHTS
        for seed in seeds:
            rows += [
                {"method": label, "seed": seed, "client": k, "share": float(share)}
                | {"quantile": 0.5 if label in BETA else None, "beta": BETA.get(label)}
                for k, share in enumerate(shares)
            ]
    return pl.DataFrame(rows, infer_schema_length=None, schema_overrides={"quantile": pl.Float64, "beta": pl.Float64})
