"""From the words on a command line to an exit status: 0, 1 (it failed), 2 (bad input), 130 (interrupted)."""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Sequence
from importlib import metadata

from federage.cli import data, demo, lists, run
from federage.cli.help import Parser
from federage.errors import ExperimentError, FederageError, RecordError

TRACEBACK = "FEDERAGE_TRACEBACK"

HELP = """\
Train one model over many clients when you do not know who will answer.

Usage: federage <command> [options]

Start here:
  demo         Play six methods on embedded data and write a report

Data:
  data get     Download a dataset
  data check   Say whether datasets are on this machine, whole and unaltered

Look up:
  list         Algorithms with what they read, participation laws, datasets, models

Options:
  -h, --help   Show this, or with a command its options
  --version    Show the version

Examples:
  federage demo
  federage data get mnist --to data
  federage list algorithms
"""


def main(words: Sequence[str] | None = None) -> int:
    """Run one command. Never a traceback, unless FEDERAGE_TRACEBACK is set."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")  # a terminal without Greek letters shows a ? for them
    if isinstance(sys.stderr, io.TextIOWrapper):
        sys.stderr.reconfigure(errors="replace")
    try:
        arguments = parser().parse_args(words)
        status = arguments.run(arguments)
        sys.stdout.flush()  # here, where a reader who has gone is noticed, and not when the program ends
        return status
    except KeyboardInterrupt as stop:
        return _say(str(stop) or "interrupted", 130)
    except BrokenPipeError:  # whoever read stdout has stopped reading, as `federage list | head` does
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else 1
    except (ExperimentError, RecordError) as error:
        return _fail(error, f"error: {_line(error)}", 2)
    except FederageError as error:
        return _fail(error, f"error: {_line(error)}", 1)
    except OSError as error:
        return _fail(error, f"error: {_line(error)}", 1)
    except Exception as error:
        return _fail(error, f"error: unexpected {type(error).__name__}: {_line(error)}; {TRACEBACK}=1 shows where", 1)


def parser() -> Parser:
    """Every command with its options."""
    top = Parser(prog="federage", text=HELP)
    top.add_argument("--version", action="version", version=f"federage {metadata.version('federage')}")
    commands = top.commands()
    demo.add(commands)
    run.add(commands)
    data.add(commands)
    lists.add(commands)
    return top


def _line(error: Exception) -> str:
    return " ".join(str(error).split())


def _fail(error: Exception, message: str, status: int) -> int:
    if os.environ.get(TRACEBACK):
        raise error
    return _say(message, status)


def _say(message: str, status: int) -> int:
    print(message, file=sys.stderr)
    return status
