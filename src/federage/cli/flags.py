"""An experiment by flags: they make the tables that a file holds, laid over those of the file, if there is one.

From there it is one road (`experiments.reading.load`), so that what a flag may say, and how it is complained about, is
what the file may say.
"""

from __future__ import annotations

import re
import tomllib
from argparse import Namespace
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from federage.errors import ExperimentError, FederageError

if TYPE_CHECKING:
    from federage.cli.help import Parser
    from federage.experiments.experiment import Experiment

Tables = dict[str, Any]

CHOICES = ("data", "partition", "law", "model")
"""Tables that say which one of several by its name."""

NUMBERS = {
    "rounds": "runs",
    "every": "runs",
    "seeds": "runs",
    "smooth": "runs",
    "local_steps": "work",
    "local_epochs": "work",
    "batch": "work",
    "precision": "work",
}
"""Keys that have a flag of their own, and the tables they are in."""

HELP = """\
What to play; laid over what FILE says (federage list shows the names and their keys):
  --data NAME[:key=value,...]       Dataset; your own with csv:path=...,label=... or npz
  --partition NAME[:key=value,...]  How it is cut into clients
  --law NAME[:key=value,...]        Who gets through
  --model NAME[:key=value,...]      What is trained [default: mlp]
  --method [LABEL=]KIND[:key=value,...]
                                    A method; may be given several times; a list
                                    of values, as in lr=[0.1,0.3], is a grid
  --local-steps K, --local-epochs E, --batch B
                                    Local work of a client in a round
                                    [default: 10 steps on batches of 32]
  --rounds T                        Rounds to play [default: 1000]
  --every T                         Rounds between two looks [default: a twentieth]
  --seeds N                         How many seeds, or which: 3,4,5 [default: 1]
  --smooth DECAY                    Of the exponential average of checkpoints
                                    [default: 0.99]
  --precision NAME                  float32, tensorfloat32 or bfloat16
                                    [default: float32]
  --title TEXT                      What the report calls it
  --set TABLE.KEY=VALUE             Anything else, as the file would have it
"""


def add(command: Parser, choices: Sequence[str] = CHOICES, numbers: Iterable[str] = NUMBERS) -> None:
    """The flags that `HELP` tells of, or some of them."""
    command.set_defaults(**dict.fromkeys((*CHOICES, *NUMBERS, "title")), method=[])
    for name in choices:
        command.add_argument(f"--{name}", metavar="NAME")
        command.known[f"--{name}"] = lambda table=name: known(table)
    for key in numbers:
        command.add_argument(f"--{key.replace('_', '-')}", metavar="VALUE")
    if numbers:
        command.add_argument("--method", action="append", default=[], metavar="KIND")
        command.add_argument("--title")
        command.known["--method"] = lambda: known("methods")
        command.known["--precision"] = lambda: ("float32", "tensorfloat32", "bfloat16")
    command.add_argument("--set", action="append", default=[], dest="settings", metavar="TABLE.KEY=VALUE")


def given(arguments: Namespace) -> bool:
    """Whether any of them came."""
    return any(getattr(arguments, name) for name in (*CHOICES, "method", *NUMBERS, "title", "settings"))


def experiment(arguments: Namespace, file: Path | None) -> Experiment:
    """What the file and the flags describe together.

    Paths are relative to where they are written: in the file, to its folder; in a flag, to the current one.
    """
    from federage.experiments import reading

    if not given(arguments) and file is not None:
        return reading.load(file)
    tables: Tables = {} if file is None else reading.parsed(file)
    lay(arguments, tables)
    source, base = ("", Path.cwd()) if file is None else (f"{file} with flags", file.resolve().parent)
    return reading.load(tables, source, base)


def lay(arguments: Namespace, tables: Tables) -> None:
    """Lay the flags over tables."""
    for name in CHOICES:
        if (words := getattr(arguments, name)) is not None:
            _lay_choice(tables, name, words)
    labels: set[str] = set()
    for words in arguments.method:
        label = _lay_method(tables, words)
        if label in labels:
            raise ExperimentError(f"--method {words}: a second {label} came; give it a label, as in again={words}")
        labels.add(label)
    for key, table in NUMBERS.items():
        if (words := getattr(arguments, key)) is not None:
            entries = pieces(words) if key in ("seeds", "local_steps") else [words]
            _below(tables, table, f"--{key}")[key] = (
                words if key == "precision" else value(words) if len(entries) == 1 else [value(e) for e in entries]
            )
    if arguments.title is not None:
        tables["title"] = arguments.title
    for words in arguments.settings:
        _set(tables, words)


