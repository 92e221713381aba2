"""What becomes of the reports. Each aggregation is a sum over the arrivals of something, and a reading of that sum."""

from __future__ import annotations

import jax
import jax.numpy as jnp
from jaxtyping import Array

from federage.core.algorithm import Aggregation, Known, Report
from federage.core.types import PyTree, Vars


def uniform_mean() -> Aggregation:
    """The plain mean over the arrivals, (1/|S|) sum_{i in S} (v_i - v): agnostic, whatever the law.

    References:
      FedeRage, Algorithm 1, line 6 and Algorithm 2, line 7.
    """

    def encode(report: Report, entry: PyTree, known: Known) -> tuple[tuple[Vars, Array], PyTree]:
        return (report.delta, jnp.ones(())), entry

    def combine(total: tuple[Vars, Array], server: PyTree) -> tuple[Vars, PyTree]:
        change, count = total
        return jax.tree.map(lambda d: d / count, change), server

    return Aggregation(init=lambda vars: ((), ()), encode=encode, combine=combine)


def normalised_mean() -> Aggregation:
    """The mean change by local step, times the mean number of steps: mean_S K_i * mean_S D_i / K_i.

    For plain SGD: with momentum or another correction, a client's steps count differently from one another.

    References:
      FedNova: Wang et al., arXiv:2007.07481, Section 4, where a_i = (1, ..., 1) and |a_i|_1 = tau_i = K_i.
    """

    def encode(report: Report, entry: PyTree, known: Known) -> tuple[tuple[Vars, Array, Array], PyTree]:
        return (jax.tree.map(lambda d: d / report.steps, report.delta), report.steps, jnp.ones(())), entry

    def combine(total: tuple[Vars, Array, Array], server: PyTree) -> tuple[Vars, PyTree]:
        by_step, steps, count = total
        return jax.tree.map(lambda d: steps / count * (d / count), by_step), server

    return Aggregation(init=lambda vars: ((), ()), encode=encode, combine=combine)
