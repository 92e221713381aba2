"""How far something has come, on stderr: bars on a terminal, now and then a line anywhere else."""

from __future__ import annotations

import contextlib
import itertools
import os
import sys
import time
from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from rich.console import Console
from rich.progress import BarColumn, DownloadColumn, Progress, TaskID, TextColumn, TransferSpeedColumn

from federage.cli import terminal

if TYPE_CHECKING:
    from federage.experiments.play import Tick

QUARTERS = 4  # a plain log gets this many lines a cast or file
SILENCE_S = 30.0  # and one after so long a silence
BAR, ROOM_FOR_BARS = 10, 110  # characters of a bar, and of a terminal that has any


class _Bars:
    """One bar a thing on a terminal; elsewhere nothing, and lines take their place."""

    def __init__(self, *columns: Any) -> None:
        self.bars = (
            Progress(*columns, console=Console(file=sys.stderr, highlight=False)) if sys.stderr.isatty() else None
        )
        self.tasks: dict[str, TaskID] = {}
        self.said: dict[str, int] = {}
        self.spoke = time.monotonic()

    def __enter__(self) -> Self:
        if self.bars:
            self.bars.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if self.bars:
            self.bars.stop()

    def say(self, message: str) -> None:
        """A line at once, from within a signal's handler too: past Python's buffers, which may be in use."""
        if self.bars:
            self.bars.console.print(message, markup=False)
        else:
            with contextlib.suppress(OSError):
                os.write(2, f"{message}\n".encode())

    def show(self, name: str, done: int, total: int | None, line: str, **fields: Any) -> None:
        """Move a bar, or write `line` when another quarter is done or nothing was said for long."""
        if self.bars:
            if name not in self.tasks:
                self.tasks[name] = self.bars.add_task(name, total=total, **fields)
            self.bars.update(self.tasks[name], completed=done, total=total, **fields)
            return
        quarter = QUARTERS * done // total if total else 0
        if line and (quarter > self.said.get(name, 0) or time.monotonic() > self.spoke + SILENCE_S):
            self.said[name] = quarter
            self.spoke = time.monotonic()
            terminal.note(line)


class Legs(_Bars):
    """An experiment, cast by cast and leg by leg."""

    def __init__(self, labels: Sequence[str]) -> None:
        name, state = (TextColumn(f"{{task.{what}}}", markup=False) for what in ("description", "fields[state]"))
        self.room = Console(file=sys.stderr).width
        bar = [BarColumn(bar_width=BAR)] if self.room >= ROOM_FOR_BARS else []
        super().__init__(name, *bar, state)
        self.width = max(map(len, labels), default=0)
        self.first: tuple[int, float] | None = (
            None  # round and seconds after the first leg, which holds the compilation
        )

    def __call__(self, tick: Tick) -> None:
        name = named(tick.labels).ljust(self.width)
        if tick.casts > 1:
            name = f"{tick.number + 1:>{len(str(tick.casts))}}/{tick.casts}  {name}"
        if tick.progress is None:
            self.first = None
            self.said.pop(name, None)  # methods of these names may have been played in an experiment before this one
            self.show(name, 0, tick.rounds, "", state="compiling")
            return
        done = tick.progress.round
        words = {"round": f"round {done:>{len(f'{tick.rounds:,}')},}/{tick.rounds:,}", **_seen(tick)}
        words |= self._pace(done, tick)
        self.show(name, done, tick.rounds, f"{name}  {'  '.join(words.values())}", state=self._short(words, name))

    def _short(self, words: Mapping[str, str], name: str) -> str:
        """The words beside a bar, without those that a narrow terminal has no room for."""
        room = self.room - len(name) - 1 - (BAR + 1 if self.room >= ROOM_FOR_BARS else 0)
        kept = {key: " ".join(word.removeprefix("round ").split()) for key, word in words.items()}
        for least in ("pace", "beta", "worst"):
            if len("  ".join(kept.values())) > room:
                kept.pop(least, None)
        return "  ".join(kept.values())

    def _pace(self, done: int, tick: Tick) -> dict[str, str]:
        if self.first is None:
            self.first = (done, tick.seconds)
        rounds, seconds = done - self.first[0], tick.seconds - self.first[1]
        if rounds == 0 or seconds <= 0:
            return {}
        pace = rounds / seconds
        left = {"left": f"{duration((tick.rounds - done) / pace)} left"} if done < tick.rounds else {}
        return {"pace": f"{pace:.3g} rounds/s" if pace < 100 else f"{pace:,.0f} rounds/s", **left}


class Transfers(_Bars):
    """Files on their way."""

    def __init__(self) -> None:
        super().__init__(
            TextColumn("{task.description}"), BarColumn(bar_width=30), DownloadColumn(), TransferSpeedColumn()
        )

    def __call__(self, file: str, done: int, total: int | None) -> None:
        self.show(file, done, total, f"{file}  {done / 1e6:.1f} of {(total or done) / 1e6:.1f} MB")


def named(labels: Sequence[str]) -> str:
    """Methods that are played together: the words all their labels begin with, and how many they are."""
    if len(labels) == 1:
        return labels[0]
    places = zip(*(label.split() for label in labels), strict=False)
    shared = [words[0] for words in itertools.takewhile(lambda words: len(set(words)) == 1, places)]
    return f"{' '.join(shared) or labels[0]} ×{len(labels)}"


def duration(seconds: float) -> str:
    """In the two greatest units, roughly."""
    if seconds < 100:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 100 else f"{minutes // 60} h {minutes % 60:02} min"


def _seen(tick: Tick) -> dict[str, str]:
    """What the latest look saw of the method that does best, over its seeds; runs that are not finite stay out."""
    assert tick.progress is not None
    last = tick.progress.looks[1]["last"]
    by_method = (len(tick.labels), len(tick.seeds))
    finite = (np.asarray(tick.progress.state.broke) < 0).reshape(by_method)

    def latest(values: Any) -> np.ndarray:
        """The mean over each method's finite runs; NaN where it has none."""
        now = np.asarray(values, np.float64)[:, -1].reshape(by_method)
        return np.where(finite, now, 0.0).sum(axis=1) / np.where(finite.any(axis=1), finite.sum(axis=1), np.nan)

    words: dict[str, str] = {}
    accuracy, loss = latest(last.accuracy), latest(last.loss)
    if not np.isnan(accuracy).all():
        best = int(np.nanargmax(accuracy))
        words["accuracy"] = f"accuracy {_percent(accuracy[best])}"
        words["worst"] = f"worst client {_percent(latest(last.worst)[best])}"
    elif not np.isnan(loss).all():
        best = int(np.nanargmin(loss))
        words["loss"] = f"loss {loss[best]:.4g}"
    else:
        best = 0
    if words and np.ndim(last.dual) == 2:
        words["beta"] = f"beta {latest(last.dual)[best]:.3f}"
    if lost := int(np.sum(~finite)):
        words["lost"] = f"{lost} of {finite.size} runs not finite"
    return words


def _percent(share: float) -> str:
    return f"{100 * share:5.1f} %"
