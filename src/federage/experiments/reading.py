"""From an experiment's file, or tables of the same values, to an `Experiment`; and back.

    title = "..."                          what the report calls it
    notes = ["..."]                        what a reader must know
    [data]       name, and its settings    `sources.SOURCES`
    [partition]  name, and its settings    `experiment.PARTITIONS`
    [law]        name, and its settings    `participation.LAWS`; N is filled in
    [model]      name, and its settings    `models.MODELS`
    [work]       local_steps or local_epochs, batch, precision
    [runs]       rounds, every, seeds (how many, or which), smooth, look_at
    [tune]       see `federage.tuning.tune`
    [methods.LABEL]   kind (if the label is not one), and its numbers; a list of numbers is a grid

Nothing is loaded or drawn here; what is wrong is said in one sentence that names the file, the table and the key.
"""

from __future__ import annotations

import dataclasses
import itertools
import os
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import tomli_w

from federage.algorithms import ALGORITHMS
from federage.core.algorithm import Method
from federage.core.problem import Precision, Split
from federage.errors import ExperimentError, unknown
from federage.experiments.choice import Choice, fitted, made, maker, read
from federage.experiments.experiment import PARTITIONS, Experiment
from federage.experiments.sources import SOURCES
from federage.experiments.values import SETS, parameters
from federage.models import MODELS
from federage.participation import LAWS

Tables = Mapping[str, Any]

_TABLES = ("data", "partition", "law", "model", "work", "runs", "tune", "methods")
_TEXTS = ("title", "notes")
_WORK = {
    "local_steps": int | list[int],
    "local_epochs": float,
    "batch": int,
    "precision": Precision,
}
_RUNS = {"rounds": int, "every": int, "seeds": int | list[int], "smooth": float, "look_at": Split}
_MOST = 1_000  # configurations of one grid, and seeds: more would be a slip of the pen, and fill the memory


def load(source: str | os.PathLike[str] | Tables, name: str = "", base: Path | None = None) -> Experiment:
    """The experiment of a TOML file, or of tables such as a file holds.

    Args:
      source: a path, or the tables themselves.
      name: what complaints call tables that came without a file.
      base: what relative paths in such tables are relative to, the current folder if None; a file's are to its own.
    """
    if isinstance(source, Mapping):
        return _experiment(source, name, Path() if base is None else base)
    path = Path(source)
    return _experiment(parsed(path), str(path), path.resolve().parent)


def parsed(path: Path) -> dict[str, Any]:
    """The tables of a TOML file."""
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise ExperimentError(f"{path}: no such file; name a TOML file that describes an experiment") from None
    except OSError as error:
        raise ExperimentError(f"{path} cannot be read ({error.strerror or error})") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError) as error:
        raise ExperimentError(f"{path} is not TOML: {error}") from error


def written(experiment: Experiment) -> str:
    """The experiment as a TOML file that holds everything, defaults filled in; `load` reads the same again."""
    tables: dict[str, Any] = {"title": experiment.title, "notes": list(experiment.notes)}
    settings = experiment.settings()
    for name, table in settings.items():
        if not name.startswith("methods."):
            tables[name] = _plain(table)
    tables["methods"] = {label: _plain(settings[f"methods.{label}"]) for label in experiment.methods}
    return tomli_w.dumps(tables)


