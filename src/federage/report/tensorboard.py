"""An experiment's looks as TensorBoard runs (the extra `tensorboard`; neither TensorFlow nor PyTorch is needed).

Each file depends on its run's numbers alone: a step is a round, and so is its wall time, in seconds. Exporting again
replaces the files there.
"""

from __future__ import annotations

import io
import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import polars as pl

from federage.errors import StoreError
from federage.experiments import disk
from federage.experiments.store import Recorded
from federage.extras import extra

CHECKPOINT = ("accuracy", "loss", "worst", "worst_tenth", "rare", "beta")
"""What is known of each checkpoint: `last/accuracy`, `average/accuracy`, ..."""

TRAINING = {"training/loss": "train_loss", "training/tail": "tail", "training/arrivals": "arrivals"}
"""What is known of the rounds since the look before, whatever the checkpoint: its column, by its tag."""

FILE = "events.out.tfevents.0.federage"


def export(recorded: Recorded, folder: str | os.PathLike[str]) -> Path:
    """Write a TensorBoard run for each method and seed, and return the folder.

    Each run is a folder METHOD/seed N with scalars against rounds, and the method's settings as hyperparameters. What
    is not defined (the beta of a method that has none) is left out; what is not finite is kept, and drawn as such.
    `tensorboard --logdir FOLDER` shows them.
    """
    folder, settings = Path(folder), recorded.experiment.settings()
    for (method, seed), looks in recorded.looks.partition_by("method", "seed", as_dict=True).items():
        events = _events(looks, method, settings[f"methods.{method}"])
        place = folder / _as_folder(method) / f"seed {seed}"
        try:
            place.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise StoreError(f"{place} cannot be made ({error.strerror or error}); pass a folder that can") from error
        disk.put(place / FILE, events)
    return folder


def _as_folder(label: str) -> str:
    """A label as the name of one folder: what some system gives a meaning is written %2F, as in addresses."""
    return re.sub(r'[%/\\:*?"<>|\x00-\x1f]|^\.+$', lambda match: "".join(f"%{ord(c):02X}" for c in match[0]), label)


def _events(looks: pl.DataFrame, method: str, settings: Mapping[str, Any]) -> bytes:
    """One run's file: its version, its hyperparameters, its scalars."""
    with extra("tensorboard", "the export to TensorBoard"):
        from tensorboard.compat.proto.event_pb2 import Event  # pyright: ignore[reportAttributeAccessIssue]
        from tensorboard.plugins.hparams.summary_v2 import hparams_pb
        from tensorboard.plugins.scalar.summary_v2 import scalar_pb
        from tensorboard.summary.writer.record_writer import RecordWriter

    numbers = {key: value if isinstance(value, bool | int | float) else str(value) for key, value in settings.items()}
    events = [
        Event(file_version="brain.Event:2"),
        # The seeds of a method are one trial, over which TensorBoard takes means: a seed is no hyperparameter.
        Event(summary=hparams_pb({"method": method} | numbers, trial_id=method, start_time_secs=0.0)),
        *(
            Event(step=round, wall_time=float(round), summary=scalar_pb(tag, value))
            for tag, round, value in _scalars(looks)
        ),
    ]
    buffer = io.BytesIO()
    writer = RecordWriter(buffer)
    for event in events:
        writer.write(event.SerializeToString(deterministic=True))
    return buffer.getvalue()


def _scalars(looks: pl.DataFrame) -> Iterator[tuple[str, int, float]]:
    """Tag, round and value, round by round."""
    for look in looks.sort("round", maintain_order=True).iter_rows(named=True):
        values = {f"{look['checkpoint']}/{name}": look[name] for name in CHECKPOINT}
        if look["checkpoint"] == "last":  # every look has it
            values |= {tag: look[column] for tag, column in TRAINING.items()}
        yield from ((tag, look["round"], value) for tag, value in values.items() if value is not None)
