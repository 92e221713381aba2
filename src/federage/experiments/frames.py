"""What was seen of runs, as polars frames: a row a look, and a row a look and client."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import polars as pl

from federage.core.look import Look
from federage.core.problem import Problem
from federage.core.run import Progress
from federage.core.types import Marginals
from federage.data import partition

CHECKPOINTS = ("last", "average", "smooth")
"""The checkpoints that looks measure, in the order of tables."""

_ACCURACIES = ("accuracy", "worst", "worst_tenth", "rare")

LOOKS = {
    "method": pl.String,
    "seed": pl.Int64,
    "round": pl.Int64,
    "checkpoint": pl.String,
    **dict.fromkeys((*_ACCURACIES, "loss", "beta", "arrivals", "train_loss", "tail"), pl.Float64),
    "finite": pl.Boolean,
    "broke": pl.Int64,
}
BY_CLIENT = {
    "method": pl.String,
    "seed": pl.Int64,
    "round": pl.Int64,
    "checkpoint": pl.String,
    "client": pl.Int64,
    "accuracy": pl.Float64,
}
HEARD = {"method": pl.String, "seed": pl.Int64, "client": pl.Int64, "heard": pl.Int64, "rounds": pl.Int64}
AUDIT = {
    "method": pl.String,
    "seed": pl.Int64,
    "client": pl.Int64,
    "share": pl.Float64,
    "quantile": pl.Float64,
    "beta": pl.Float64,
}
CLIENTS = {
    "client": pl.Int64,
    "n_train": pl.Int64,
    "n_validation": pl.Int64,
    "n_test": pl.Int64,
    "classes": pl.List(pl.Int64),
    "rare": pl.Boolean,
    "inclusion": pl.Float64,
    "inclusion_error": pl.Float64,
    "inclusion_how": pl.String,
    "weight": pl.Float64,
    "weight_error": pl.Float64,
    "weight_how": pl.String,
}

_CLIENTS_AT_EVERY_LOOK = 10_000  # above that a table by client would dwarf the model: the last look alone is kept


def looks(labels: Sequence[str], seeds: Sequence[int], progress: Progress, after: int) -> pl.DataFrame:
    """The looks taken after round `after`: runs are numbered method by method, and seed by seed within one."""
    leg, seen = progress.looks
    new = np.asarray(leg.round[0]) > after
    broke = np.asarray(progress.state.broke)[:, None]
    rounds = np.asarray(leg.round)[:, new]
    shared = {
        "round": rounds,
        **{name: np.asarray(getattr(leg, name))[:, new] for name in ("arrivals", "train_loss", "tail", "finite")},
        "broke": np.where((broke >= 0) & (broke <= rounds), broke, -1),
    }
    frames = []
    for checkpoint, look in seen.items():
        measured = {name: np.asarray(getattr(look, name))[:, new] for name in (*_ACCURACIES, "loss")}
        columns = {name: values.ravel() for name, values in (shared | measured).items()}
        beta = _beta(look, new)
        columns |= _runs(labels, seeds, rounds.shape[1]) | {"checkpoint": np.full(rounds.size, checkpoint)}
        columns["beta"] = np.full(rounds.size, np.nan) if beta is None else beta.ravel()
        frames.append(_frame(columns, LOOKS).with_columns(pl.col("broke").replace(-1, None)))
    joined = pl.concat(frames).with_columns(pl.col(*_ACCURACIES).fill_nan(None))
    return joined if _has_beta(seen) else joined.with_columns(pl.lit(None, pl.Float64).alias("beta"))


def by_client(labels: Sequence[str], seeds: Sequence[int], progress: Progress, after: int, last: bool) -> pl.DataFrame:
    """Each client's accuracy at the looks taken after round `after`; `last` says whether the runs are over."""
    leg, seen = progress.looks
    rounds = np.asarray(leg.round[0])
    new = np.flatnonzero(rounds > after)
    count = next(iter(seen.values())).by_client.shape[-1]
    if count > _CLIENTS_AT_EVERY_LOOK:
        new = new[-1:] if last else new[:0]
    frames = []
    for checkpoint, look in seen.items():
        accuracy = np.asarray(look.by_client)[:, new]
        columns: dict[str, Any] = _runs(labels, seeds, len(new) * count)
        columns["round"] = np.tile(np.repeat(rounds[new], count), len(accuracy))
        columns["client"] = np.tile(np.arange(count), accuracy.size // count)
        columns |= {"checkpoint": np.full(accuracy.size, checkpoint), "accuracy": accuracy.ravel()}
        frames.append(_frame(columns, BY_CLIENT).with_columns(pl.col("accuracy").fill_nan(None)))
    return pl.concat(frames)


def heard(labels: Sequence[str], seeds: Sequence[int], progress: Progress) -> pl.DataFrame:
    """How often each client has got through."""
    counts = np.asarray(progress.state.heard)
    columns = _runs(labels, seeds, counts.shape[1])
    columns |= {"client": np.tile(np.arange(counts.shape[1]), len(counts)), "heard": counts.ravel()}
    return _frame(columns | {"rounds": np.full(counts.size, progress.round)}, HEARD)


def clients(problem: Problem) -> pl.DataFrame:
    """What each client has, and what the law says of it."""
    frame = pl.DataFrame(partition.describe(problem.clients), schema_overrides={"classes": pl.List(pl.Int64)})
    marginals = {"inclusion": problem.law.inclusion(), "weight": problem.law.weights()}
    columns = [column for name, values in marginals.items() for column in _marginals(name, values)]
    return frame.with_columns(columns).select(pl.col(name).cast(kind) for name, kind in CLIENTS.items())


def in_order(frame: pl.DataFrame, labels: Sequence[str]) -> pl.DataFrame:
    """Rows of these methods, sorted: by method as the experiment has them, then seed, round, checkpoint, client."""
    orders = {"method": labels, "checkpoint": CHECKPOINTS}
    keys: Iterable[str] = (k for k in ("method", "seed", "round", "checkpoint", "client") if k in frame.columns)
    by = [pl.col(key).cast(pl.Enum(orders[key])) if key in orders else pl.col(key) for key in keys]
    return frame.filter(pl.col("method").is_in(list(labels))).sort(by)


def _runs(labels: Sequence[str], seeds: Sequence[int], rows: int) -> dict[str, np.ndarray]:
    """Method and seed of every row, where each run has that many."""
    return {
        "method": np.repeat(np.asarray(labels, object), len(seeds) * rows),
        "seed": np.tile(np.repeat(np.asarray(seeds, np.int64), rows), len(labels)),
    }


def _has_beta(seen: dict[str, Look]) -> bool:
    return all(np.ndim(look.dual) == 2 for look in seen.values())


def _beta(look: Look, new: np.ndarray) -> np.ndarray | None:
    """The risk's scalar where it has exactly one."""
    return np.asarray(look.dual)[:, new] if np.ndim(look.dual) == 2 else None


def _marginals(name: str, marginals: Marginals) -> list[pl.Series]:
    count = len(marginals.values)
    error = [None] * count if marginals.error is None else marginals.error
    return [
        pl.Series(name, marginals.values, pl.Float64),
        pl.Series(f"{name}_error", error, pl.Float64),
        pl.Series(f"{name}_how", [f"exact, {marginals.how}" if marginals.exact else marginals.how] * count),
    ]


def _frame(columns: dict[str, Any], schema: dict[str, Any]) -> pl.DataFrame:
    return pl.DataFrame([pl.Series(name, columns[name]).cast(kind) for name, kind in schema.items()])
