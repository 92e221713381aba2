"""The two binary formats of the classic image sets: bytes in, arrays out, every length checked."""

from __future__ import annotations

import math
import struct
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

import numpy as np

from federage.data.dataset import Examples
from federage.errors import DamagedFile


class Contents(NamedTuple):
    """The decompressed bytes of a file, and the path that messages name."""

    path: Path
    data: bytes


CIFAR_PIXELS = 3 * 32 * 32
CIFAR_RECORD = 1 + CIFAR_PIXELS  # the label, then 1,024 red, 1,024 green and 1,024 blue values


def idx(contents: Contents, dimensions: int) -> np.ndarray:
    """An IDX file of unsigned bytes (LeCun's format).

    Four bytes of magic, 0 0 8 d, where 8 says "unsigned byte" and d counts the dimensions; d big-endian sizes of
    four bytes; then the values, the last dimension fastest, and nothing after them.
    """
    path, data = contents
    magic = bytes((0, 0, 8, dimensions))
    if data[:4] != magic:
        raise DamagedFile(
            f"{path}: expected the IDX magic {magic.hex()}, {dimensions} dimensions of unsigned bytes, "
            f"but it begins with {data[:4].hex() or 'nothing'}; download it again"
        )
    header = 4 + 4 * dimensions
    if len(data) < header:
        raise DamagedFile(f"{path}: expected a header of {header} bytes, but it ends at {len(data)}; download it again")
    shape = struct.unpack(f">{dimensions}I", data[4:header])
    if len(data) != header + math.prod(shape):
        raise DamagedFile(
            f"{path}: expected {header + math.prod(shape)} bytes for the dimensions {shape} of its header, "
            f"but it has {len(data)}; download it again"
        )
    return np.frombuffer(data, np.uint8, offset=header).reshape(shape)


def idx_pair(images: Contents, labels: Contents) -> Examples:
    """Images [n, height, width, 1] and their labels, from two IDX files."""
    x, y = idx(images, 3), idx(labels, 1)
    if len(x) != len(y):
        raise DamagedFile(f"{labels.path}: expected {len(x)} labels, one an image, but it has {len(y)}")
    return Examples(x[..., None], y)


def cifar_batch(contents: Contents) -> Examples:
    """Images [n, 32, 32, 3] and their labels, from one file of CIFAR-10's binary version."""
    path, data = contents
    if not data or len(data) % CIFAR_RECORD:
        raise DamagedFile(
            f"{path}: expected records of {CIFAR_RECORD} bytes, but its {len(data)} bytes are "
            f"{len(data) / CIFAR_RECORD:.2f} of them; download it again"
        )
    records = np.frombuffer(data, np.uint8).reshape(-1, CIFAR_RECORD)
    y = records[:, 0]
    if y.max() > 9:
        place = int(np.argmax(y > 9))
        raise DamagedFile(f"{path}: expected labels 0..9, but record {place} has {y[place]}; download it again")
    return Examples(records[:, 1:].reshape(-1, 3, 32, 32).transpose(0, 2, 3, 1), y)


def mnist(files: Mapping[str, Contents]) -> tuple[Examples, Examples]:
    """Training and test examples of the four files of MNIST, and of the sets made in its image."""
    return (
        idx_pair(files["train-images-idx3-ubyte"], files["train-labels-idx1-ubyte"]),
        idx_pair(files["t10k-images-idx3-ubyte"], files["t10k-labels-idx1-ubyte"]),
    )


def cifar10(files: Mapping[str, Contents]) -> tuple[Examples, Examples]:
    """Training and test examples of CIFAR-10's binary version; training batches are joined in the order of names."""
    batches = [cifar_batch(files[name]) for name in sorted(files) if name != "test_batch.bin"]
    train = Examples(np.concatenate([part.x for part in batches]), np.concatenate([part.y for part in batches]))
    test = cifar_batch(files["test_batch.bin"])
    return train, Examples(np.ascontiguousarray(test.x), test.y)
