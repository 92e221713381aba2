"""The configurations of a search: as many for every method, and each method's own, whoever else is searched.

What is drawn at random is addressed by (seed, label, index): another method, or a larger budget, changes nobody's draw.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator

import numpy as np

from federage.core.algorithm import Method
from federage.errors import ExperimentError
from federage.experiments.experiment import Experiment
from federage.tuning.search import Axis, Range, Search, Space, changed

Numbers = dict[str, object]

_BITS = 32  # of a place in the unit interval
_PATIENCE = 100  # points drawn for each that is wanted, where a space is so narrow that they coincide


def configurations(search: Search, experiment: Experiment) -> dict[str, list[Method]]:
    """The records that each method is tried with; one alone, where there is nothing to choose."""
    at = f"{experiment.source}, " if experiment.source else ""
    found: dict[str, list[Method]] = {}
    for label, space in search.spaces.items():
        where, size = f"{at}[tune.space.{label}]", math.prod(map(_size, space.values()))
        if 1 < size < search.budget:
            raise _too_few(where, search.budget, int(size))
        draw = search.budget if size > 1 else 1
        numbers = _grid(search, label, space, draw) if search.strategy == "grid" else _random(search, label, space)
        chosen = list(itertools.islice(numbers, draw))
        if len(chosen) < draw:
            raise _too_few(where, search.budget, len(chosen))
        found[label] = [changed(experiment.methods[label], where, entry) for entry in chosen]
    return found


def cells(search: Search, label: str) -> int:
    """How many points a method's whole grid has; of those, as many as the budget allows are tried."""
    return math.prod(map(len, _points(search.spaces[label], search.budget).values()))


def _too_few(where: str, budget: int, size: int) -> ExperimentError:
    return ExperimentError(
        f"{where}: expected at least {budget} different configurations, so that every method gets as many, but there "
        f"are {size}; give more values or a wider range, or set [tune] budget = {size}"
    )


def _size(axis: Axis) -> float:
    return math.inf if isinstance(axis, Range) else len(axis)


def _generator(search: Search, label: str) -> np.random.Generator:
    return np.random.default_rng([search.seed, *label.encode()])


def _random(search: Search, label: str, space: Space) -> Iterator[Numbers]:
    """Different points of a scrambled Halton sequence in the unit cube, mapped to the space.

    Every point is uniform, and any number of them from the first on fill each axis more evenly than independent draws.

    References:
      Owen, A randomized Halton algorithm in R, arXiv:1706.02808.
    """
    rng = _generator(search, label)
    scrambles = [
        [rng.permutation(base) for _ in range(math.ceil(_BITS / math.log2(base)))]
        for base in itertools.islice(_primes(), len(space))
    ]
    seen: set[tuple[object, ...]] = set()
    for k in range(_PATIENCE * search.budget):
        places = [_radical_inverse(k, scramble) for scramble in scrambles]
        numbers = {key: _at(axis, place) for (key, axis), place in zip(space.items(), places, strict=True)}
        if (values := tuple(numbers.values())) not in seen:
            seen.add(values)
            yield numbers


def _radical_inverse(k: int, scramble: list[np.ndarray]) -> float:
    """The digits of k behind the point, the last one first, each replaced by what its permutation says."""
    base, place = len(scramble[0]), 0.0
    for j, digits in enumerate(scramble, start=1):
        k, digit = divmod(k, base)
        place += float(digits[digit]) / base**j
    return place


def _primes() -> Iterator[int]:
    return (n for n in itertools.count(2) if all(n % d for d in range(2, math.isqrt(n) + 1)))


def _at(axis: Axis, place: float) -> object:
    return axis.at(place) if isinstance(axis, Range) else axis[int(place * len(axis))]


def _grid(search: Search, label: str, space: Space, draw: int) -> Iterator[Numbers]:
    """The grid's points in their order; of a grid with more points than are wanted, that many drawn at random."""
    points = _points(space, draw)
    shape = [len(values) for values in points.values()]
    size = math.prod(shape)
    picked = np.sort(_generator(search, label).choice(size, min(draw, size), replace=False))
    for cell in picked:
        places = np.unravel_index(cell, shape) if shape else ()
        yield {key: values[int(i)] for (key, values), i in zip(points.items(), places, strict=True)}


def _points(space: Space, wanted: int) -> dict[str, list[object]]:
    """The values on each axis: as listed, and of ranges at least two, evenly, until they are enough."""
    counts = {key: 2 if isinstance(axis, Range) else len(axis) for key, axis in space.items()}
    ranges = itertools.cycle([key for key, axis in space.items() if isinstance(axis, Range)])
    while math.prod(counts.values()) < wanted and (key := next(ranges, None)):
        counts[key] += 1
    return {key: _values(axis, counts[key]) for key, axis in space.items()}


def _values(axis: Axis, count: int) -> list[object]:
    if isinstance(axis, Range):
        return list(dict.fromkeys(axis.at(k / (count - 1)) for k in range(count)))
    return list(axis)
