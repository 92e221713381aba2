"""The rungs of a search: an experiment each, whose methods are the configurations, played on validation examples.

A random search and a grid have one rung. Successive halving has several: all configurations play R / eta^K rounds, the
best one in eta of every method go on to R / eta^(K-1), and so on until what is left plays all R rounds. What goes on,
goes on from where it stands: its runs are cut out of the program they were played in.

References:
  Jamieson & Talwalkar, Non-stochastic best arm identification and hyperparameter optimization, arXiv:1502.07943.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

import jax
import numpy as np

from federage.core.algorithm import Method
from federage.core.problem import Problem
from federage.core.run import Progress
from federage.errors import CheckpointMismatch, ExperimentError
from federage.experiments import casts, checkpoint, disk
from federage.experiments.casts import Cast
from federage.experiments.experiment import Experiment
from federage.experiments.play import cut_of
from federage.experiments.resumable import Cut, legs
from federage.tuning.search import Search


class Rung(NamedTuple):
    """So many rounds, played by so many configurations of each method."""

    rounds: int
    configurations: int


def rungs(search: Search, experiment: Experiment) -> list[Rung]:
    """The rungs of a search; all but the last end with a whole leg, so that runs can go on."""
    if search.strategy != "halving":
        return [Rung(search.rounds, search.budget)]
    every, drops = min(experiment.every, search.rounds), 0
    while search.eta ** (drops + 1) <= min(search.budget, search.rounds / every):
        drops += 1
    if not drops:
        raise ExperimentError(
            f"{experiment.source or 'the experiment'}, [tune]: expected for halving a budget of at least eta = "
            f"{search.eta} and as many looks in a run, but budget = {search.budget}, and {search.rounds} rounds with "
            f'every = {every} came; raise them, lower [runs] every, or set strategy = "random"'
        )
    shares = [search.eta ** (drops - k) for k in range(drops)]
    whole = [max(1, round(search.rounds / share / every)) * every for share in shares]
    return [Rung(rounds, search.budget // search.eta**k) for k, rounds in enumerate([*whole, search.rounds])]


def experiment_of(search: Search, experiment: Experiment, methods: Mapping[str, Method], rounds: int) -> Experiment:
    """A rung as an experiment: nobody looks at test examples in it."""
    return dataclasses.replace(
        experiment,
        title=f"Tuning: {experiment.title}",
        methods=methods,
        rounds=rounds,
        every=min(experiment.every, search.rounds),
        seeds=search.seeds,
        look_at="validation",
        tune=search.table(),
        notes=("A search among configurations, looked at on the clients' validation examples.",),
    )


def carry_on(before: Experiment, after: Experiment, source: Path, target: Path) -> None:
    """Begin a rung with what its configurations have played in the one before.

    What cannot be cut out (of a cast that was played for another search, say) is played from the beginning.
    """
    problem, runs = after.problem(), {}
    with disk.held(source) as place:
        for cast in casts.assign(place, before.methods, problem, cut_of(before)):
            if any(label in after.methods for label in cast.labels):
                runs |= _runs(cast, problem, cut_of(before))
    with disk.held(target) as place:
        for cast in casts.assign(place, after.methods, problem, cut_of(after)):
            if not (cast.folder / checkpoint.FILE).exists() and set(cast.labels) <= set(runs):
                looks, state = jax.tree.map(lambda *rows: np.concatenate(rows), *(runs[label] for label in cast.labels))
                checkpoint.save(cast.folder, Progress(before.rounds, looks, state), cast.identity)


def _runs(cast: Cast, problem: Problem, cut: Cut) -> dict[str, object]:
    """What each configuration of a cast that is over has come to: its looks and its state, seeds first."""
    try:
        end = next(legs(problem, list(cast.methods.values()), cut, cast.folder, cast.identity)).progress
    except CheckpointMismatch:  # a part of a larger cast
        return {}
    count = len(cut.seeds)
    return {
        label: jax.tree.map(lambda leaf, k=k: leaf[k * count : (k + 1) * count], (end.looks, end.state))
        for k, label in enumerate(cast.labels)
    }
