"""The tables of a report, as frames: what each method comes to, how sure that is, and who takes part.

All numbers of a run are over its *final looks*, the last ten as in the paper's Table I, or all where there are fewer.
A run that is not finite at its last look is in none of them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from federage.analysis import statistics
from federage.experiments.store import Recorded

FINAL = 10
LEVEL = 0.95
Z_CRITICAL = 1.959963984540054  # of the paper's test, at 5 %


class Metric(NamedTuple):
    """What a metric is called, and which way is better; a share is shown in per cent."""

    name: str
    sign: int = 1
    share: bool = True


METRICS = {
    "accuracy": Metric("all clients"),
    "worst_tenth": Metric("worst 10 %"),
    "worst": Metric("worst client"),
    "rare": Metric("rare group"),
    "loss": Metric("loss", sign=-1, share=False),
}
"""What is measured at a checkpoint."""


def checkpoints(recorded: Recorded) -> dict[str, str]:
    """The checkpoints that were looked at, and what they are called."""
    names = {
        "last": "last checkpoint",
        "average": "average of all checkpoints",
        "smooth": f"exponential average, decay {recorded.experiment.smooth:g}",
    }
    seen = set(recorded.looks["checkpoint"].unique())
    return {key: name for key, name in names.items() if key in seen}


def metrics(recorded: Recorded) -> dict[str, Metric]:
    """The metrics that are defined here: without a rare group none for it, without classes the loss alone."""
    return {key: metric for key, metric in METRICS.items() if recorded.looks[key].null_count() < len(recorded.looks)}


def headline(recorded: Recorded) -> str:
    """The metric that a method is first judged by: accuracy, or the loss where there is none."""
    return "accuracy" if "accuracy" in metrics(recorded) else "loss"


def finite(recorded: Recorded) -> pl.DataFrame:
    """The looks of the runs that are finite at their last look."""
    run = ["method", "seed"]
    whole = recorded.looks.group_by(run).agg(pl.col("finite").sort_by("round").last()).filter("finite")
    return recorded.looks.join(whole, on=run, how="semi", maintain_order="left")


def final(recorded: Recorded, checkpoint: str, metric: str) -> dict[str, np.ndarray]:
    """A metric at the final looks, [seeds, looks] by method; a seed that is not finite, or not played, is NaN."""
    seeds = pl.DataFrame({"seed": list(recorded.experiment.seeds)}, schema={"seed": pl.Int64})
    looks = finite(recorded).filter(pl.col("checkpoint") == checkpoint)
    parts = {str(key): part for (key,), part in looks.partition_by("method", as_dict=True).items()}
    values: dict[str, np.ndarray] = {}
    for label in recorded.methods:
        part = parts.get(label)
        if part is None:
            values[label] = np.full((len(seeds), 1), np.nan)
            continue
        wide = at_the_end(part).pivot("round", index="seed", values=metric)
        rows = seeds.join(wide, on="seed", how="left", maintain_order="left").drop("seed")
        values[label] = rows.to_numpy().astype(np.float64)
    return values


def at_the_end(rows: pl.DataFrame) -> pl.DataFrame:
    """One method's rows of its final looks."""
    return rows.filter(pl.col("round").is_in(rows["round"].unique().sort().tail(FINAL).to_list()))


def results(recorded: Recorded) -> pl.DataFrame:
    """`results_at`, a row a checkpoint, metric and method."""
    return _everywhere(recorded, lambda checkpoint, key: results_at(recorded, checkpoint, key))


def results_at(recorded: Recorded, checkpoint: str, metric: str) -> pl.DataFrame:
    """A row a method: mean, spreads, and the paper's marks of Table I.

    `std` is over all values, seeds times final looks, as Table I prints it; `std_over_seeds` is over one number a seed;
    `worth` says how many independent values the values are worth (`analysis.statistics.summarise`). The dagger of a
    single seed would rest on looks at one model alone: it is not given.
    """
    values = final(recorded, checkpoint, metric)
    marks = statistics.marks({label: METRICS[metric].sign * array for label, array in values.items()})
    rows: list[dict[str, Any]] = []
    for label, array in values.items():
        told, mark = statistics.summarise(array), marks[label]
        rows.append(
            {"method": label, "mean": told.mean, "std": told.pooled_std, "std_over_seeds": told.std_over_seeds}
            | {"seeds": told.seeds, "values": told.values, "worth": told.worth}
            | {"best_mean": mark.best_mean, "best_mean_minus_std": mark.best_mean_minus_std}
            | {"significant": mark.significant and told.seeds > 1}
        )
    return pl.DataFrame(rows, schema=_RESULTS).with_columns(_numbers(_RESULTS))


def paired(recorded: Recorded, to: str | None = None) -> pl.DataFrame:
    """`paired_at`, a row a checkpoint, metric and method."""
    return _everywhere(recorded, lambda checkpoint, key: paired_at(recorded, checkpoint, key, to))


