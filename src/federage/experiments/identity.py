"""What makes two experiments the same, written down field by field so that a difference can be named.

A description is a flat dictionary: a dotted name for everything that decides a run's numbers ("method.lr",
"problem.law.prior"), and under it a plain value. Numbers, texts and lists of them stand for themselves; an array is its
dtype, shape and digest; a record is its type, followed by its fields. A function is its name, followed by the values it
closes over: so a bare `Algorithm`, a model's `(init, apply)` pair or an optax chain are told apart by the numbers in
them, but what a function *does* is not looked at. Whoever edits the body of a model's `apply` and goes on from an old
checkpoint has changed the experiment unseen.

Not part of it: the number of rounds (a run may be extended), the problem's `chunk` (how arrivals are worked off), the
versions and the machine (a checkpoint records them, but a new one may go on).
"""

from __future__ import annotations

import dataclasses
import enum
import functools
import hashlib
import inspect
import json
import math
import types
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from federage.core.algorithm import Algorithm, Method
from federage.core.problem import Problem

Description = dict[str, Any]
Methods = Method | Algorithm | Sequence[Method | Algorithm]

_NAMED_AT_MOST = 3  # differences in a message


def describe(
    problem: Problem,
    method: Methods,
    *,
    seeds: tuple[int, ...],
    every: int,
    watch: tuple[str, ...],
    smooth: float | None,
) -> Description:
    """Everything that decides the numbers of a run but for its length.

    Several methods are described in their order: what is batched together is computed together.
    """
    parts = {
        "seeds": seeds,
        "every": every,
        "watch": watch,
        "smooth": smooth,
        "problem.model": problem.model,
        "problem.clients": problem.clients,
        "problem.law": problem.law,
        "problem.local_steps": problem.local_steps,
        "problem.steps_each": problem.steps_each,
        "problem.batch": problem.batch,
        "problem.look_at": problem.look_at,
        "problem.precision": problem.precision,
    }
    return describe_methods(method) | {
        name: plain for part, value in parts.items() for name, plain in _walk(part, value, ())
    }


def describe_methods(method: Methods) -> Description:
    """The part of a description that is about the methods."""
    return dict(_walk("method", method, ()))


def digest(description: Description) -> str:
    """A description, as 64 characters that no other has."""
    return hashlib.sha256(json.dumps(description, sort_keys=True).encode()).hexdigest()


def differences(was: Description, now: Description) -> str:
    """What differs, in words; empty if nothing does."""
    names = [*now, *(name for name in was if name not in now)]
    told = [
        f"{name} was {_shown(was, name)}, is {_shown(now, name)}"
        for name in names
        if name not in was or name not in now or was[name] != now[name]
    ]
    more = len(told) - _NAMED_AT_MOST
    return "; ".join(told[:_NAMED_AT_MOST]) + (f"; and {more} more" if more > 0 else "")


def _shown(description: Description, name: str) -> str:
    return str(description[name]) if name in description else "absent"


def _walk(name: str, value: Any, above: tuple[int, ...]) -> Iterator[tuple[str, Any]]:
    """The entries of a value; `above` are the values it lies in, so that none is walked into from within itself."""
    if id(value) in above:
        yield name, "itself"
        return
    if _is_plain(value):
        yield name, _plain(value)
        return
    if isinstance(value, (np.ndarray, jax.Array)):
        yield name, _array(value)
        return
    if isinstance(value, (tuple, list)) and all(_is_plain(entry) for entry in value) and not hasattr(value, "_fields"):
        yield name, [_plain(entry) for entry in value]
        return
    if isinstance(value, (set, frozenset)):
        yield name, sorted(str(entry) for entry in value)
        return
    kind, inner = _open(value)
    yield name, kind
    for key, entry in inner.items():
        yield from _walk(f"{name}.{key}", entry, (*above, id(value)))


def _is_plain(value: Any) -> bool:
    return value is None or isinstance(value, (bool, int, float, str, np.generic))


def _plain(value: Any) -> Any:
    """As JSON keeps it: 1.0 and 1 are one number, and what is not finite is a word."""
    value = value.item() if isinstance(value, np.generic) else value
    value = value.value if isinstance(value, enum.Enum) else value
    if isinstance(value, float):
        return str(value) if not math.isfinite(value) else int(value) if value.is_integer() else value
    return value if value is None or isinstance(value, (bool, int, str)) else str(value)


def _array(value: np.ndarray | jax.Array) -> Any:
    if jnp.issubdtype(value.dtype, jax.dtypes.prng_key):
        value = jax.random.key_data(value)  # pyright: ignore[reportArgumentType]
    array = np.asarray(value, order="C")
    if array.ndim == 0:
        return _plain(array[()])
    if array.dtype.hasobject:  # whose bytes are addresses
        return f"{array.dtype}{list(array.shape)}"
    digest = hashlib.sha256(array.tobytes()).hexdigest()
    return f"{array.dtype}{list(array.shape)} sha256:{digest[:16]}"


def _open(value: Any) -> tuple[str, Mapping[Any, Any]]:
    """What kind of thing a value is, and what lies in it."""
    if isinstance(value, type):
        return _name_of(value), {}
    kind = _name_of(type(value))
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return kind, value._asdict()  # pyright: ignore[reportAttributeAccessIssue]
    if isinstance(value, (tuple, list)):
        return kind, dict(enumerate(value))
    if isinstance(value, Mapping):
        return kind, value
    if dataclasses.is_dataclass(value):
        return kind, {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
    if callable(value):
        return _open_function(value)
    leaves = jax.tree_util.tree_leaves_with_path(value)
    if all(leaf is value for _, leaf in leaves):  # no pytree: known by its type alone
        return kind, {}
    return kind, {jax.tree_util.keystr(path, simple=True, separator="."): leaf for path, leaf in leaves}


def _open_function(function: Any) -> tuple[str, Mapping[Any, Any]]:
    if isinstance(function, functools.partial):
        return _open_function(function.func)[0], {"of": function.func, "args": function.args, **function.keywords}
    if inspect.ismethod(function):
        return _name_of(function), {"self": function.__self__}
    if isinstance(function, types.FunctionType):
        parameters = inspect.signature(function).parameters
        defaults = {name: p.default for name, p in parameters.items() if p.default is not inspect.Parameter.empty}
        cells = zip(function.__code__.co_freevars, function.__closure__ or (), strict=True)
        return _name_of(function), defaults | {name: cell.cell_contents for name, cell in cells}
    if hasattr(function, "__wrapped__"):  # jitted, cached
        return _open_function(function.__wrapped__)
    return _name_of(function if hasattr(function, "__qualname__") else type(function)), {}


def _name_of(thing: Any) -> str:
    """A class's or function's name; with its module, unless it is ours."""
    module = getattr(thing, "__module__", None) or ""
    return thing.__qualname__ if module.split(".")[0] == "federage" else f"{module}.{thing.__qualname__}"
