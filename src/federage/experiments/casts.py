"""Which methods are played together, and where on the disk: a folder a cast, named by what is played in it.

    casts/<digest>/
      cast.json                                   the labels, and a digest of everything that decides each one's numbers
      looks-<from>-<to>-<digest>.parquet          what was seen after round `from` and up to round `to`
      by_client-<from>-<to>-<digest>.parquet      the same by client
      heard-<from>-<to>-<digest>.parquet          how often each client got through until then; the last one counts
      audit-<from>-<to>-<digest>.parquet          whom the risk really weighed, at the end
      checkpoint.safetensors                      how to go on

A part is written once and never changed, and its name ends in the beginning of its SHA-256: one that was lost, cut
short or altered is found when it is read. The checkpoint is written first; what it holds and the parts do not is
written the next time.
"""

from __future__ import annotations

import hashlib
import io
import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import jax
import polars as pl

from federage.core.algorithm import Method
from federage.core.problem import Problem
from federage.errors import StoreError
from federage.experiments import disk
from federage.experiments.identity import Description, describe_methods, digest
from federage.experiments.resumable import Cut

CASTS, EARLIER = "casts", "earlier"

TABLES = ("looks", "by_client", "heard", "audit")

_CAST = "cast.json"
_PART = re.compile(r"(\w+)-(\d{9})-(\d{9})-([0-9a-f]{16})\.parquet")
_HERE = 12  # characters of a digest in a folder's name


class Cast(NamedTuple):
    """Methods that one program plays, by label, and their folder."""

    folder: Path
    methods: Mapping[str, Method]
    identity: Description

    @property
    def labels(self) -> list[str]:
        return list(self.methods)


class Part(NamedTuple):
    """A Parquet file of a cast, as its name says."""

    path: Path
    table: str
    after: int
    to: int
    digest: str


def assign(folder: Path, methods: Mapping[str, Method], problem: Problem, cut: Cut) -> list[Cast]:
    """A cast for every method: one that is there already where it can be used, else a new one for all of a kind.

    A cast that is there can be used if it is over, or if all its methods are still wanted, so that it can go on as it
    began. The others go into a folder of their own: they are lost to nobody, and used again when they are wanted again.
    """
    shared = cut.identity(problem, ())
    ids = {label: digest(shared | describe_methods(method) | {"label": label}) for label, method in methods.items()}
    left, casts = dict(methods), []
    for there in sorted([*(folder / CASTS).glob(f"*/{_CAST}"), *(folder / EARLIER).glob(f"*/{_CAST}")]):
        known = _known(there)
        mine = {label: left[label] for label, own in known.items() if label in left and ids[label] == own}
        if not mine or (len(mine) < len(known) and not over(there.parent, cut.plan.rounds)):
            _move(there.parent, folder / EARLIER)
            continue
        # One of which only a part is wanted is over: nobody will ask for its identity to go on with it.
        identity = shared | describe_methods(tuple(mine.values()))
        casts.append(Cast(_move(there.parent, folder / CASTS), mine, identity))
        left = {label: method for label, method in left.items() if label not in mine}
    kinds: dict[Any, dict[str, Method]] = {}
    for label, method in left.items():
        kinds.setdefault(jax.tree.structure(method), {})[label] = method
    for together in kinds.values():
        identity = shared | describe_methods(tuple(together.values()))
        name = digest(identity | {"labels": list(together)})[:_HERE]
        place = folder / CASTS / name
        place.mkdir(parents=True, exist_ok=True)
        known = {label: ids[label] for label in together}
        disk.put(place / _CAST, json.dumps({"format": 1, "methods": known}, indent=1).encode())
        casts.append(Cast(place, together, identity))
    order = list(methods)
    return sorted(casts, key=lambda cast: order.index(cast.labels[0]))


def over(cast: Path, rounds: int) -> bool:
    """Whether everything that a cast of so many rounds is to show is in its tables."""
    ends = [parts(cast, table)[-1:] for table in TABLES]
    return all(last and last[0].to == rounds for last in ends)


def append(cast: Path, table: str, frame: pl.DataFrame, after: int, to: int) -> None:
    """Write a part."""
    buffer = io.BytesIO()
    frame.write_parquet(buffer, compression="zstd")
    data = buffer.getvalue()
    disk.put(cast / f"{table}-{after:09}-{to:09}-{hashlib.sha256(data).hexdigest()[:16]}.parquet", data)


def parts(cast: Path, table: str) -> list[Part]:
    """A table's parts, in the order of rounds."""
    names = ((path, _PART.fullmatch(path.name)) for path in cast.glob(f"{table}-*.parquet"))
    found = [Part(path, m[1], int(m[2]), int(m[3]), m[4]) for path, m in names if m is not None]
    return sorted(found, key=lambda part: part.to)


def frame_of(cast: Path, table: str, schema: Mapping[str, Any]) -> pl.DataFrame:
    """A table whose parts follow each other."""
    frames, at = [], 0
    for part in parts(cast, table):
        if part.after != at:
            raise StoreError(
                f"{part.path.parent}: {table} from round {at} to {part.after} is missing; put the file back, or remove "
                f"{part.path.parent} and play again"
            )
        frames.append(frame_of_part(part))
        at = part.to
    return pl.concat(frames) if frames else pl.DataFrame(schema=dict(schema))


def frame_of_part(part: Part) -> pl.DataFrame:
    """What a part holds, if every byte is as it was written."""
    try:
        data = part.path.read_bytes()
    except OSError as error:
        raise StoreError(f"{part.path} cannot be read ({error.strerror or error}); make it readable") from error
    if hashlib.sha256(data).hexdigest()[:16] != part.digest:
        raise StoreError(
            f"{part.path} is damaged: it was cut short or altered after it was written; put a copy of it back, or "
            f"remove {part.path.parent} and play again"
        )
    return pl.read_parquet(io.BytesIO(data))


def _known(path: Path) -> dict[str, str]:
    """What a cast's file says of its methods."""
    try:
        methods = json.loads(path.read_text(encoding="utf-8"))["methods"]
        return {str(label): str(own) for label, own in methods.items()}
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise StoreError(
            f"{path} is damaged ({type(error).__name__}: {error}); put a copy of it back, or remove {path.parent}"
        ) from error


def _move(cast: Path, room: Path) -> Path:
    if cast.parent != room:
        room.mkdir(exist_ok=True)
        cast.rename(room / cast.name)
    return room / cast.name
