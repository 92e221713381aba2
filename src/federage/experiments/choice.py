"""One of several by its name, and what it is made with: a dataset, a partition, a law, a model."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from federage.errors import ExperimentError, FederageError, unknown
from federage.experiments.values import Misfit, fit, parameters

Makers = Mapping[str, Callable[..., Any]]


class Choice(NamedTuple):
    """A name and settings, defaults filled in."""

    name: str
    settings: Mapping[str, Any]


def read(table: Mapping[str, Any], known: Makers, where: str, skip: int = 0, base: Path | None = None) -> Choice:
    """A choice of a table of plain values: `name`, and the parameters of what goes by that name.

    Args:
      table: as the file has it.
      known: what there is, by name; beside it, "module:function" names what a user has written.
      where: the file and the table, for complaints.
      skip: how many first parameters are not settings.
      base: what relative paths are relative to.
    """
    if not isinstance(table.get("name"), str):
        raise ExperimentError(f"{where}: expected a name, one of {', '.join(known)}; give name = ...")
    name = table["name"]
    try:
        takes = parameters(maker(name, known), skip)
    except ExperimentError as error:
        raise ExperimentError(f"{where}, name: {error}") from error.__cause__
    given = {key: value for key, value in table.items() if key != "name"}
    for key in given:
        if key not in takes:
            raise ExperimentError(f"{where}: {unknown('key', key, takes, f'{name} takes')}")
    settings = {}
    for key, parameter in takes.items():
        if key in given:
            settings[key] = fitted(parameter.annotation, given[key], f"{where}, {key}", base)
        elif parameter.default is not parameter.empty and parameter.default is not None:
            settings[key] = parameter.default
    return Choice(name, settings)


def fitted(annotation: Any, value: Any, where: str, base: Path | None = None) -> Any:
    """The value, of the kind its annotation says."""
    try:
        return fit(annotation, value, base)
    except Misfit as misfit:
        raise ExperimentError(f"{where}: expected {misfit}, but {value!r} came") from None
    except FederageError as error:
        raise ExperimentError(f"{where}: {error}") from error


def made(make: Callable[..., Any], where: str, *first: Any, **settings: Any) -> Any:
    """What is made with these settings; whatever it complains of, named by where it stands."""
    missing = [
        key
        for key, parameter in parameters(make, len(first)).items()
        if parameter.default is parameter.empty and key not in settings
    ]
    if missing:
        raise ExperimentError(f"{where}: expected {', '.join(missing)}, but nothing came; give {missing[0]} = ...")
    try:
        return make(*first, **settings)
    except (FederageError, TypeError, ValueError, ArithmeticError, LookupError, OSError) as error:
        raise ExperimentError(f"{where}: {error}") from error


def maker(name: str, known: Makers) -> Callable[..., Any]:
    """What goes by a name: one of ours, or "module:function"."""
    if name in known:
        return known[name]
    module, colon, attribute = name.partition(":")
    if not (colon and module and attribute.isidentifier()):
        raise ExperimentError(unknown("name", name, known))
    try:
        found = getattr(importlib.import_module(module), attribute)
    except Exception as error:  # importing runs whatever the module holds
        raise ExperimentError(f"{name!r} cannot be imported ({error}); expected module:function") from error
    if not callable(found):
        raise ExperimentError(f"{name!r} is not a function or a class; expected module:function")
    return found
