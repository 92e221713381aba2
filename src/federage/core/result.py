"""What a run has come to, on the host, as NumPy arrays: seeds first, then looks, then clients."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

from federage.core.algorithm import Method
from federage.core.look import Leg, Look
from federage.core.state import State
from federage.core.types import PyTree, Vars


@dataclasses.dataclass(frozen=True, eq=False)
class Result:
    """A method's runs.

    Attributes:
      name: the method's.
      method: its record.
      seeds: the runs' seeds.
      legs: how the local work went between looks, arrays [seeds, looks].
      looks: by checkpoint ("last", and "average" or "smooth" where watched), arrays [seeds, looks, ...].
      state: everything the runs ended with, arrays [seeds, ...].
    """

    name: str
    method: Method
    seeds: tuple[int, ...]
    legs: Leg
    looks: dict[str, Look]
    state: State

    @property
    def rounds(self) -> np.ndarray:
        """The rounds at which looks were taken."""
        return np.asarray(self.legs.round[0])

    @property
    def accuracy(self) -> np.ndarray:
        """Of the last checkpoint at each look, [seeds, looks]."""
        return np.asarray(self.looks["last"].accuracy)

    @property
    def loss(self) -> np.ndarray:
        return np.asarray(self.looks["last"].loss)

    @property
    def by_client(self) -> np.ndarray:
        """Each client's accuracy, [seeds, looks, clients]."""
        return np.asarray(self.looks["last"].by_client)

    @property
    def worst(self) -> np.ndarray:
        """The worst client's accuracy."""
        return np.asarray(self.looks["last"].worst)

    @property
    def worst_tenth(self) -> np.ndarray:
        return np.asarray(self.looks["last"].worst_tenth)

    @property
    def rare(self) -> np.ndarray:
        """The rare group's accuracy (NaN without one)."""
        return np.asarray(self.looks["last"].rare)

    @property
    def dual(self) -> PyTree:
        """The risk's own scalars; FedeRage: beta, [seeds, looks]."""
        return self.looks["last"].dual

    @property
    def tail(self) -> np.ndarray:
        """Share of local steps in the tail since the look before."""
        return np.asarray(self.legs.tail)

    @property
    def last(self) -> Vars:
        """The last checkpoint, (theta, dual), one a seed."""
        return self.state.vars

    @property
    def average(self) -> Vars:
        """The mean of all checkpoints, as Algorithms 1 and 2 return it."""
        return self.state.average

    @property
    def smooth(self) -> Any:
        """The exponential average of the checkpoints, if it was asked for."""
        return self.state.smooth

    @property
    def heard(self) -> np.ndarray:
        """How often each client got through, [seeds, clients]."""
        return np.asarray(self.state.heard)

    @property
    def broke(self) -> np.ndarray:
        """The round after which each run was no longer finite, or -1."""
        return np.asarray(self.state.broke)

    @property
    def finite(self) -> np.ndarray:
        """Which seeds stayed finite to the end; only these belong in a mean."""
        return self.broke < 0

    def __repr__(self) -> str:
        lost = len(self.seeds) - int(self.finite.sum())
        score = "no finite run" if lost == len(self.seeds) else self._score()
        note = f", {lost} of {len(self.seeds)} runs not finite" if lost else ""
        return f"<{self.name}: {score} after {self.rounds[-1]} rounds, {len(self.seeds)} seed(s){note}>"

    def _score(self) -> str:
        """Mean and spread of the accuracy, or of the loss where there are no labels, or neither without examples."""
        for name in ("accuracy", "loss"):
            kept = getattr(self, name)[self.finite, -1]
            if not np.isnan(kept).any():
                spread = f" ± {kept.std(ddof=1):.4f}" if len(kept) > 1 else ""
                return f"{name} {kept.mean():.4f}{spread}"
        return "nothing looked at"
