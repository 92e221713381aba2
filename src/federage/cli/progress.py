"""How far something has come, on stderr: bars on a terminal, now and then a line anywhere else."""

from __future__ import annotations

import sys
from types import TracebackType
from typing import Any, Self

import numpy as np
from rich.console import Console
from rich.progress import BarColumn, DownloadColumn, Progress, TaskID, TextColumn, TransferSpeedColumn

from federage.cli import terminal
from federage.experiments.outcome import Tick

QUARTERS = 4  # a plain log gets this many lines a method or file


class _Bars:
    """One bar a thing on a terminal; elsewhere nothing, and lines take their place."""

    def __init__(self, *columns: Any) -> None:
        self.bars = (
            Progress(*columns, console=Console(file=sys.stderr, highlight=False)) if sys.stderr.isatty() else None
        )
        self.tasks: dict[str, TaskID] = {}
        self.said: dict[str, int] = {}

    def __enter__(self) -> Self:
        if self.bars:
            self.bars.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if self.bars:
            self.bars.stop()

    def show(self, name: str, done: int, total: int | None, line: str, **fields: Any) -> None:
        """Move a bar, or write `line` when another quarter is done."""
        if self.bars:
            if name not in self.tasks:
                self.tasks[name] = self.bars.add_task(name, total=total, **fields)
            self.bars.update(self.tasks[name], completed=done, total=total, **fields)
            return
        quarter = QUARTERS * done // total if total else 0
        if quarter > self.said.get(name, 0):
            self.said[name] = quarter
            terminal.note(line)


class Legs(_Bars):
    """A method's runs, leg by leg."""

    def __init__(self, labels: list[str]) -> None:
        super().__init__(TextColumn("{task.description}"), BarColumn(bar_width=20), TextColumn("{task.fields[state]}"))
        self.width = max(map(len, labels))
        self.first = (0, 0.0)  # round and seconds after the first leg, which holds the compilation

    def __call__(self, tick: Tick) -> None:
        name = tick.label.ljust(self.width)
        if tick.progress is None:
            self.show(name, 0, tick.rounds, "", state="compiling")
            return
        legs, looks = tick.progress.looks
        done = tick.progress.round
        if legs.round.shape[1] == 1:
            self.first = (done, tick.seconds)
        last, finite = looks["last"], np.asarray(tick.progress.state.broke) < 0
        lost = int(np.sum(~finite))
        words = [f"round {done:>{len(str(tick.rounds))}}/{tick.rounds}"]
        if finite.any():
            words += [f"accuracy {_percent(last.accuracy, finite)}", f"worst client {_percent(last.worst, finite)}"]
            words += [f"beta {np.mean(np.asarray(last.dual)[finite, -1]):.3f}"] if np.size(last.dual) else []
        if lost:
            words.append(f"{lost} of {len(finite)} runs not finite")
        words += self._pace(done, tick)
        self.show(name, done, tick.rounds, f"{name}  {'  '.join(words)}", state="  ".join(words))

    def _pace(self, done: int, tick: Tick) -> list[str]:
        rounds, seconds = done - self.first[0], tick.seconds - self.first[1]
        if rounds == 0 or seconds <= 0:
            return []
        pace = rounds / seconds
        return [f"{pace:.0f} rounds/s", f"{(tick.rounds - done) / pace:.0f} s left"]


class Transfers(_Bars):
    """Files on their way."""

    def __init__(self) -> None:
        super().__init__(
            TextColumn("{task.description}"), BarColumn(bar_width=30), DownloadColumn(), TransferSpeedColumn()
        )

    def __call__(self, file: str, done: int, total: int | None) -> None:
        self.show(file, done, total, f"{file}  {done / 1e6:.1f} of {(total or done) / 1e6:.1f} MB")


def _percent(values: Any, finite: np.ndarray) -> str:
    """The mean over the runs that are finite, at the last look."""
    return f"{100 * np.mean(np.asarray(values)[finite, -1]):5.1f} %"
