"""`federage law`: who gets through, as probabilities."""

from __future__ import annotations

import itertools
import json
from argparse import Namespace
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from federage.cli import flags, terminal
from federage.errors import ExperimentError

if TYPE_CHECKING:
    from federage.experiments.choice import Choice
    from federage.participation import Law

EACH = 60  # clients that get a row each
GROUPS = 20  # rows of more clients that all differ
BAR = 30  # characters of the longest bar
PICTURES = (".svg", ".png", ".pdf")

HELP = """\
Show who gets through: pi and p of each client, and how they were computed.

pi is the probability that a client is in a round, p its weight in the average of what
arrives, the sum over cohorts S that it is in of R(S) / |S|. Bars show p.

Usage: federage law [FILE|DIR] [options]

Arguments:
  FILE|DIR                          An experiment's TOML file, or a folder that
                                    federage run played into

Options:
  --law NAME[:key=value,...]        A law, in the place of the file's
  --clients N                       How many clients, where the law does not say
  --data NAME[:key=value,...]       Dataset, where it says how many clients there are
  --partition NAME[:key=value,...]  How it is cut into clients
  --set TABLE.KEY=VALUE             Anything else, as the file would have it
  --out FILE                        Draw them too: FILE ends in .svg, .png or .pdf
  --json                            Print all of it as JSON
  -h, --help                        Show this

Examples:
  federage law experiment.toml
  federage law experiment.toml --law skewed:arrivals=3,rare=3,severity=severe
  federage law --law skewed:arrivals=3,rare=3 --clients 30 --out law.svg
  federage law --law 'coins:probabilities=[0.3,0.3,0.3,0.05,0.05]'
"""


def add(commands: Any) -> None:
    command = commands.add_parser("law", text=HELP)
    command.add_argument("source", nargs="?", type=Path, metavar="FILE|DIR")
    flags.add(command, ("law", "data", "partition"), ())
    command.add_argument("--clients", type=terminal.count, metavar="N")
    command.add_argument("--out", type=Path, metavar="FILE")
    command.add_argument("--json", action="store_true")
    command.set_defaults(run=run)


class Profile(NamedTuple):
    """A law and its marginals."""

    name: str
    law: Law
    inclusion: Any
    weights: Any


def run(arguments: Namespace) -> int:
    if arguments.out is not None and arguments.out.suffix not in PICTURES:
        raise ExperimentError(f"--out {arguments.out}: expected a name that ends in {', '.join(PICTURES)}")
    name, law = _law(arguments)
    profile = Profile(name, law, law.inclusion(), law.weights())
    if arguments.json:
        print(json.dumps(_plain(profile), indent=1, ensure_ascii=False))
    else:
        _show(profile)
    if arguments.out is not None:
        from federage.cli import results
        from federage.cli.law_picture import draw

        with results.written(arguments.out):
            arguments.out.write_bytes(draw(profile, arguments.out.suffix))
        terminal.note(f"drawn in {arguments.out}")
    return 0


def _law(arguments: Namespace) -> tuple[str, Law]:
    """The law's name and the law that the words describe."""
    from federage.experiments import store

    source = arguments.source
    if source is not None and source.is_dir():
        store.open_folder(source)
        source = source / store.EXPERIMENT
    if source is None and not flags.given(arguments):
        raise ExperimentError("expected a law, but neither FILE nor --law came; see federage law --help")
    if source is None and arguments.data is None:
        return _alone(arguments)
    experiment = flags.experiment(arguments, source)
    return experiment.law.name, experiment.participation(arguments.clients)


def _alone(arguments: Namespace) -> tuple[str, Law]:
    """A law without data, which must say or be told how many clients there are."""
    from federage.experiments import reading
    from federage.experiments.choice import made, maker
    from federage.participation import LAWS

    tables: dict[str, Any] = {"data": {"name": "digits"}}  # a file must have some; they are not looked at
    flags.lay(arguments, tables)
    experiment = reading.load(tables, base=Path.cwd())
    name, settings = experiment.law
    if arguments.clients is not None:
        return name, experiment.participation(arguments.clients)
    if any(_open(phase, False) for phase in settings.get("laws", [])):
        raise ExperimentError(f"--law {name}: expected how many clients its laws have; give --clients N")
    if _open(experiment.law, True):
        raise ExperimentError(f"--law {name}: expected how many clients there are; give --clients N")
    return name, experiment.participation() if "laws" in settings else made(maker(name, LAWS), "[law]", **settings)