def choice(words: str, flag: str, there_is: Mapping[str, Any]) -> tuple[str, Tables]:
    """NAME[:key=value,...], where a name may itself be module:function."""
    name, _, rest = words.partition(":")
    if name not in there_is and rest and "=" not in rest.partition(":")[0]:
        attribute, _, rest = rest.partition(":")
        name = f"{name}:{attribute}"
    settings: Tables = {}
    for piece in pieces(rest) if rest else []:
        key, equals, words_of_value = piece.partition("=")
        if not equals or not key.strip():
            raise ExperimentError(f"{flag} {words}: expected key=value after {name}:, but {piece!r} came")
        settings[key.strip()] = value(words_of_value)
    return name, settings


def value(words: str) -> Any:
    """A TOML value; what is none is a text, and so is each entry of a list."""
    words = words.strip()
    try:
        if len(read := tomllib.loads(f"value = {words}")) == 1:
            return read["value"]
    except (tomllib.TOMLDecodeError, RecursionError):
        pass
    if re.fullmatch(r"[+-]?(\d+\.|\.\d+)", words):  # .5 and 5., which TOML has not, but people have
        return float(words)
    if words.startswith("[") and words.endswith("]"):
        return [value(piece) for piece in pieces(words[1:-1])]
    return words


def pieces(words: str) -> list[str]:
    """What stands between commas, but for those within brackets or quotes."""
    found, depth, quote, start = [], 0, "", 0
    for k, letter in enumerate(words):
        if quote:
            quote = "" if letter == quote else quote
        elif letter in "\"'":
            quote = letter
        elif letter in "[{":
            depth += 1
        elif letter in "]}":
            depth -= 1
        elif letter == "," and depth == 0:
            found.append(words[start:k])
            start = k + 1
    return [*found, words[start:]]


def _lay_choice(tables: Tables, table: str, words: str) -> None:
    """The same name keeps what the file says besides; another one begins anew."""
    there_is = known(table)
    name, settings = choice(words, f"--{table}", there_is)
    before = tables.get(table)
    kept = before if isinstance(before, dict) and before.get("name") == name else {}
    tables[table] = kept | {"name": name} | _from_here(name, settings, there_is)


def _lay_method(tables: Tables, words: str) -> str:
    """A method of the file's label keeps its other numbers, unless it is of another kind; gives the label."""
    head, colon, rest = words.partition(":")
    label, named, kind = head.rpartition("=")
    kind, settings = choice(kind + colon + rest, "--method", known("methods"))
    if ":" in kind:
        label = label or kind.rpartition(":")[2]
    table = settings | ({"kind": kind} if named or ":" in kind else {})
    label = label or kind
    methods = _below(tables, "methods", "--method")
    before = methods.get(label)
    kept = before if isinstance(before, dict) and table.get("kind") in (None, before.get("kind")) else {}
    methods[label] = kept | table
    return label


def _set(tables: Tables, words: str) -> None:
    """TABLE.KEY=VALUE, keys as TOML writes them."""
    flag, at = f"--set {words}", -1
    while True:
        at = words.find("=", at + 1)  # an = within a quoted key is not the one
        if at < 0:
            raise ExperimentError(f'{flag}: expected TABLE.KEY=VALUE, as in work.batch=16 or methods."A b".lr=0.1')
        try:
            path = _path(tomllib.loads(f"{words[:at]} = 0"))
            break
        except tomllib.TOMLDecodeError:
            continue
    table = tables
    for key in path[:-1]:
        table = _below(table, key, flag)
    table[path[-1]] = value(words[at + 1 :])


def _path(nested: Any) -> list[str]:
    keys: list[str] = []
    while isinstance(nested, dict):
        ((key, nested),) = nested.items()
        keys.append(key)
    return keys


def _below(tables: Tables, key: str, flag: str) -> Tables:
    """A table within tables, made if need be."""
    below = tables.setdefault(key, {})
    if not isinstance(below, dict):
        raise ExperimentError(f"{flag}: {key} is no table there, but {below!r}; name a key of a table")
    return below


def _from_here(name: str, settings: Tables, there_is: Mapping[str, Callable[..., Any]]) -> Tables:
    """The settings with their paths made whole; a misfit stays, and is complained about where all are."""
    from federage.experiments.choice import maker
    from federage.experiments.values import Misfit, fit, parameters

    try:
        takes = parameters(maker(name, there_is))
    except FederageError:
        return settings
    whole = dict(settings)
    for key in settings.keys() & takes.keys():
        if "PathLike" in str(takes[key].annotation):
            try:
                whole[key] = fit(takes[key].annotation, settings[key], Path.cwd())
            except Misfit:
                continue
    return whole


def known(table: str) -> Mapping[str, Callable[..., Any]]:
    """What there is, by name."""
    from federage.algorithms import ALGORITHMS
    from federage.experiments.experiment import PARTITIONS
    from federage.experiments.sources import SOURCES
    from federage.models import MODELS
    from federage.participation import LAWS

    return {
        "data": SOURCES,
        "partition": PARTITIONS,
        "law": LAWS,
        "model": MODELS,
        "methods": ALGORITHMS,
    }[table]
