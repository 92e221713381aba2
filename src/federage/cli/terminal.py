"""The two streams: data on stdout, messages on stderr; colour only on a terminal, and never with NO_COLOR."""

from __future__ import annotations

import os
import shutil
import sys
from argparse import ArgumentTypeError
from collections.abc import Sequence
from typing import TextIO


def colourful(stream: TextIO) -> bool:
    """Whether a stream is a terminal that wants colour."""
    return stream.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def note(message: str) -> None:
    """A line for people, on stderr. If nobody reads there any more, work goes on without a word."""
    try:
        print(message, file=sys.stderr, flush=True)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stderr.fileno())


def keep_stdout() -> None:
    """Keep stdout for data: what libraries print past Python, as those do that connect processes, goes to stderr."""
    sys.stdout.flush()
    try:
        ours = os.dup(1)
        os.dup2(2, 1)
    except OSError:  # a stream that was closed beforehand
        return
    sys.stdout = os.fdopen(ours, "w", encoding=sys.stdout.encoding, errors=sys.stdout.errors)


def shows(text: str) -> bool:
    """Whether stdout has these letters."""
    try:
        text.encode(sys.stdout.encoding or "utf-8")
    except UnicodeEncodeError:
        return False
    return True


def table(title: str, columns: Sequence[str], rows: Sequence[Sequence[str]], numbers: bool = False) -> None:
    """A table on stdout, for eyes on a terminal and plain elsewhere.

    Args:
      title: a line above it, if any.
      columns: their names.
      rows: cells; a row of one cell is a heading within the table.
      numbers: whether columns but the first are flushed right. Where a terminal is too narrow for them they go on
        further below, since a number cut short is another number; words are folded.
    """
    if not sys.stdout.isatty():
        print("\n".join([*([title] if title else []), *_lines(columns, rows, numbers)]))
    elif numbers:
        _of_numbers(title, columns, rows)
    else:
        _of_words(title, columns, rows)


def _of_words(title: str, columns: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    from rich import box  # here, and not above: it takes longer to import than `federage --help` has
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    shown = Table(box=box.SIMPLE_HEAD, pad_edge=False, title=title or None, title_justify="left", title_style="bold")
    for k, name in enumerate(columns):
        shown.add_column(name, no_wrap=k == 0, overflow="fold")
    for row in rows:
        shown.add_row(*map(Text, row))
    colours = "auto" if colourful(sys.stdout) else None
    Console(file=sys.stdout, highlight=False, color_system=colours).print(shown)


def _of_numbers(title: str, columns: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    bold, dim, plain = ("\033[1m", "\033[2m", "\033[0m") if colourful(sys.stdout) else ("", "", "")
    if title:
        print(f"{bold}{title}{plain}")
    room = shutil.get_terminal_size().columns
    for block in _blocks(columns, rows, room):
        part = [row if len(row) == 1 else [row[k] for k in block] for row in rows]
        head, *lines = _lines([columns[k] for k in block], part, True)
        rule = ("─" if shows("─") else "-") * min(room, max(map(len, [head, *lines])))
        print(f"{bold}{head}{plain}\n{dim}{rule}{plain}")
        for row, line in zip(part, lines, strict=True):
            print(f"{dim}{line}{plain}" if len(row) == 1 < len(columns) else line)
        print()


def _blocks(columns: Sequence[str], rows: Sequence[Sequence[str]], room: int) -> list[list[int]]:
    """The columns that stand side by side, the first of all in front of each block."""
    widths = _widths(columns, rows)
    blocks = [[0]]
    for k in range(1, len(columns)):
        if len(blocks[-1]) > 1 and sum(widths[j] + 2 for j in blocks[-1]) + widths[k] > room:
            blocks.append([0])
        blocks[-1].append(k)
    return blocks


def _widths(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> list[int]:
    """Of columns; headings within the table may be longer."""
    full = [row for row in [columns, *rows] if len(row) == len(columns)]
    return [max(len(row[k]) for row in full) for k in range(len(columns))]


def _lines(columns: Sequence[str], rows: Sequence[Sequence[str]], numbers: bool) -> list[str]:
    widths = _widths(columns, rows)

    def line(row: Sequence[str]) -> str:
        cells = enumerate(zip(row, widths, strict=False))
        return "  ".join(cell.rjust(w) if numbers and k else cell.ljust(w) for k, (cell, w) in cells).rstrip()

    return [line(columns), *map(line, rows)]


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