def paired_at(recorded: Recorded, checkpoint: str, metric: str, to: str | None = None) -> pl.DataFrame:
    """A row a method: its differences from the best method, and from FedAvg, with both tests.

    With a label in `to`, also those from that method; `against` is "to" there.

    `low` and `high` are Student's 95 % interval of the differences seed by seed, `p` its p value and `p_holm` the same
    after Holm's adjustment; `z_low`, `z_high` and `p_z` are those of the paper's Z-test, which takes all looks of a run
    for independent. Where the Z-test is sure (p_z < 5 %) and the seeds are not (p >= 5 %), it is `too_sure`.
    """
    values, sign = final(recorded, checkpoint, metric), METRICS[metric].sign
    signed = statistics.against_best({label: sign * array for label, array in values.items()}, LEVEL)
    rows: list[dict[str, Any]] = []
    for against, reference in (("best", signed.best), ("FedAvg", fedavg(recorded)), ("to", to)):
        if reference is None:
            continue
        tests = {label: _pair(array, values[reference]) for label, array in values.items() if label != reference}
        # The best was chosen by the same numbers, so all pairs were in the running; the others were named beforehand.
        named = dict(zip(tests, statistics.holm([test["p"] for test in tests.values()]), strict=True))
        p_holm = signed.adjusted if against == "best" else named
        rows += [
            {"against": against, "reference": reference, "method": label, **test, "p_holm": p_holm[label]}
            for label, test in tests.items()
        ]
    return pl.DataFrame(rows, schema=_PAIRED).with_columns(_numbers(_PAIRED))


def fedavg(recorded: Recorded) -> str | None:
    """The first method that is FedAvg."""
    kinds = {label: type(recorded.experiment.methods[label]).__name__ for label in recorded.methods}
    return next((label for label, kind in kinds.items() if kind == "FedAvg"), None)


def clients(recorded: Recorded) -> pl.DataFrame:
    """A row a method and client: its accuracy at the last checkpoint, over final looks and finite seeds, and its p."""
    runs = finite(recorded).select("method", "seed").unique()
    rows = recorded.by_client.filter(pl.col("checkpoint") == "last").join(runs, on=["method", "seed"], how="semi")
    parts = [at_the_end(part) for part in rows.partition_by("method", maintain_order=True)]
    told = recorded.clients.select("client", "rare", "classes", "n_test", pi="inclusion", p="weight")
    return (
        (pl.concat(parts) if parts else rows)
        .group_by("method", "client", maintain_order=True)
        .agg(pl.col("accuracy").fill_nan(None).mean())
        .join(told, on="client", how="left", maintain_order="left")
        .drop_nulls("accuracy")
    )


def participation(recorded: Recorded) -> pl.DataFrame:
    """A row a client: pi as the law says and as all runs observed it, and p."""
    heard = recorded.heard.group_by("client").agg(observed=pl.col("heard").sum() / pl.col("rounds").sum())
    told = recorded.clients.select(
        "client",
        "classes",
        "n_train",
        "rare",
        pi="inclusion",
        pi_error="inclusion_error",
        p="weight",
        p_error="weight_error",
    )
    return told.join(heard, on="client", how="left", maintain_order="left")


def effective(recorded: Recorded) -> pl.DataFrame:
    """A row a method and client: its share of the method's risk at the last checkpoint, over finite seeds; its p."""
    runs = finite(recorded).select("method", "seed").unique()
    return (
        recorded.audit.join(runs, on=["method", "seed"], how="semi", maintain_order="left")
        .group_by("method", "client", maintain_order=True)
        .agg(pl.col("share").mean(), std=pl.col("share").std())
        .join(recorded.clients.select("client", "rare", p="weight"), on="client", how="left", maintain_order="left")
    )


TABLES: Mapping[str, Callable[[Recorded], pl.DataFrame]] = {
    "results": results,
    "paired": paired,
    "clients": clients,
    "participation": participation,
    "effective": effective,
}
"""Every table, by name."""


def _everywhere(recorded: Recorded, make: Callable[[str, str], pl.DataFrame]) -> pl.DataFrame:
    """A frame of each checkpoint and metric, one below another."""
    frames = [
        make(checkpoint, key).select(pl.lit(checkpoint).alias("checkpoint"), pl.lit(key).alias("metric"), pl.all())
        for checkpoint in checkpoints(recorded)
        for key in metrics(recorded)
    ]
    return pl.concat(frames)


def _pair(a: np.ndarray, b: np.ndarray) -> dict[str, Any]:
    told, letter = statistics.paired(statistics.by_seed(a), statistics.by_seed(b), LEVEL), statistics.z_test(a, b)
    of_a, of_b = statistics.summarise(a), statistics.summarise(b)
    gap = of_a.mean - of_b.mean
    error = (
        math.sqrt(of_a.pooled_std**2 / of_a.values + of_b.pooled_std**2 / of_b.values) if letter.p >= 0 else math.nan
    )
    return {
        "difference": told.difference,
        "low": told.low,
        "high": told.high,
        "p": told.p,
        "seeds": told.n,
        "z": letter.z,
        "p_z": letter.p,
        "z_low": gap - Z_CRITICAL * error,
        "z_high": gap + Z_CRITICAL * error,
        "too_sure": bool(letter.p < 1 - LEVEL and told.p >= 1 - LEVEL),
    }


_RESULTS = (
    {"method": pl.String()}
    | dict.fromkeys(["mean", "std", "std_over_seeds"], pl.Float64())
    | {"seeds": pl.Int64(), "values": pl.Int64(), "worth": pl.Float64()}
    | dict.fromkeys(["best_mean", "best_mean_minus_std", "significant"], pl.Boolean())
)
_PAIRED = (
    dict.fromkeys(["against", "reference", "method"], pl.String())
    | dict.fromkeys(["difference", "low", "high", "p", "p_holm"], pl.Float64())
    | {"seeds": pl.Int64(), "z": pl.Float64(), "p_z": pl.Float64(), "z_low": pl.Float64(), "z_high": pl.Float64()}
    | {"too_sure": pl.Boolean()}
)


def _numbers(schema: Mapping[str, Any]) -> list[pl.Expr]:
    """A number that does not exist is null in a frame, not NaN."""
    return [pl.col(name).fill_nan(None) for name, kind in schema.items() if kind == pl.Float64]
