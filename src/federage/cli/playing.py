"""Playing an experiment before somebody's eyes: progress, and Ctrl-C that loses nothing."""

from __future__ import annotations

import contextlib
import shlex
import signal
from collections.abc import Generator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

if TYPE_CHECKING:
    from federage.cli.progress import Legs
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
    from federage.errors import ExperimentError
    from federage.experiments import play, store

    if not experiment.methods:
        raise ExperimentError(
            f"{experiment.source or 'the experiment'}: expected at least one method, but none came; "
            "give [methods.FedAvg] with lr = 0.1, or --method FedAvg:lr=0.1"
        )
    opening = f"{experiment.title} ({size(experiment)})"
    begun = f"\ngoing on with what {folder} has already" if (folder / store.INDEX).is_file() else ""
    again = f"federage run --resume {shlex.quote(str(folder))}"
    with watched(again, list(experiment.methods), opening + begun, quiet) as watch:
        recorded = play(experiment, folder, tell=watch.tell, stop=watch.stop)
        if watch.last is None:
            watch.say(f"{opening}\n{folder} is finished: nothing to play")
        elif not recorded.finished:
            watch.end()
    return recorded


def size(experiment: Experiment) -> str:
    """How much there is to play."""
    counts = {"method": len(experiment.methods), "round": experiment.rounds, "seed": len(experiment.seeds)}
    return ", ".join(f"{count:,} {thing}{'' if count == 1 else 's'}" for thing, count in counts.items())


class Watch:
    """What is told to whoever watches, and what is asked of him: whether to stop.

    Attributes:
      last: the latest tick; None as long as nothing is played.
    """

    def __init__(self, legs: Legs | None, again: str, opening: str) -> None:
        self.last: Tick | None = None
        self.asked = False
        self._legs, self._again, self._opening = legs, again, opening

    def say(self, message: str) -> None:
        """A line for whoever watches."""
        if self._legs is not None:
            self._legs.say(message)

    def tell(self, tick: Tick) -> None:
        """Show how far it has come."""
        from federage.core import devices

        if self.last is None and self._opening:
            self.say(self._opening)
        self.last = tick
        # Between two casts nothing is under way to wait for; but several processes must stop at the same place.
        if tick.progress is None and self.asked and devices.process()[1] == 1:
            self.end()
        if self._legs is not None:
            self._legs(tick)

    def stop(self) -> bool:
        """Whether to end after this leg."""
        return self.asked

    def end(self) -> NoReturn:
        """End the command, saying how far it has come and how to go on."""
        from federage.cli.progress import named

        if self.last is None:
            raise KeyboardInterrupt(f"stopped; go on with: {self._again}")
        at = 0 if self.last.progress is None else self.last.progress.round
        where = f"after round {at:,} of {self.last.rounds:,} of" if at else "before"
        raise KeyboardInterrupt(f"stopped {where} {named(self.last.labels)}; go on with: {self._again}")

    def interrupted(self, *_: object) -> None:
        """Ctrl-C: the first asks to stop, the second does not ask."""
        if self.asked:
            raise KeyboardInterrupt(f"interrupted; go on with: {self._again}")
        self.asked = True
        self.say("stopping after this leg; Ctrl-C again stops at once")


@contextlib.contextmanager
def watched(again: str, labels: Sequence[str] = (), opening: str = "", quiet: bool = False) -> Generator[Watch]:
    """Progress on stderr, and Ctrl-C, while something is played.

    Where interrupts are ignored, as in the background of a script's shell, they stay so.

    Args:
      again: the command that goes on.
      labels: of what is played, as far as they are known.
      opening: what to say once it is sure that something is played.
      quiet: show no progress.
    """
    from federage.cli.progress import Legs

    with contextlib.nullcontext() if quiet else Legs(labels) as legs:
        watch = Watch(legs, again, opening)
        mine = signal.getsignal(signal.SIGINT) is signal.default_int_handler
        try:
            if mine:
                signal.signal(signal.SIGINT, watch.interrupted)
            yield watch
        finally:
            if mine:
                signal.signal(signal.SIGINT, signal.default_int_handler)
