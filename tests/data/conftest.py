"""Tiny datasets in the real formats, and a server on this machine that misbehaves as told."""

from __future__ import annotations

import gzip
import hashlib
import io
import struct
import tarfile
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import numpy as np
import pytest

from federage.data import Dataset, Spec
from federage.data import formats as read


def idx_bytes(array: np.ndarray) -> bytes:
    return bytes((0, 0, 8, array.ndim)) + struct.pack(f">{array.ndim}I", *array.shape) + array.tobytes()


def digests(files: dict[str, bytes]) -> dict[str, str]:
    return {name: hashlib.sha256(data).hexdigest() for name, data in files.items()}


@dataclass
class Tiny:
    """A dataset of a few images: its spec, its files, and the arrays that must come out."""

    spec: Spec
    files: dict[str, bytes]
    train: tuple[np.ndarray, np.ndarray]
    test: tuple[np.ndarray, np.ndarray]

    def write(self, folder: Path, pack: bool = False) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        for name, data in self.files.items():
            (folder / (name + ".gz" * pack)).write_bytes(gzip.compress(data) if pack else data)


@pytest.fixture
def tiny_mnist() -> Tiny:
    rng = np.random.default_rng(0)
    train = rng.integers(0, 256, (60, 28, 28), np.uint8), rng.integers(0, 10, 60, np.uint8)
    test = rng.integers(0, 256, (20, 28, 28), np.uint8), rng.integers(0, 10, 20, np.uint8)
    files = {
        "train-images-idx3-ubyte": idx_bytes(train[0]),
        "train-labels-idx1-ubyte": idx_bytes(train[1]),
        "t10k-images-idx3-ubyte": idx_bytes(test[0]),
        "t10k-labels-idx1-ubyte": idx_bytes(test[1]),
    }
    spec = Spec("tiny", digests(files), (), read.mnist, 10, mean=0.5, std=0.25, suffix=".gz")
    return Tiny(spec, files, (train[0][..., None], train[1]), (test[0][..., None], test[1]))


@pytest.fixture
def tiny_cifar() -> Tiny:
    rng = np.random.default_rng(1)
    x, y = rng.integers(0, 256, (24, 32, 32, 3), np.uint8), rng.integers(0, 10, 24, np.uint8)
    records = [bytes([label]) + image.transpose(2, 0, 1).tobytes() for image, label in zip(x, y, strict=True)]
    names = [f"data_batch_{i}.bin" for i in range(1, 6)] + ["test_batch.bin"]
    files = {name: b"".join(records[4 * i : 4 * i + 4]) for i, name in enumerate(names)}
    spec = Spec("tiny", digests(files), (), read.cifar10, 10, archive="tiny.tar.gz", inside="cifar-10-batches-bin")
    return Tiny(spec, files, (x[:20], y[:20]), (x[20:], y[20:]))


def tar_bytes(files: dict[str, bytes], folder: str = "cifar-10-batches-bin") -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as archive:
        for name, data in files.items():
            member = tarfile.TarInfo(f"{folder}/{name}" if folder else name)
            member.size = len(data)
            archive.addfile(member, io.BytesIO(data))
    return buffer.getvalue()


@dataclass
class Server:
    """Serves `files` by path; `cut` shortens the body of the next answers, `ranges` says if it knows Range."""

    address: str = ""
    files: dict[str, bytes] = field(default_factory=dict)
    ranges: bool = True
    cut: list[int] = field(default_factory=list)  # how many body bytes the next answers really send
    chunked: bool = False  # no Content-Length
    seen: list[tuple[str, str | None]] = field(default_factory=list)  # path and Range of each request
    sent: list[int] = field(default_factory=list)  # body bytes of each answer

    def answer(self, handler: BaseHTTPRequestHandler) -> None:
        span = handler.headers.get("Range")
        self.seen.append((handler.path, span))
        if handler.path not in self.files:
            handler.send_error(404)
            return
        body = self.files[handler.path]
        start = int(span.removeprefix("bytes=").removesuffix("-")) if span and self.ranges else 0
        if start >= len(body) > 0:
            handler.send_response(416)
            handler.send_header("Content-Range", f"bytes */{len(body)}")
            handler.send_header("Content-Length", "0")
            handler.end_headers()
            return
        handler.send_response(206 if span and self.ranges else 200)
        if span and self.ranges:
            handler.send_header("Content-Range", f"bytes {start}-{len(body) - 1}/{len(body)}")
        if not self.chunked:
            handler.send_header("Content-Length", str(len(body) - start))
        handler.end_headers()
        rest = body[start:][: self.cut.pop(0) if self.cut else None]
        self.sent.append(len(rest))
        handler.wfile.write(rest)


@pytest.fixture
def serve(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., Server]]:
    """A function that starts a `Server` with the given fields."""
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    running = []

    def start(**options: object) -> Server:
        server = Server(**options)  # pyright: ignore[reportArgumentType]

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                server.answer(self)

            def log_message(self, format: str, *args: object) -> None:
                pass

        http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        thread = threading.Thread(target=http.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
        thread.start()
        running.append((http, thread))
        server.address = f"http://127.0.0.1:{http.server_address[1]}"
        return server

    yield start
    for http, thread in running:
        http.shutdown()
        http.server_close()
        thread.join()


@pytest.fixture
def packed_tar() -> Callable[..., bytes]:
    return tar_bytes


@pytest.fixture
def toy() -> Dataset:
    """Forty training and twenty test examples of four classes; x is the row number, so rows can be told apart."""
    return Dataset.from_arrays(
        np.arange(40, dtype=np.float32)[:, None],
        np.arange(40) % 4,
        (1000 + np.arange(20, dtype=np.float32)[:, None], np.arange(20) % 4),
        groups=np.array([f"writer{i // 8}" for i in range(40)]),
        test_groups=np.array([f"writer{i // 4}" for i in range(20)]),
    )
