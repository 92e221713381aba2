"""Playing an experiment before somebody's eyes: progress, and Ctrl-C that loses nothing."""

from __future__ import annotations

import contextlib
import shlex
import signal
from collections.abc import Callable, Generator
from pathlib import Path
from typing import TYPE_CHECKING

from federage.cli import terminal
from federage.cli.progress import Legs, named

if TYPE_CHECKING:
    from federage.experiments import Recorded
    from federage.experiments.experiment import Experiment
    from federage.experiments.play import Tick


def play(experiment: Experiment, folder: Path, quiet: bool = False) -> Recorded:
    """Play what is left of an experiment, telling stderr about it; stopped by Ctrl-C, it says how to go on.

    Args:
      experiment: what to play.
      folder: where to.
      quiet: say nothing, as a process does that only helps another one.
    """
    from federage.experiments import play, store

    if not experiment.methods:
        from federage.errors import ExperimentError

        raise ExperimentError(
            f"{experiment.source or 'the experiment'}: expected at least one method, but none came; "
            "give [methods.FedAvg] with lr = 0.1, or --method FedAvg:lr=0.1"
        )
    if quiet:
        return play(experiment, folder)
    begun = (folder / store.INDEX).is_file()
    terminal.note(f"{experiment.title} ({size(experiment)})")
    last: list[Tick] = []
    with Legs(list(experiment.methods)) as progress, _asked_to_stop(folder, progress.say) as asked:

        def tell(tick: Tick) -> None:
            if begun and not last:
                terminal.note(f"going on with what {folder} has already")
            last[:] = [tick]
            if tick.progress is None and asked():  # between two casts there is nothing under way to wait for
                raise KeyboardInterrupt(f"stopped before {named(tick.labels)}; {_go_on(folder)}")
            progress(tick)

        recorded = play(experiment, folder, tell=tell, stop=asked)
    if not last:
        terminal.note(f"{folder} is finished: nothing to play")
    elif not recorded.finished:
        tick = last[0]
        at = 0 if tick.progress is None else tick.progress.round
        raise KeyboardInterrupt(
            f"stopped after round {at:,} of {tick.rounds:,} of {named(tick.labels)}; {_go_on(folder)}"
        )
    return recorded


def size(experiment: Experiment) -> str:
    """How much there is to play."""
    return ", ".join(
        f"{count:,} {thing}{'' if count == 1 else 's'}"
        for count, thing in (
            (len(experiment.methods), "method"),
            (experiment.rounds, "round"),
            (len(experiment.seeds), "seed"),
        )
    )


def _go_on(folder: Path) -> str:
    return f"go on with: federage run --resume {shlex.quote(str(folder))}"


@contextlib.contextmanager
def _asked_to_stop(folder: Path, say: Callable[[str], None]) -> Generator[Callable[[], bool]]:
    """Whether somebody has pressed Ctrl-C; the second time ends the program at once.

    Where interrupts are ignored, as in the background of a script's shell, they stay so.
    """
    asked: list[bool] = []

    def interrupted(*_: object) -> None:
        if asked:
            raise KeyboardInterrupt(f"interrupted; {_go_on(folder)}")
        asked.append(True)
        say("stopping after this leg; Ctrl-C again stops at once")

    if signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        yield lambda: False
        return
    signal.signal(signal.SIGINT, interrupted)
    try:
        yield lambda: bool(asked)
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)
