"""A run between two legs, on disk: `checkpoint.safetensors` in the run's folder, and nothing else.

The tensors are the leaves of `Progress`, named by their path ("state.vars.theta.weights"). The header carries one JSON
text: the format's version, the round, what the experiment is (`identity`), and the versions that wrote it. Its
SHA-256 is that of the whole file with zeros in its own place, so that no byte is lost or altered unnoticed. No pickle.

A checkpoint takes the place of the one before all at once (`disk.put`): at any instant the folder holds the old one or
the new one, whole. The bytes depend on the run alone: one that was killed and resumed ends
with the same file as one that was not.
"""

from __future__ import annotations

import hashlib
import importlib.metadata
import json
import os
import platform
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jax
import numpy as np
import safetensors
import safetensors.numpy

from federage.core.run import Progress
from federage.errors import CheckpointError, CheckpointMismatch
from federage.experiments import disk
from federage.experiments.identity import Description, differences, digest

FILE = "checkpoint.safetensors"
FORMAT = 1

_NATIVE = frozenset(
    {"bool", "float16", "float32", "float64"} | {f"{u}int{b}" for u in ("", "u") for b in (8, 16, 32, 64)}
)
_SEAL = re.compile(rb'\\"sha256\\": \\"([0-9a-f]{64})\\"')
_OPEN = "0" * 64  # stands in the seal's place while it is computed


def save(folder: str | os.PathLike[str], progress: Progress, identity: Description) -> None:
    """Put a run's progress in place of the checkpoint in the folder, if any, all at once."""
    tensors, raw = {}, {}
    for name, leaf in _leaves(progress).items():
        array = np.asarray(leaf, order="C")
        if array.dtype.name not in _NATIVE:
            raw[name] = [array.dtype.name, list(array.shape)]
            array = np.frombuffer(array.tobytes(), np.uint8)
        tensors[name] = array
    header = {
        "sha256": _OPEN,
        "format": FORMAT,
        "round": progress.round,
        "identity": digest(identity),
        "experiment": identity,
        "raw": raw,
        "versions": _versions(),
    }
    data = bytearray(safetensors.numpy.save(tensors, {"federage": json.dumps(header)}))
    seal = _seal(data)
    assert seal is not None
    start, stop, _, whole = seal
    data[start:stop] = whole
    disk.put(Path(folder) / FILE, data)


def load(folder: str | os.PathLike[str], identity: Description, like: Callable[[int], Progress]) -> Progress | None:
    """The progress of this experiment in the folder, or None if the folder has none.

    Args:
      folder: a run's.
      identity: of the experiment that is to go on.
      like: what its progress at a round looks like; only structure, shapes and dtypes are read.
    """
    path = Path(folder) / FILE
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise CheckpointError(f"{path} cannot be read ({error.strerror or error}); make it readable") from error
    header, tensors = _unpack(path, data)
    if header["format"] != FORMAT:
        raise CheckpointError(
            f"{path} has format {header['format']}, but this federage reads format {FORMAT}; it was written by "
            f"federage {header['versions']['federage']}: go on with that"
        )
    if told := differences(header["experiment"], identity):
        raise CheckpointMismatch(
            f"{path} belongs to another experiment: {told}; go on with the old one's values, or in another folder"
        )
    return _restore(path, header, tensors, like(header["round"]))


def _unpack(path: Path, data: bytes) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """Header and tensors of a file whose every byte is as it was written."""
    remedy = "put a copy of it back, or delete it to start from the beginning"
    found = _seal(data)
    if found is None:
        raise CheckpointError(f"{path} is not a checkpoint, or its beginning is damaged; {remedy}")
    if found[2] != found[3]:
        raise CheckpointError(f"{path} is damaged: it was cut short or altered after it was written; {remedy}")
    try:
        tensors = safetensors.numpy.load(data)
        length = int.from_bytes(data[:8], "little")
        return json.loads(json.loads(data[8 : 8 + length])["__metadata__"]["federage"]), tensors
    except (safetensors.SafetensorError, ValueError, KeyError) as error:
        raise CheckpointError(f"{path} is not a checkpoint of federage ({error}); {remedy}") from error


def _restore(path: Path, header: dict[str, Any], tensors: dict[str, np.ndarray], like: Progress) -> Progress:
    for name, (dtype, shape) in header["raw"].items():
        tensors[name] = np.frombuffer(tensors[name].tobytes(), np.dtype(dtype)).reshape(shape)
    expected = {name: (tuple(leaf.shape), np.dtype(leaf.dtype).name) for name, leaf in _leaves(like).items()}
    stored = {name: (tensor.shape, tensor.dtype.name) for name, tensor in tensors.items()}
    for name in [*expected, *stored]:
        if expected.get(name) != stored.get(name):
            held, wanted = (
                "nothing" if of is None else f"{of[1]}{list(of[0])}" for of in (stored.get(name), expected.get(name))
            )
            wrote = ", ".join(f"{what} {version}" for what, version in header["versions"].items())
            raise CheckpointError(
                f"{path} holds {held} as {name}, where this program keeps {wanted}; it was written by {wrote}: "
                "go on with these versions and the same code, or in another folder"
            )
    structure = jax.tree.structure((like.looks, like.state))
    return Progress(header["round"], *jax.tree.unflatten(structure, [tensors[name] for name in expected]))


def _leaves(progress: Progress) -> dict[str, Any]:
    """The leaves by path, in the tree's own order."""
    tree = {"looks": progress.looks, "state": progress.state}
    named = [(".".join(map(_step, path)), leaf) for path, leaf in jax.tree_util.tree_leaves_with_path(tree)]
    leaves = dict(named)
    if len(leaves) < len(named):
        raise CheckpointError("two parts of the run's state go by one path; give the keys of its trees other names")
    return leaves


def _step(key: Any) -> str:
    """One step of a path; dots within a name are marked, so that no two paths read alike."""
    return jax.tree_util.keystr((key,), simple=True).replace("\\", "\\\\").replace(".", "\\.")


def _seal(data: bytes | bytearray) -> tuple[int, int, bytes, bytes] | None:
    """Where in a file its SHA-256 stands, the one that stands there, and the one that should."""
    header = data[8 : 8 + int.from_bytes(data[:8], "little")]
    match = _SEAL.search(header)
    if match is None:
        return None
    start, stop = (8 + place for place in match.span(1))
    view = memoryview(data)
    digest = hashlib.sha256(view[:start])
    digest.update(_OPEN.encode())
    digest.update(view[stop:])
    return start, stop, match[1], digest.hexdigest().encode()


def _versions() -> dict[str, str]:
    ours = {name: importlib.metadata.version(name) for name in ("federage", "jax")}
    return {**ours, "python": platform.python_version()}
