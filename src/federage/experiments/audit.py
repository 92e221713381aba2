"""Whom a method's risk really weighed, and how near beta came to the quantile it runs after: asked once, at the end."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import jax
import numpy as np
import polars as pl

from federage.analysis import effective_weights
from federage.core.algorithm import Method
from federage.core.problem import Problem
from federage.core.run import Progress
from federage.experiments.frames import AUDIT

_BUDGET = 2**16  # examples a run: about what a look or two evaluates


def audit(methods: Mapping[str, Method], seeds: Sequence[int], problem: Problem, progress: Progress) -> pl.DataFrame:
    """A row a method, seed and client (`frames.AUDIT`), at the last checkpoint.

    A method without scalars of its own descends the mean: its clients' shares are p. One with a tail mass `alpha`, a
    weight `gamma` and one scalar is measured by `analysis.effective_weights`. Of any other risk, and of runs that did
    not stay finite, nothing is said.
    """
    state = progress.state
    p = np.asarray(problem.law.weights().values, np.float64)
    frames = [pl.DataFrame(schema=AUDIT)]
    runs = [(label, method, seed) for label, method in methods.items() for seed in seeds]
    for k, (label, method, seed) in enumerate(runs):
        theta, dual = jax.tree.map(lambda leaf, k=k: leaf[k], state.vars)
        if state.broke[k] >= 0:
            continue
        if not jax.tree.leaves(dual):
            frames.append(_rows(label, seed, p / p.sum(), None, None))
        elif np.ndim(dual) == 0 and hasattr(method, "alpha") and hasattr(method, "gamma"):
            alpha, gamma = method.alpha, method.gamma  # pyright: ignore[reportAttributeAccessIssue]
            found = effective_weights(problem, theta, alpha, gamma, p, budget=_BUDGET)
            frames.append(_rows(label, seed, found.shares, found.quantile, float(dual)))
    return pl.concat(frames)


def _rows(label: str, seed: int, shares: np.ndarray, quantile: float | None, beta: float | None) -> pl.DataFrame:
    columns: dict[str, Any] = {"method": label, "seed": seed, "client": np.arange(len(shares)), "share": shares}
    return pl.DataFrame(columns | {"quantile": quantile, "beta": beta}, schema=AUDIT)
