"""Whether a plain value, as a file or a flag gives it, fits the annotation of the parameter it is meant for.

What a constructor checks itself (a domain, a length) is left to it. Here only kinds are told apart, so that the
complaint can name the key: a text where a number belongs, a list where one number does.
"""

from __future__ import annotations

import inspect
import os
import types
import typing
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, get_args, get_origin

from federage.parts.step import Ball, Box, Set

SETS: dict[str, type[Any]] = {"ball": Ball, "box": Box}
"""Convex sets by the `kind` of their table: `within = {kind = "ball", radius = 10}`."""


class Misfit(Exception):
    """A value is not of the kind it should be; says what was expected."""


def parameters(make: Callable[..., Any], skip: int = 0) -> dict[str, inspect.Parameter]:
    """The parameters that a table's keys fill, but for the first `skip`; their annotations resolved."""
    signature = inspect.signature(make)
    target = make.__init__ if isinstance(make, type) else inspect.unwrap(make)
    target = getattr(target, "__func__", getattr(target, "func", target))
    try:
        hints = typing.get_type_hints(target)
    except (NameError, TypeError):  # a user's own function may be annotated with what only a type checker sees
        hints = {}
    named = [p for p in signature.parameters.values() if p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)]
    return {p.name: p.replace(annotation=hints.get(p.name, Any)) for p in named[skip:]}


def fit(annotation: Any, value: Any, base: Path | None = None) -> Any:
    """The value as the annotation has it; raises `Misfit`.

    Args:
      annotation: a type, as `typing` has it. What is not known here takes anything.
      value: of TOML's kinds.
      base: what relative paths are relative to.
    """
    origin, inner = get_origin(annotation) or annotation, get_args(annotation)
    if origin in (typing.Union, types.UnionType):
        return _any_of(inner, value, base)
    if origin is Literal:
        return _expect(value in inner, value, f"one of {', '.join(map(repr, inner))}")
    if annotation is Set:
        return _set(value)
    if origin in _SCALARS:
        return _SCALARS[origin](value)
    if origin in (os.PathLike, Path):
        return _path(value, base)
    if origin is tuple or origin in (list, Sequence, Iterable):
        return _several(origin, inner, value, base)
    if origin in (dict, Mapping):
        return _table(inner, value, base)
    return value


def _any_of(choices: tuple[Any, ...], value: Any, base: Path | None) -> Any:
    expected = []
    # A path before a text: where both will do, a relative path must still be found from elsewhere.
    for choice in sorted(choices, key=lambda c: (get_origin(c) or c) is not os.PathLike):
        try:
            return fit(choice, value, base)
        except Misfit as misfit:
            if choice is not type(None):
                expected.append(str(misfit))
    raise Misfit(" or ".join(dict.fromkeys(expected)))


def _expect(holds: bool, value: Any, what: str) -> Any:
    if not holds:
        raise Misfit(what)
    return value


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _path(value: Any, base: Path | None) -> str:
    _expect(isinstance(value, (str, os.PathLike)), value, "a path")
    return str((base or Path()) / Path(value).expanduser())


def _several(origin: Any, inner: tuple[Any, ...], value: Any, base: Path | None) -> Any:
    _expect(isinstance(value, (list, tuple)), value, "a list")
    if origin is tuple and inner and inner[-1] is not Ellipsis:
        _expect(len(value) == len(inner), value, f"a list of {len(inner)}")
        return tuple(fit(kind, entry, base) for kind, entry in zip(inner, value, strict=True))
    kind = inner[0] if inner else Any
    try:
        entries = [fit(kind, entry, base) for entry in value]
    except Misfit as misfit:
        raise Misfit(f"a list, each entry {misfit}") from None
    return tuple(entries) if origin is tuple else entries


def _table(inner: tuple[Any, ...], value: Any, base: Path | None) -> Any:
    _expect(isinstance(value, Mapping), value, "a table")
    keys, entries = inner or (Any, Any)
    if keys is int:  # TOML's keys are texts
        _expect(all(key.isdecimal() for key in map(str, value)), value, "a table whose keys are whole numbers")
        value = {int(key): entry for key, entry in value.items()}
    return {key: fit(entries, entry, base) for key, entry in value.items()}


def _set(value: Any) -> Any:
    if isinstance(value, tuple(SETS.values())):
        return value
    what = f'a table such as {{kind = "ball", radius = 10}}, of a kind among {", ".join(SETS)}'
    _expect(isinstance(value, Mapping) and value.get("kind") in SETS, value, what)
    make = SETS[value["kind"]]
    given = {key: entry for key, entry in value.items() if key != "kind"}
    _expect(set(given) == set(parameters(make)), value, f"{what} with {', '.join(parameters(make))}")
    return make(**{key: fit(float, entry) for key, entry in given.items()})


_SCALARS: dict[Any, Callable[[Any], Any]] = {
    type(None): lambda v: _expect(v is None, v, "nothing"),
    bool: lambda v: _expect(isinstance(v, bool), v, "true or false"),
    int: lambda v: _expect(isinstance(v, int) and not isinstance(v, bool), v, "a whole number"),
    float: lambda v: float(_expect(_is_number(v), v, "a number")),
    str: lambda v: _expect(isinstance(v, str), v, "a text"),
}
