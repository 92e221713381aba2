"""Laws that take turns: day and night, continents, shifts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from federage.core.record import fill, static
from federage.core.types import Cohort, Marginals, PyTree
from federage.errors import RecordError
from federage.participation import checks
from federage.participation.law import Law, record
from federage.participation.weighted import Weighted


@record
class Cyclic:
    """Phases take turns for ever: laws[0] for rounds_each[0] rounds, laws[1] for rounds_each[1], and so on.

    A phase counts its own rounds and keeps its own state while the others have their turn. Marginals are averages
    over the phases, weighted by their lengths.

    Args:
        laws: One a phase, all of the same N.
        rounds_each: How long a turn lasts, one number for all phases or one each.
    """

    clients: int = static()
    capacity: int = static()
    typical: int = static()
    rounds_each: tuple[int, ...] = static()
    laws: tuple[Any, ...]

    def __init__(self, laws: Sequence[Law], rounds_each: int | Sequence[int] = 1):
        phases = tuple(laws)
        if not phases:
            raise RecordError("laws takes at least one law, but none came; pass one a phase")
        for number, law in enumerate(phases):
            if not isinstance(law, Law):  # pyright: ignore[reportUnnecessaryIsInstance] - people pass anything
                raise RecordError(f"laws takes participation laws, but laws[{number}]={law!r} came; build one first")
            if law.clients != phases[0].clients:
                raise RecordError(
                    f"laws takes laws of one N, but laws[0] has {phases[0].clients} clients and laws[{number}] has "
                    f"{law.clients}; give the clients of other phases a prior of 0"
                )
        turns = [rounds_each] * len(phases) if np.ndim(rounds_each) == 0 else list(rounds_each)  # pyright: ignore
        if len(turns) != len(phases):
            raise RecordError(
                f"rounds_each takes one number for each of {len(phases)} laws, but {len(turns)} came; match them"
            )
        turns = tuple(checks.whole("rounds_each", turn) for turn in turns)
        fill(
            self,
            clients=phases[0].clients,
            capacity=max(law.capacity for law in phases),
            typical=max(
                1, round(sum(law.typical * turn for law, turn in zip(phases, turns, strict=True)) / sum(turns))
            ),
            rounds_each=turns,
            laws=phases,
        )

    @classmethod
    def of_groups(
        cls,
        groups: Sequence[Sequence[int]],
        arrivals: int,
        rounds_each: int | Sequence[int] = 1,
        clients: int | None = None,
    ) -> Cyclic:
        """In each phase `arrivals` clients uniformly from one group; `clients` defaults to the largest id plus one."""
        known = clients if clients is None else checks.whole("clients", clients)
        members = [checks.ids(f"groups[{number}]", group, known) for number, group in enumerate(groups)]
        if known is None:
            known = 1 + max((int(group[-1]) for group in members), default=0)
        return cls([Weighted(np.isin(np.arange(known), group), arrivals) for group in members], rounds_each)

    def init(self, key: Array) -> PyTree:
        return tuple(law.init(jax.random.fold_in(key, phase)) for phase, law in enumerate(self.laws))

    def draw(self, state: PyTree, key: Array, round: Array | int) -> tuple[PyTree, Cohort]:
        ends = np.cumsum(self.rounds_each)
        cycle, within = jnp.divmod(jnp.asarray(round, jnp.int32), int(ends[-1]))
        phase = jnp.searchsorted(jnp.asarray(ends, jnp.int32), within, side="right")

        def turn(number: int):
            def play(state: PyTree) -> tuple[PyTree, Cohort]:
                law, length = self.laws[number], self.rounds_each[number]
                own_round = cycle * length + within - (int(ends[number]) - length)
                own_state, cohort = law.draw(state[number], key, own_round)
                ids = jnp.pad(cohort.ids, (0, self.capacity - law.capacity), constant_values=self.clients)
                return (*state[:number], own_state, *state[number + 1 :]), Cohort(ids, cohort.count)

            return play

        return jax.lax.switch(phase, [turn(number) for number in range(len(self.laws))], state)

    def inclusion(self) -> Marginals:
        return self._average([law.inclusion() for law in self.laws])

    def weights(self) -> Marginals:
        return self._average([law.weights() for law in self.laws])

    def _average(self, parts: Sequence[Marginals]) -> Marginals:
        share = np.array(self.rounds_each) / sum(self.rounds_each)
        values = sum((part.values * s for part, s in zip(parts, share, strict=True)), start=np.zeros(self.clients))
        variance = [(s * part.error) ** 2 for part, s in zip(parts, share, strict=True) if part.error is not None]
        how = "average over the phases: " + "; ".join(dict.fromkeys(part.how for part in parts))
        return Marginals(values, how, np.sqrt(np.sum(variance, axis=0)) if variance else None)
