"""From the words on a command line to an exit status: 0, 1 (it failed), 2 (bad input), 130 (interrupted)."""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Sequence
from importlib import metadata

from federage.cli import cite, completion, data, demo, law, lists, paper, report, results, run, tune
from federage.cli.help import Parser
from federage.errors import ExperimentError, FederageError, RecordError

TRACEBACK = "FEDERAGE_TRACEBACK"

HELP = """\
Train one model over many clients when you do not know who will answer.

Usage: federage <command> [options]

Start here:
  demo         Play six methods on embedded data and write a report

Experiments:
  run          Play an experiment, from a file, from flags or both
  tune         Search each method's settings on validation data, with equal budgets
  paper        Make a figure or table of the FedeRage paper

Look at results:
  table        Show what experiments came to
  compare      Show how methods differ, seed by seed, and how sure that is
  report       Write a page that works offline, or figures and tables for a paper

Data:
  data get     Download a dataset
  data check   Say whether datasets are on this machine, whole and unaltered

Look up:
  list         Algorithms with what they read, laws, datasets, partitions, models
  law          Show who gets through: pi and p of each client, and how computed
  cite         Print BibTeX of what an experiment uses
  completion   Make a shell complete commands, options and names

Options:
  -h, --help   Show this, or with a command its options
  --version    Show the version

Examples:
  federage demo
  federage run experiment.toml
  federage report runs/experiment
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
    for command in (demo, run, tune, paper, results, report, data, lists, law, cite, completion):
        command.add(commands)
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
