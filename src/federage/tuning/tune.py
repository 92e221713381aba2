"""`federage tune`: every method gets the same number of configurations, judged on the clients' validation examples.

The search is itself an experiment whose methods are the configurations (`rungs`), so it is played, kept, stopped
and gone on with like any other. What it comes to is written beside it (`output`).
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import numpy as np

from federage.errors import ExperimentError
from federage.experiments.experiment import Experiment
from federage.experiments.play import Tick, play
from federage.report.tables import METRICS
from federage.tuning import output
from federage.tuning.draw import configurations
from federage.tuning.output import Tuned
from federage.tuning.rungs import carry_on, experiment_of, rungs
from federage.tuning.scores import Found, Tried, found, ranked, scores, tried
from federage.tuning.search import Search, search_of


def tune(
    experiment: Experiment,
    folder: str | os.PathLike[str],
    *,
    tell: Callable[[Tick], None] = lambda tick: None,
    stop: Callable[[], bool] = lambda: False,
) -> Tuned | None:
    """Choose the numbers of an experiment's methods, as its table [tune] says.

    Every method gets the same number of configurations, the same seeds (none of the experiment's) and the same rounds.
    A configuration's score is the mean of the metric on validation examples over the last looks and the seeds; the best
    one is chosen. Test examples are looked at by nobody. The same call again goes on where the last one ended, and
    comes to the same.

    Args:
      experiment: whose methods are tuned; numbers without a space stay as they are.
      folder: where to; made if need be. Every rung of the search is a folder of runs in it.
      tell: as for `play`, in every rung.
      stop: as for `play`.

    Returns:
      What was chosen, and everything that was tried; None if it was stopped before the end.
    """
    search = search_of(experiment)
    methods, ladder = configurations(search, experiment), rungs(search, experiment)
    _measurable(experiment, search)
    folder, before, steps = Path(folder), None, []
    going = {label: list(range(len(several))) for label, several in methods.items()}
    for k, rung in enumerate(ladder):
        played = {_name(label, i): methods[label][i] for label, several in going.items() for i in several}
        if not played:
            break
        here, place = experiment_of(search, experiment, played, rung.rounds), folder / f"rung-{k + 1}"
        if before is not None:
            carry_on(before.experiment, here, before.folder, place)
        before = play(here, place, tell=tell, stop=stop)
        if not before.finished:
            return None
        worth = scores(before, search)
        steps.append(
            {
                label: [tried(i, methods[label][i], search.spaces[label], worth[_name(label, i)]) for i in several]
                for label, several in going.items()
            }
        )
        if k + 1 < len(ladder):
            best = ladder[k + 1].configurations
            going = {
                label: [one.place for one in ranked(several, search)[:best]] for label, several in steps[-1].items()
            }
    assert before is not None  # there is a method, and it has a configuration
    ends = _ends(experiment, search, steps, len(ladder))
    return output.write(folder, experiment, search, ladder, ends, steps, before.environment)


def _name(label: str, index: int) -> str:
    """What a configuration is called in its rung."""
    return f"{label} #{index}"


def _ends(experiment: Experiment, search: Search, steps: list[dict[str, list[Tried]]], last: int) -> dict[str, Found]:
    """What every method's search came to, those lost on any rung named."""
    return {
        label: found(
            experiment.methods[label],
            space,
            steps[-1][label] if len(steps) == last else [],
            [one for step in steps for one in step[label] if one.score is None],
            search,
            len(steps[0][label]),
        )
        for label, space in search.spaces.items()
    }


def _measurable(experiment: Experiment, search: Search) -> None:
    """Refuse, before anything is played, a metric that the validation examples do not have."""
    at = experiment.source or "the experiment"
    clients = experiment.problem(look_at="validation").clients
    held = np.asarray(clients.validation.lengths)
    if not held.any():
        raise ExperimentError(
            f"{at}: expected clients with validation examples to tune on, but they hold none back; set [partition] "
            "validation = 0.2, or deal some out with the data"
        )
    if clients.classes is None and METRICS[search.metric].share:
        raise ExperimentError(
            f"{at}, [tune], metric: {search.metric} is a share of right answers, but {clients.name} has no classes; "
            'set metric = "loss"'
        )
    if search.metric == "rare" and not held[np.asarray(clients.rare)].any():
        raise ExperimentError(
            f"{at}, [tune], metric: no client of a rare group has validation examples; name another metric, or make a "
            "rare group: [partition] rare = 2"
        )
