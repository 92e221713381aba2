"""The paper's motivating example (Fig. 1): five clients in the plane, two of which hardly ever get through.

`motivation.toml` holds the experiment. It is played by the engine directly, and not kept in a folder: the figure needs
the models themselves, to colour the plane by what they predict.
"""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable, Mapping

import jax
import jax.numpy as jnp
import numpy as np

from federage.analysis import statistics
from federage.core.result import Result
from federage.core.run import Progress, result_of, stream
from federage.core.types import Clients
from federage.experiments.experiment import Experiment
from federage.experiments.play import Tick
from federage.paper.drawing import Table, apart, percent
from federage.report.tables import FINAL

REACH, CELLS = 6.5, 105
"""The plane is shown from -REACH to REACH, cut into CELLS x CELLS."""

CHECKPOINTS = {"last": "last checkpoint", "smooth": "exponential average of checkpoints"}


@dataclasses.dataclass(frozen=True, eq=False)
class Motivation:
    """What the example has come to.

    Attributes:
      experiment: what was played.
      clients: their data.
      weights: p, what plain averaging gives each client.
      results: by method's label.
      regions: by method's label, the class its model predicts in each cell of the plane, from the lower left, rows
        first: the last checkpoint of the first seed.
    """

    experiment: Experiment
    clients: Clients
    weights: np.ndarray
    results: Mapping[str, Result]
    regions: Mapping[str, np.ndarray]

    @property
    def groups(self) -> dict[str, np.ndarray]:
        """Which clients are common, and which rare."""
        rare = np.asarray(self.clients.rare)
        return {_named(group, self.weights): group for group in (np.flatnonzero(~rare), np.flatnonzero(rare))}

    def accuracy(self, label: str, checkpoint: str, clients: np.ndarray | None = None) -> np.ndarray:
        """[seeds, looks]: the mean of these clients' accuracies, of all of them unless given; they have equal tests."""
        by_client = np.asarray(self.results[label].looks[checkpoint].by_client, np.float64)
        return (by_client if clients is None else by_client[..., clients]).mean(axis=-1)


def play(example: Experiment, tell: Callable[[Tick], None] = lambda tick: None) -> Motivation:
    """Train every method on every seed; methods of one kind share a compiled program."""
    problem, results = example.problem(), {}
    for number, (label, method) in enumerate(example.methods.items()):
        started, progress = time.perf_counter(), None

        def told(at: Progress | None, label: str = label, number: int = number, started: float = started) -> None:
            seconds = time.perf_counter() - started
            tell(Tick((label,), example.seeds, number, len(example.methods), example.rounds, seconds, at))

        told(None)
        for progress in stream(
            problem,
            method,
            rounds=example.rounds,
            seeds=example.seeds,
            every=example.every,
            watch=("smooth",),
            smooth=example.smooth,
        ):
            told(progress)
        assert progress is not None  # an experiment has at least one round
        results[label] = result_of(problem, method, example.seeds, progress)
    plane = jnp.asarray(centres())

    def predicted(result: Result) -> np.ndarray:
        theta = jax.tree.map(lambda leaf: leaf[0], result.last.theta)
        return np.asarray(jnp.argmax(problem.model.apply(theta, plane), axis=-1)).reshape(CELLS, CELLS)

    return Motivation(
        experiment=example,
        clients=problem.clients,
        weights=np.asarray(problem.law.weights().values),
        results=results,
        regions={label: predicted(result) for label, result in results.items()},
    )


def centres() -> np.ndarray:
    """The centres of the plane's cells, [CELLS * CELLS, 2]."""
    side = ((np.arange(CELLS) + 0.5) / CELLS * 2 - 1) * REACH
    x, y = np.meshgrid(side, side)
    return np.stack([x.ravel(), y.ravel()], axis=1).astype(np.float32)


def table(played: Motivation) -> Table:
    """Accuracy in % at the end: of everybody, of each group, and of the worst client."""
    groups = played.groups
    rows = []
    for checkpoint, name in CHECKPOINTS.items():
        rows.append([name])
        for label, result in played.results.items():
            columns = [
                played.accuracy(label, checkpoint),
                *(played.accuracy(label, checkpoint, g) for g in groups.values()),
            ]
            columns.append(np.asarray(result.looks[checkpoint].worst, np.float64))
            rows.append([f"  {label}", *(_score(values[:, -FINAL:]) for values in columns)])
    return Table(["accuracy in %", "all clients", *groups, "worst client"], rows)


def notes(played: Motivation) -> tuple[str, ...]:
    """What a reader of the figure and the table must know."""
    example = played.experiment
    looks = min(FINAL, len(next(iter(played.results.values())).rounds))
    spread = f"{len(example.seeds)} seeds" if len(example.seeds) > 1 else "one seed"
    return (
        f"Mean ± standard deviation over {spread} of the mean over the final {looks} looks (one every {example.every} "
        f"rounds of {example.rounds:,}), on test examples.",
        *_differences(played),
        *example.notes,
    )


def _differences(played: Motivation) -> list[str]:
    """The last method against each other one, seed by seed."""
    *others, last = played.results
    said = []
    for checkpoint, name in CHECKPOINTS.items():
        mine, *theirs = (
            statistics.by_seed(played.accuracy(label, checkpoint)[:, -FINAL:]) for label in (last, *others)
        )
        for other, values in zip(others, theirs, strict=True):
            said.append(apart(f"{last} minus {other}, {name}", statistics.paired(mine, values)))
    return [words for words in said if words]


def _score(values: np.ndarray) -> str:
    summary = statistics.summarise(values)
    return percent(100 * summary.mean, 100 * summary.std_over_seeds)


def _named(group: np.ndarray, weights: np.ndarray) -> str:
    """As the paper counts them, from 1."""
    first, last = group[0] + 1, group[-1] + 1
    return f"clients {first}–{last} (p = {weights[group].mean():.2g} each)"
