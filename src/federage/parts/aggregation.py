"""What becomes of the reports. Each aggregation is a sum over the arrivals of something, and a reading of that sum."""

from __future__ import annotations

import jax
import jax.numpy as jnp
from jaxtyping import Array

from federage.core.algorithm import Aggregation, Knowledge, Known, Report
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


def inverse_probability() -> Aggregation:
    """Horvitz and Thompson's sum, (1/N) sum_{i in S} D_i / pi_i.

    Over the law its mean is (1/N) sum_i D_i, the sum being over all i with pi_i > 0: whoever never gets through is
    missing. One who does so rarely moves the model by D_i / (N pi_i) at once.

    References:
      Horvitz & Thompson, J. American Statistical Association 47 (1952).
    """

    def encode(report: Report, entry: PyTree, known: Known) -> tuple[Vars, PyTree]:
        return jax.tree.map(lambda d: d / (known.clients * known.inclusion), report.delta), entry

    return Aggregation(
        init=lambda vars: ((), ()),
        encode=encode,
        combine=lambda total, server: (total, server),
        reads=frozenset({Knowledge.LAW}),
    )


def self_normalised() -> Aggregation:
    """The arrivals' mean with weights 1/pi_i, sum_{i in S} (D_i / pi_i) / sum_{i in S} 1 / pi_i.

    A ratio of two unbiased sums, so not itself unbiased: an arrival that comes alone counts whole, whatever its pi_i.
    """

    def encode(report: Report, entry: PyTree, known: Known) -> tuple[tuple[Vars, Array], PyTree]:
        share = 1 / known.inclusion
        return (jax.tree.map(lambda d: share * d, report.delta), share), entry

    return uniform_mean()._replace(encode=encode, reads=frozenset({Knowledge.LAW}))