def _experiment(tables: Tables, source: str, base: Path) -> Experiment:
    at = f"{source}, " if source else ""
    for key, value in tables.items():
        if key not in (*_TABLES, *_TEXTS):
            raise ExperimentError(f"{at or 'the experiment: '}{unknown('key', key, (*_TEXTS, *_TABLES))}")
        if key in _TABLES and not isinstance(value, Mapping):
            raise ExperimentError(f"{at}{key}: expected a table, but {value!r} came; begin it with [{key}]")
    if "data" not in tables:
        raise ExperimentError(f"{at}expected a table [data], but there is none; give it a name, such as digits")
    work, runs = (section(tables, name, keys, at) for name, keys in (("work", _WORK), ("runs", _RUNS)))
    rounds = runs.get("rounds", 1000)
    every = runs.get("every", max(1, rounds // 20))
    seeds = runs.get("seeds", 1)
    positive(f"{at}[runs]", rounds=rounds, every=every)
    positive(f"{at}[work]", **{key: work[key] for key in ("batch", "local_epochs") if key in work})
    data = read(tables["data"], SOURCES, f"{at}[data]", base=base)
    if "local_steps" in work and "local_epochs" in work:
        raise ExperimentError(f"{at}[work]: both local_steps and local_epochs came; give one of them")
    return Experiment(
        title=fitted(str, tables.get("title", f"{_called(data)}: who is left behind?"), f"{at}title"),
        data=data,
        partition=read(tables["partition"], PARTITIONS, f"{at}[partition]", 1, base) if "partition" in tables else None,
        law=_law(tables.get("law", {}), f"{at}[law]", base),
        model=read(tables.get("model", {"name": "mlp"}), MODELS, f"{at}[model]", base=base),
        methods=_methods(tables.get("methods", {}), at),
        rounds=rounds,
        every=min(every, rounds),
        seeds=seeds_of(seeds, f"{at}[runs], seeds"),
        local_steps=None if "local_epochs" in work else work.get("local_steps", 10),
        local_epochs=work.get("local_epochs"),
        batch=work.get("batch", 32),
        precision=work.get("precision", "float32"),
        smooth=_decay(runs.get("smooth", 0.99), f"{at}[runs], smooth"),
        look_at=runs.get("look_at", "test"),
        tune=dict(tables.get("tune", {})),
        notes=tuple(fitted(list[str], tables.get("notes", []), f"{at}notes")),
        source=source,
    )


def _called(data: Choice) -> str:
    """What a reader would call the data: their own name, else that of their file."""
    settings = data.settings
    return settings.get("name") or settings.get("hub") or Path(settings.get("path") or data.name).stem


def section(tables: Tables, name: str, keys: Mapping[str, Any], at: str) -> dict[str, Any]:
    """A table whose keys are known beforehand."""
    table = tables.get(name, {})
    for key in table:
        if key not in keys:
            raise ExperimentError(f"{at}[{name}]: {unknown('key', key, keys)}")
    return {key: fitted(keys[key], value, f"{at}[{name}], {key}") for key, value in table.items()}


def _law(table: Any, where: str, base: Path) -> Choice:
    """A law; one that is made of laws (`cyclic`) takes a list of tables like its own."""
    if not isinstance(table, Mapping):
        raise ExperimentError(
            f'{where}: expected a law\'s table, such as {{name = "uniform", ...}}, but {table!r} came'
        )
    choice = read(table, LAWS, where, base=base)
    if choice.name != "cyclic" or "laws" not in choice.settings:
        return choice
    phases = [_law(entry, f"{where}, laws[{k}]", base) for k, entry in enumerate(choice.settings["laws"])]
    return Choice(choice.name, {**choice.settings, "laws": phases})


def _methods(tables: Tables, at: str) -> dict[str, Method]:
    """The records by label; a label whose table holds lists stands for a grid of them."""
    methods: dict[str, Method] = {}
    for label, table in tables.items():
        where = f"{at}[methods.{label}]"
        if not isinstance(table, Mapping):
            raise ExperimentError(f"{where}: expected a table, but {table!r} came")
        for name, record in grid(label, table, where).items():
            if name in methods:
                raise ExperimentError(f"{where}: two methods are called {name}; rename one")
            methods[name] = record
    return methods


def grid(label: str, table: Tables, where: str) -> dict[str, Method]:
    """The records of one method's table by label: one, or where keys hold lists one for each combination."""
    kind = fitted(str, table.get("kind", label.lower().replace(" ", "_")), f"{where}, kind")
    if "kind" not in table and kind not in ALGORITHMS:
        raise ExperimentError(f"{where}: {label!r} is no method's name; give kind = one of {', '.join(ALGORITHMS)}")
    try:
        make = maker(kind, ALGORITHMS)
    except ExperimentError as error:
        raise ExperimentError(f"{where}, kind: {error}") from error.__cause__
    takes, axes = parameters(make), {}
    for key, value in table.items():
        if key == "kind":
            continue
        if key not in takes:
            raise ExperimentError(f"{where}: {unknown('key', key, takes, f'{kind} takes')}")
        several = isinstance(value, list)
        if value == []:
            raise ExperimentError(f"{where}, {key}: expected a value or a list of them, but the list is empty")
        entries = value if several else [value]
        axes[key] = [fitted(takes[key].annotation, entry, f"{where}, {key}") for entry in entries], several
    swept = [key for key, (_, several) in axes.items() if several]
    combinations = list(itertools.islice(itertools.product(*(values for values, _ in axes.values())), _MOST + 1))
    if len(combinations) > _MOST:
        raise ExperimentError(f"{where}: the grid has more than {_MOST:,} configurations; shorten its lists")
    records = {}
    for combination in combinations:
        settings = dict(zip(axes, combination, strict=True))
        name = label + (" " if swept else "") + " ".join(f"{key}={_short(settings[key])}" for key in swept)
        records[name] = made(make, where, **settings)
        if not isinstance(records[name], Method):
            raise ExperimentError(f"{where}, kind: {kind} makes no method: it has no parts()")
    return records


def _short(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)


def seeds_of(value: int | list[int], where: str, first: int = 0) -> tuple[int, ...]:
    """The seeds: as listed, or so many from the first on."""
    seeds = tuple(range(first, first + min(value, _MOST + 1))) if isinstance(value, int) else tuple(value)
    if len(seeds) > _MOST:
        raise ExperimentError(f"{where}: expected at most {_MOST:,} seeds, but more came; play them in several files")
    if not seeds or min(seeds) < 0 or max(seeds) >= 2**32 or len(set(seeds)) < len(seeds):
        raise ExperimentError(
            f"{where}: expected how many, or a list of different ones of at least 0, but {value} came"
        )
    return seeds


def positive(where: str, **numbers: float) -> None:
    """Refuse what does not count something."""
    for key, value in numbers.items():
        if not 0 < value < 2**31:
            raise ExperimentError(
                f"{where}, {key}: expected a number of at least {'1' if isinstance(value, int) else '0'}"
                f", but {value} came"
            )


def _decay(value: float, where: str) -> float:
    if not 0 < value < 1:
        raise ExperimentError(f"{where}: expected a decay in (0, 1), such as 0.99, but {value} came")
    return value


def _plain(value: Any) -> Any:
    """What TOML can hold of a value; what is None is left out."""
    if isinstance(value, Mapping):
        return {str(key): _plain(entry) for key, entry in value.items() if entry is not None}
    if isinstance(value, Choice):
        return {"name": value.name} | _plain(value.settings)
    if isinstance(value, (list, tuple)):
        return [_plain(entry) for entry in value]
    if isinstance(value, tuple(SETS.values())):
        kind = next(name for name, known in SETS.items() if type(value) is known)
        return {"kind": kind} | {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
    return value
