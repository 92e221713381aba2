"""R(S) written out, subset by subset: slow, small and independent of the library."""

from __future__ import annotations

import itertools
from collections import defaultdict

import numpy as np

from federage.core.randomness import at
from federage.participation.conformance import replay


def sequences(prior, size):
    """Probabilities of every ordered successive draw without replacement."""
    out = {}
    for order in itertools.permutations(np.flatnonzero(prior).tolist(), size):
        chance, left = 1.0, sum(prior)
        for i in order:
            chance *= prior[i] / left
            left = sum(prior[j] for j in range(len(prior)) if j not in order[: order.index(i) + 1])
        out[order] = chance
    return out


def successive(prior, size):
    law = defaultdict(float)
    for order, chance in sequences(prior, size).items():
        law[frozenset(order)] += chance
    return dict(law)


def random_size(prior, sizes):
    law = defaultdict(float)
    for size, share in sizes.items():
        for subset, chance in successive(prior, size).items():
            law[subset] += share * chance
    return dict(law)


def coins(q):
    law = {}
    for on in itertools.product([0, 1], repeat=len(q)):
        law[frozenset(np.flatnonzero(on).tolist())] = float(np.prod(np.where(on, q, 1 - np.asarray(q))))
    del law[frozenset()]
    total = sum(law.values())
    return {subset: chance / total for subset, chance in law.items()}


def systematic(inclusion, order):
    """Between two neighbouring fractions of the interval ends, the chosen clients do not change."""
    ends = np.cumsum(np.asarray(inclusion)[order])
    law = defaultdict(float)
    cuts = np.unique(np.concatenate([[0.0, 1.0], ends % 1]))
    for low, high in itertools.pairwise(cuts):
        if high - low > 1e-9:
            points = (low + high) / 2 + np.arange(round(ends[-1]))
            law[frozenset(order[np.searchsorted(ends, points, side="right")].tolist())] += high - low
    return dict(law)


def marginals(law, clients):
    """(pi, p) from R(S)."""
    inclusion, weights = np.zeros(clients), np.zeros(clients)
    for subset, chance in law.items():
        for i in subset:
            inclusion[i] += chance
            weights[i] += chance / len(subset)
    return inclusion, weights


def drawn(law, key, rounds, runs):
    """Cohorts of runs * rounds rounds, as frozensets."""
    subsets = []
    for run in range(runs):
        _, cohorts = replay(law, at(key, run), rounds)
        subsets += [frozenset(ids[ids < law.clients].tolist()) for ids in np.asarray(cohorts.ids)]
    return subsets