def _open(law: Choice, required: bool) -> bool:
    """Whether a law takes the number of clients and was not told it; `required`: it cannot do without."""
    from federage.experiments.choice import maker
    from federage.experiments.values import parameters
    from federage.participation import LAWS

    takes = parameters(maker(law.name, LAWS)).get("clients")
    return takes is not None and "clients" not in law.settings and (takes.default is takes.empty or not required)


def _show(profile: Profile) -> None:
    rows, told = _rows(profile)
    law, longest = profile.law, max(p for _, _, p in rows)
    number = [[name, _number(pi), _number(p), _bar(p / longest)] for name, pi, p in rows]
    terminal.table("", ["client" if not told else "clients", "pi", "p", ""], number)
    least, most = float(np.min(profile.weights.values)), float(np.max(profile.weights.values))
    if least <= 0:
        spread = "some never come"
    elif most / least < 1.0005:
        spread = "all have the same p"
    else:
        spread = f"the greatest p is {most / least:.3g} times the least"
    print(f"{profile.name}: {law.clients:,} clients, about {law.typical:,} a round, at most {law.capacity:,}; {spread}")
    for name, marginals in (("pi", profile.inclusion), ("p", profile.weights)):
        print(f"{name}: {_how(marginals)}")
    if told:
        terminal.note(told)


def _rows(profile: Profile) -> tuple[list[tuple[str, float, float]], str]:
    """Rows of clients, pi and p, and what must be said of them if a row is not one client."""
    pi, p = (np.asarray(marginals.values, np.float64) for marginals in (profile.inclusion, profile.weights))
    count = len(p)
    if count <= EACH:
        return [(str(k), float(pi[k]), float(p[k])) for k in range(count)], ""
    shown = [(_number(a), _number(b)) for a, b in zip(pi, p, strict=True)]
    stretches = [list(group) for _, group in itertools.groupby(range(count), key=shown.__getitem__)]
    if len(stretches) <= EACH:
        return [(_ids(group), float(pi[group[0]]), float(p[group[0]])) for group in stretches], (
            "clients beside each other whose numbers look the same share a row; --json has each"
        )
    order = np.array_split(np.argsort(p, kind="stable"), GROUPS)
    starts = np.cumsum([0, *(len(part) for part in order)])
    return [
        (f"{start + 1:,} to {start + len(part):,}", float(pi[part].mean()), float(p[part].mean()))
        for start, part in zip(starts, order, strict=False)
    ], "clients in the order of p, the means of as many in a row; --json has each"


def _ids(group: Sequence[int]) -> str:
    return f"{group[0]:,}" if len(group) == 1 else f"{group[0]:,} to {group[-1]:,}"


def _number(value: float) -> str:
    return f"{value:.4g}"


def _how(marginals: Any) -> str:
    """How they were come by, and how sure they are."""
    if marginals.exact:
        return f"exact, {marginals.how}"
    return f"{marginals.how}, standard error at most {float(np.max(marginals.error)):.2g}"


def _bar(share: float) -> str:
    """A bar, in eighths of a character where the stream can show them."""
    eighths = round(8 * BAR * share)
    bar = "█" * (eighths // 8) + ("", *"▏▎▍▌▋▊▉")[eighths % 8]
    return bar if terminal.shows(bar) else "#" * round(BAR * share)


def _plain(profile: Profile) -> dict[str, Any]:
    law = profile.law
    marginals = {"inclusion": profile.inclusion, "weights": profile.weights}
    return {"law": profile.name, "clients": law.clients, "typical": law.typical, "capacity": law.capacity} | {
        name: {
            "how": of.how,
            "exact": of.exact,
            "values": np.asarray(of.values, np.float64).tolist(),
            "error": None if of.error is None else np.asarray(of.error, np.float64).tolist(),
        }
        for name, of in marginals.items()
    }
