"""Aggregations of a server that remembers clients by their id: what each sent last, or how often it came."""

from __future__ import annotations

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array

from federage.core.algorithm import Aggregation, Knowledge, Known, Report
from federage.core.types import Vars

_BY_CLIENT = frozenset({Knowledge.SERVER_MEMORY})


class Intervals(NamedTuple):
    """A client's participation intervals that have ended: how many, and the rounds they cover, one after another."""

    ended: Array
    rounds: Array


def participation_intervals(cutoff: float | Array) -> Aggregation:
    """A share of all clients, each arrival weighted by how long it usually stays away: (1/N) sum_{i in S} w_i D_i.

    An interval ends with an arrival, or after `cutoff` rounds without one; w_i is the mean length of those that ended
    before this round, and 1 before the first has. Intervals follow upon each other, so that their sum is the rounds
    they cover, and those cut off since the last arrival can be counted when the client comes again: an absent client
    costs nothing.

    Args:
      cutoff: K, in rounds: an estimate of 1/pi_i that is bounded by it. 1 makes all weights 1.

    References:
      FedAU: Wang & Ji, arXiv:2306.03401, Algorithms 1 and 2.
    """

    def encode(report: Report, past: Intervals, known: Known) -> tuple[Vars, Intervals]:
        cut = (known.round - past.rounds) // cutoff
        ended, rounds = past.ended + cut, past.rounds + cut * cutoff
        weight = jnp.where(ended > 0, rounds / jnp.maximum(ended, 1), 1)
        share = jax.tree.map(lambda d: weight * d / known.clients, report.delta)
        return share, Intervals(ended + 1, known.round + jnp.ones(()))

    return Aggregation(
        init=lambda vars: ((), Intervals(jnp.zeros(()), jnp.zeros(()))),
        encode=encode,
        combine=lambda total, server: (total, server),
        reads=_BY_CLIENT,
    )


def last_updates() -> Aggregation:
    """The mean over *all* N clients of what each sent last, G_i, 0 before it has sent anything.

        mean <- mean + (1/N) sum_{i in S} (D_i - G_i)
        G_i  <- D_i, i in S

    The mean is kept rather than taken anew, so that a round costs what its arrivals cost; it differs from that of the
    table by the rounding of a sum with a term for every arrival there has been.

    References:
      MIFA: Gu et al., arXiv:2106.04159, Algorithm 1, where everybody answers in the first round. Here who was not yet
      heard counts with 0, as in the code that FedAU's authors compare with.
    """

    def encode(report: Report, last: Vars, known: Known) -> tuple[Vars, Vars]:
        return _news(report, last, known), _noted(report, last)

    def combine(news: Vars, mean: Vars) -> tuple[Vars, Vars]:
        mean = jax.tree.map(jnp.add, mean, news)
        return mean, mean

    return Aggregation(init=_nothing_yet, encode=encode, combine=combine, reads=_BY_CLIENT)


def surrogates() -> Aggregation:
    """The arrivals' mean, in which what all clients sent last stands in for the absent.

        update = mean_{i in S} (D_i - y_i) + mean_{all i} y_i       with the old y
        y_i   <- D_i, i in S

    References:
      FedVARP: Jhunjhunwala et al., arXiv:2207.14130, Algorithm 1.
    """

    def encode(report: Report, last: Vars, known: Known) -> tuple[tuple[Vars, Array], Vars]:
        return (_news(report, last, known), jnp.ones(()) / known.clients), _noted(report, last)

    def combine(total: tuple[Vars, Array], mean: Vars) -> tuple[Vars, Vars]:
        news, heard = total  # both over N, so that their ratio is the arrivals' mean
        update = jax.tree.map(lambda n, y: n / heard + y, news, mean)
        return update, jax.tree.map(jnp.add, mean, news)

    return Aggregation(init=_nothing_yet, encode=encode, combine=combine, reads=_BY_CLIENT)


def stale_updates(stale: float | Array) -> Aggregation:
    """Horvitz and Thompson's sum of what is new, and beta times what all clients sent last.

        update = (1/N) sum_{i in S} (D_i - stale h_i) / pi_i + (stale/N) sum_{all i} h_i      with the old h
        h_i   <- D_i, i in S

    Args:
      stale: the paper's beta: 0 forgets, 1 has stale updates count like fresh ones.

    References:
      FedStale: Rodio & Neglia, arXiv:2405.04171, with beta for `stale`; uniform over clients, where their code weighs
      them by n_i.
    """

    def encode(report: Report, last: Vars, known: Known) -> tuple[tuple[Vars, Vars], Vars]:
        chance = known.clients * known.inclusion
        fresh = jax.tree.map(lambda d, h: (d - stale * h) / chance, report.delta, last)
        return (fresh, _news(report, last, known)), _noted(report, last)

    def combine(total: tuple[Vars, Vars], mean: Vars) -> tuple[Vars, Vars]:
        fresh, news = total
        update = jax.tree.map(lambda f, h: f + stale * h, fresh, mean)
        return update, jax.tree.map(jnp.add, mean, news)

    return Aggregation(init=_nothing_yet, encode=encode, combine=combine, reads=_BY_CLIENT | {Knowledge.LAW})


def _nothing_yet(vars: Vars) -> tuple[Vars, Vars]:
    """The mean of what all clients sent last, and what one of them did."""
    zeros = jax.tree.map(jnp.zeros_like, vars)
    return zeros, zeros


def _news(report: Report, last: Vars, known: Known) -> Vars:
    """By how much an arrival changes that mean."""
    return jax.tree.map(lambda new, old: (new - old) / known.clients, report.delta, last)


def _noted(report: Report, last: Vars) -> Vars:
    """What an arrival sent, to be kept."""
    # XLA copies the whole table in every round unless what is written hangs on what was read: hence the zero.
    return jax.tree.map(lambda new, old: new + 0 * old, report.delta, last)
