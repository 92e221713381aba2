"""How a run is cut into legs, and what its looks look at."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NamedTuple, cast, get_args

import numpy as np

from federage.errors import RecordError

Watched = Literal["last", "average", "smooth"]


class Plan(NamedTuple):
    """How a run is cut.

    Attributes:
      rounds: T, all of them; the run ends exactly there.
      every: rounds in a leg (the last leg may be shorter).
      watch: the checkpoints each look measures: "last", "average" (of all so far), "smooth" (exponential).
      decay: of the exponential average, or None for none.
    """

    rounds: int
    every: int
    watch: tuple[Watched, ...] = ("last",)
    decay: float | None = None

    def lengths(self, done: int = 0) -> list[int]:
        """The legs that are left after `done` rounds."""
        left = self.rounds - done
        return [self.every] * (left // self.every) + [left % self.every] * (left % self.every > 0)


def plan(rounds: int, every: int | None, watch: Sequence[Watched], smooth: float | None) -> Plan:
    """Check how a run is to be cut."""
    if rounds < 1:
        raise RecordError(f"rounds={rounds} is not a whole number of at least 1")
    every = max(1, rounds // 20) if every is None else every
    if every < 1:
        raise RecordError(f"every={every} is not a whole number of at least 1")
    if smooth is not None and not 0 < smooth < 1:
        raise RecordError(
            f"smooth={smooth} is not a decay in (0, 1); pass smooth=.99 for an average over about 100 rounds"
        )
    wanted = dict.fromkeys(("last", *watch, *(["smooth"] if smooth is not None else [])))
    for name in wanted:
        if name not in get_args(Watched):
            raise RecordError(f"watch has {name!r}, which is none of 'last', 'average', 'smooth'")
    if "smooth" in wanted and smooth is None:
        raise RecordError("watch has 'smooth', but no decay was given; pass smooth=.99")
    return Plan(rounds, min(every, rounds), cast(tuple[Watched, ...], tuple(wanted)), smooth)


def seeds_of(seeds: int | Sequence[int]) -> tuple[int, ...]:
    """The seeds: 0, 1, ... where a number of them is given."""
    listed = tuple(range(seeds)) if isinstance(seeds, (int, np.integer)) else tuple(int(s) for s in seeds)
    if not listed or min(listed) < 0 or len(set(listed)) < len(listed):
        raise RecordError(
            f"seeds={seeds!r} is neither a number of at least 1 nor a list of different non-negative numbers"
        )
    return listed
