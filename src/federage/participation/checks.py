"""Eager checks of what a person writes down: what was expected, what came, what to do, in one sentence."""

from __future__ import annotations

import operator
from collections.abc import Iterable
from typing import Any

import numpy as np

from federage.errors import RecordError


def vector(name: str, values: Any, clients: int | None = None, of: str = "client") -> np.ndarray:
    """One finite number a client, as float64; a scalar stands for everybody when `clients` is known.

    `of` is what the numbers belong to where that is not a client.
    """
    try:
        array = np.array(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise RecordError(f"{name} takes one number a {of}, but {values!r} came; pass a list or an array") from None
    if array.ndim == 0:
        if clients is None:
            other = " or clients=" if of == "client" else ""
            raise RecordError(f"{name} takes one number a {of}, but the scalar {array} came; pass a list{other}")
        array = np.full(whole("clients", clients), array)
    if array.ndim != 1:
        raise RecordError(f"{name} takes one number a {of}, but shape {array.shape} came; pass a flat list")
    if array.size == 0:
        raise RecordError(f"{name} takes one number a {of}, but it came empty; pass at least one {of}")
    if clients is not None and array.size != clients:
        raise RecordError(f"{name} takes one number for each of {clients} {of}s, but {array.size} came; match them")
    if not np.isfinite(array).all():
        at = int(np.argmin(np.isfinite(array)))
        raise RecordError(f"{name} takes finite numbers, but {name}[{at}]={array[at]} came; remove it")
    return array


def masses(name: str, values: Any, clients: int | None = None, of: str = "client") -> np.ndarray:
    """Non-negative numbers that are not all zero, scaled to sum to 1."""
    array = vector(name, values, clients, of)
    if (array < 0).any():
        at = int(np.argmax(array < 0))
        raise RecordError(f"{name} takes numbers >= 0, but {name}[{at}]={array[at]} came; use 0 for a {of} never drawn")
    if not array.any():
        raise RecordError(
            f"{name} takes at least one number > 0, but all {array.size} are zero; give some {of} a chance"
        )
    array = array / array.max()  # so that the sum cannot overflow
    return array / array.sum()


def probabilities(name: str, values: Any, clients: int | None = None) -> np.ndarray:
    """One number in [0, 1] a client."""
    array = vector(name, values, clients)
    outside = (array < 0) | (array > 1)
    if outside.any():
        at = int(np.argmax(outside))
        raise RecordError(f"{name} takes numbers in [0, 1], but {name}[{at}]={array[at]} came; clip or rescale them")
    return array


def distribution(name: str, values: Any, count: int) -> np.ndarray:
    """`count` probabilities that sum to 1, to the last digits."""
    array = probabilities(name, values)
    if array.size != count:
        raise RecordError(
            f"{name} takes one probability for each of {count} entries, but {array.size} came; match them"
        )
    if abs(array.sum() - 1) > 1e-6:
        raise RecordError(f"{name} takes numbers that sum to 1, but they sum to {array.sum():.9g}; divide by their sum")
    return array / array.sum()


def whole(name: str, value: Any, least: int = 1) -> int:
    """An integer of at least `least`."""
    try:
        number = operator.index(value)
    except TypeError:
        raise RecordError(f"{name} takes an integer, but {value!r} came; pass a whole number") from None
    if number < least:
        raise RecordError(f"{name} takes an integer >= {least}, but {number} came; pass a larger one")
    return number


def arrivals(value: Any, prior: np.ndarray) -> int:
    """A number of arrivals that this prior can supply."""
    number = whole("arrivals", value)
    positive = int(np.count_nonzero(prior))
    if number > prior.size:
        raise RecordError(
            f"arrivals takes at most the {prior.size} clients there are, but {number} came; ask for fewer"
        )
    if number > positive:
        raise RecordError(
            f"arrivals takes at most the {positive} clients whose prior is > 0, but {number} came; "
            "ask for fewer or give more clients a positive prior"
        )
    return number


def ids(name: str, values: Iterable[Any], clients: int | None = None) -> np.ndarray:
    """A non-empty set of client ids below `clients`, ascending."""
    try:
        array = np.array([operator.index(value) for value in values], dtype=np.int64)
    except TypeError:
        raise RecordError(
            f"{name} takes a list of integer client ids, but {values!r} came; pass ids 0, 1, ..."
        ) from None
    if array.size == 0:
        raise RecordError(f"{name} takes at least one client, but it came empty; leave it out, since R(empty) = 0")
    array = np.sort(array)
    for unknown in array[(array < 0) | (array >= (np.inf if clients is None else clients))]:
        known = "0, 1, ..." if clients is None else f"0 to {clients - 1}"
        raise RecordError(f"{name} takes client ids {known}, but {unknown} came; correct it or pass a larger clients=")
    for repeated in array[1:][array[1:] == array[:-1]]:
        raise RecordError(f"{name} takes every client at most once, but {repeated} came twice; drop the repetition")
    return array
