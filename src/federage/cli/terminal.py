"""The two streams: data on stdout, messages on stderr; colour only on a terminal, and never with NO_COLOR."""

from __future__ import annotations

import os
import sys
from argparse import ArgumentTypeError
from collections.abc import Sequence
from typing import TextIO


def colourful(stream: TextIO) -> bool:
    """Whether a stream is a terminal that wants colour."""
    return stream.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def note(message: str) -> None:
    """A line for people, on stderr."""
    print(message, file=sys.stderr, flush=True)


def keep_stdout() -> None:
    """Keep stdout for data: what libraries print past Python, as those do that connect processes, goes to stderr."""
    sys.stdout.flush()
    try:
        ours = os.dup(1)
        os.dup2(2, 1)
    except OSError:  # a stream that was closed beforehand
        return
    sys.stdout = os.fdopen(ours, "w", encoding=sys.stdout.encoding, errors=sys.stdout.errors)


def table(title: str, columns: Sequence[str], rows: Sequence[Sequence[str]], numbers: bool = False) -> None:
    """A table on stdout, framed lightly on a terminal and plain elsewhere; `numbers`: columns flushed right.

    A row of one cell is a heading within the table.
    """
    if sys.stdout.isatty():
        _framed(title, columns, rows, numbers)
    else:
        print("\n".join(_plain(title, columns, rows, numbers)))


def _framed(title: str, columns: Sequence[str], rows: Sequence[Sequence[str]], numbers: bool) -> None:
    from rich import box  # here, and not above: it takes longer to import than `federage --help` has
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    shown = Table(box=box.SIMPLE_HEAD, pad_edge=False, title=title or None, title_justify="left", title_style="bold")
    for k, name in enumerate(columns):
        shown.add_column(name, justify="right" if numbers and k else "left", no_wrap=numbers or k == 0, overflow="fold")
    for row in rows:
        shown.add_row(*map(Text, row), style="dim" if len(row) == 1 < len(columns) else None)
    colours = "auto" if colourful(sys.stdout) else None
    Console(file=sys.stdout, highlight=False, color_system=colours).print(shown)


def _plain(title: str, columns: Sequence[str], rows: Sequence[Sequence[str]], numbers: bool) -> list[str]:
    full = [row for row in [columns, *rows] if len(row) == len(columns)]
    widths = [max(len(row[k]) for row in full) for k in range(len(columns))]

    def line(row: Sequence[str]) -> str:
        cells = zip(row, widths, strict=False)
        return "  ".join(
            cell.rjust(width) if numbers and k else cell.ljust(width) for k, (cell, width) in enumerate(cells)
        ).rstrip()

    return [*([title] if title else []), line(columns), *map(line, rows)]


def count(words: str) -> int:
    """An option's value that counts something."""
    return _whole(words, 1)


def natural(words: str) -> int:
    """An option's value that numbers something, from 0."""
    return _whole(words, 0)


def _whole(words: str, least: int) -> int:
    if not (words.isascii() and words.isdecimal()) or int(words) < least:
        raise ArgumentTypeError(f"expected a whole number of at least {least}, but {words!r} came")
    return int(words)
