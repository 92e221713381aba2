"""An experiment on disk: a folder that says what was played, where and when, and everything that was seen.

experiment.toml     complete, defaults filled in
environment.json    one entry a session: date, versions, machine, and how long each method took
index.json          where each method's tables lie
clients.parquet     what each client has, and what the law says of it
casts/              the tables themselves (`casts`)
earlier/            what was played here for an experiment since changed; used again when it is asked for again
"""

from __future__ import annotations

import dataclasses
import functools
import hashlib
import io
import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import polars as pl

from federage.errors import StoreError
from federage.experiments import casts, disk, frames
from federage.experiments.casts import CASTS, Cast
from federage.experiments.experiment import Experiment
from federage.experiments.reading import load, written

EXPERIMENT, ENVIRONMENT, INDEX, CLIENTS = "experiment.toml", "environment.json", "index.json", "clients.parquet"

_FORMAT = 1


@dataclasses.dataclass(frozen=True, eq=False)
class Recorded:
    """An experiment as it was recorded; tables are read when they are asked for.

    Attributes:
      folder: where it lies.
      experiment: what was played.
      sessions: one entry each time something was played: `environment` (date, versions, machine) and `seconds`.
      where: the folder of each method's cast.
    """

    folder: Path
    experiment: Experiment
    sessions: Sequence[Mapping[str, Any]]
    where: Mapping[str, Path]

    @property
    def methods(self) -> list[str]:
        """The labels of those that were looked at, in the experiment's order."""
        seen = set(self.looks["method"].unique())
        return [label for label in self.experiment.methods if label in seen]

    @property
    def finished(self) -> bool:
        """Whether every method has played all its rounds."""
        ends = self.looks.group_by("method").agg(pl.col("round").max())
        over = ends.filter(pl.col("round") >= self.experiment.rounds)["method"]
        return set(self.experiment.methods) <= set(over)

    @property
    def environment(self) -> dict[str, str]:
        """Of the latest session."""
        return dict(self.sessions[-1]["environment"]) if self.sessions else {}

    @property
    def seconds(self) -> dict[str, float]:
        """How long each method took, compilation included; those of one program share its time."""
        total = dict.fromkeys(self.experiment.methods, 0.0)
        for session in self.sessions:
            for label, seconds in session["seconds"].items():
                if label in total:
                    total[label] += seconds
        return total

    @functools.cached_property
    def looks(self) -> pl.DataFrame:
        """A row a method, seed, round and checkpoint."""
        return self._table("looks", frames.LOOKS)

    @functools.cached_property
    def by_client(self) -> pl.DataFrame:
        """The accuracy of each client, a row a method, seed, round, checkpoint and client."""
        return self._table("by_client", frames.BY_CLIENT)

    @functools.cached_property
    def heard(self) -> pl.DataFrame:
        """How often each client got through, a row a method, seed and client."""
        return self._table("heard", frames.HEARD, latest=True)

    @functools.cached_property
    def audit(self) -> pl.DataFrame:
        """Whom the risk really weighed at the end, a row a method, seed and client."""
        return self._table("audit", frames.AUDIT, latest=True)

    @functools.cached_property
    def clients(self) -> pl.DataFrame:
        """What each client has, and what the law says of it."""
        path = self.folder / CLIENTS
        data = _bytes(path)
        if hashlib.sha256(data).hexdigest() != _json(self.folder / INDEX).get("sha256", {}).get(CLIENTS):
            raise StoreError(f"{path} is damaged; put a copy of it back, or remove it and run the experiment again")
        return pl.read_parquet(io.BytesIO(data))

    def _table(self, name: str, schema: Mapping[str, Any], latest: bool = False) -> pl.DataFrame:
        read = []
        for cast in dict.fromkeys(self.where.values()):
            if latest:
                read += [casts.frame_of_part(part) for part in casts.parts(cast, name)[-1:]]
            else:
                read.append(casts.frame_of(cast, name, schema))
        whole = pl.concat(read) if read else pl.DataFrame(schema=dict(schema))
        return frames.in_order(whole, list(self.experiment.methods))


def open_folder(folder: str | os.PathLike[str]) -> Recorded:
    """What a folder of runs holds; nothing is played."""
    folder = Path(folder)
    if not (folder / INDEX).is_file():
        what = "is no folder of runs" if folder.is_dir() else "does not exist"
        raise StoreError(f"{folder} {what}: it has no {INDEX}; name one that `federage run` wrote to")
    index = _json(folder / INDEX)
    if index.get("format") != _FORMAT:
        raise StoreError(
            f"{folder / INDEX} has format {index.get('format')}, but this federage reads format {_FORMAT}; open it "
            "with the version that wrote it"
        )
    experiment = load(folder / EXPERIMENT)
    where = {label: folder / CASTS / name for label, name in index["methods"].items() if label in experiment.methods}
    for cast in where.values():
        if not cast.is_dir():
            raise StoreError(f"{cast} is missing; put it back, or run the experiment again")
    return Recorded(folder, experiment, sessions(folder), where)


def begin(folder: Path, experiment: Experiment, clients: pl.DataFrame, assigned: Sequence[Cast]) -> None:
    """Say what is about to be played here."""
    buffer = io.BytesIO()
    clients.write_parquet(buffer, compression="zstd")
    disk.put(folder / CLIENTS, buffer.getvalue())
    disk.put(folder / EXPERIMENT, written(experiment).encode())
    index = {
        "format": _FORMAT,
        "methods": {label: cast.folder.name for cast in assigned for label in cast.labels},
        "sha256": {CLIENTS: hashlib.sha256(buffer.getvalue()).hexdigest()},
    }
    disk.put(folder / INDEX, json.dumps(index, indent=1, ensure_ascii=False).encode())


def note_session(
    folder: Path, before: Sequence[Mapping[str, Any]], environment: Mapping[str, str], seconds: Mapping[str, float]
) -> None:
    """Write down where and when methods were played, after the sessions that were `before` this one."""
    noted = [*before, {"environment": dict(environment), "seconds": dict(seconds)}]
    disk.put(folder / ENVIRONMENT, json.dumps({"sessions": noted}, indent=1, ensure_ascii=False).encode())


def sessions(folder: str | os.PathLike[str]) -> list[dict[str, Any]]:
    """The sessions in which something was played here."""
    path = Path(folder) / ENVIRONMENT
    return list(_json(path).get("sessions", [])) if path.is_file() else []


def _bytes(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise StoreError(f"{path} cannot be read ({error.strerror or error}); put it back") from error


def _json(path: Path) -> dict[str, Any]:
    try:
        tables = json.loads(_bytes(path))
    except ValueError as error:
        raise StoreError(f"{path} is damaged ({error}); put a copy of it back") from error
    if not isinstance(tables, dict):
        raise StoreError(f"{path} is damaged: it holds no table; put a copy of it back")
    return tables
