"""argparse with help written by hand, errors of one line, and the nearest known word where one was mistyped.

Not tyro: it makes flags of records, but frames its help and its errors in boxes and has no groups of commands. Records
are dataclasses, from whose fields argparse's options can be made as well.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NoReturn

from federage.cli import terminal
from federage.errors import unknown


class Parser(argparse.ArgumentParser):
    """A command's parser; `text` is its whole help, `known` the words that a shell may offer, by option or place."""

    def __init__(self, *words: Any, text: str = "", **options: Any) -> None:
        super().__init__(*words, allow_abbrev=False, **options)
        self.text = text
        self.known: dict[str, Callable[[], Iterable[str]]] = {}

    def commands(self) -> Any:
        """Where the commands below this one are added; without one, it shows its help and fails."""

        def show(arguments: argparse.Namespace) -> int:
            self.print_help(sys.stderr)
            return 2

        self.set_defaults(run=show)
        return self.add_subparsers(metavar="command")

    def format_help(self) -> str:
        return self.text

    def print_help(self, file: Any = None) -> None:
        file = file or sys.stdout
        bold = terminal.colourful(file)
        file.write(re.sub(r"^(\S[^:\n]*:)", "\033[1m\\1\033[0m", self.text, flags=re.MULTILINE) if bold else self.text)

    def error(self, message: str) -> NoReturn:
        self.exit(2, f"error: {message}; see {self.prog} --help\n")

    def parse_known_args(self, args: Sequence[str] | None = None, namespace: Any = None) -> tuple[Any, list[str]]:  # pyright: ignore[reportIncompatibleMethodOverride]
        """Nothing unknown is let through: the command that does not know a word says so, not the one above it."""
        parsed, rest = super().parse_known_args(args, namespace)
        if rest and rest[0].startswith("-"):
            options = [option for option in self._option_string_actions if option.startswith("--")]
            self.error(unknown("option", rest[0], options))
        if rest:
            self.error(f"no word expected here, but {rest[0]!r} came")
        return parsed, []

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        if action.choices is not None and value not in action.choices:
            kind = action.metavar if isinstance(action.metavar, str) else action.dest
            raise argparse.ArgumentError(None, unknown(kind, value, action.choices))
