"""The file: what is saved comes back to the bit, and what is damaged never does."""

import errno
import os
from pathlib import Path
from typing import Any

import jax
import ml_dtypes
import numpy as np
import pytest
import safetensors.numpy

from federage.core.run import Progress
from federage.errors import CheckpointError, CheckpointMismatch, StoreError
from federage.experiments import checkpoint, disk

DTYPES = [
    *(bool, np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint16, np.uint32, np.uint64),
    *(np.float16, np.float32, np.float64, np.complex64, np.complex128),
    *(ml_dtypes.bfloat16, ml_dtypes.float8_e4m3fn, ml_dtypes.float8_e5m2, ml_dtypes.int4, ml_dtypes.uint2),
]
IDENTITY = {"method": "FedAvg", "method.lr": 0.1, "seeds": [0, 1], "smooth": None}


def progress(round: int, looks: Any, state: Any) -> Progress:
    return Progress(round, looks, state)


def some_progress(round: int = 3) -> Progress:
    """Trees of every kind, leaves of every dtype and of no size at all."""
    rng = np.random.default_rng(round)
    state = {
        "every dtype": {str(np.dtype(d)): np.asarray(rng.integers(0, 2, (2, 3)), d) for d in DTYPES},
        "special": np.array([np.nan, -0.0, np.inf, 5e-324]),
        "one number": np.float32(rng.normal()),
        "no size": [np.zeros((2, 0, 3), np.float32), np.zeros(0, bool), np.zeros((0, 2), ml_dtypes.bfloat16)],
        "empty": ((), None, {}, []),
        "not contiguous": np.asfortranarray(rng.normal(size=(4, 5)))[::2],
        "big-endian": np.arange(3, dtype=">i4"),
        "a.b": {"c": np.zeros(1)},
        "a": {"b.c": np.ones(1), "b": {"c": np.full(1, 2.0)}, "b\\": {"c": np.full(1, 3.0)}},
    }
    return progress(round, (np.arange(2 * round).reshape(2, round), {"last": rng.normal(size=(2, round))}), state)


def like(round: int) -> Progress:
    shapes = jax.tree.map(lambda a: jax.ShapeDtypeStruct(a.shape, a.dtype.newbyteorder("=")), some_progress(round)[1:])
    return Progress(round, *shapes)


def test_what_is_saved_comes_back_to_the_bit(tmp_path: Path):
    saved = some_progress()
    checkpoint.save(tmp_path, saved, IDENTITY)
    loaded = checkpoint.load(tmp_path, IDENTITY, like)
    assert loaded is not None
    assert loaded.round == 3
    assert jax.tree.structure(loaded) == jax.tree.structure(saved)
    for before, after in zip(jax.tree.leaves(saved[1:]), jax.tree.leaves(loaded[1:]), strict=True):
        assert before.dtype.newbyteorder("=") == after.dtype
        assert before.shape == after.shape
        assert before.astype(after.dtype).tobytes() == after.tobytes()


def test_the_file_depends_on_the_run_alone(tmp_path: Path):
    for name in "ab":
        with disk.held(tmp_path / name) as folder:
            checkpoint.save(folder, some_progress(), IDENTITY)
    assert (tmp_path / "a" / checkpoint.FILE).read_bytes() == (tmp_path / "b" / checkpoint.FILE).read_bytes()


def test_others_can_read_it(tmp_path: Path):
    checkpoint.save(tmp_path, some_progress(), IDENTITY)
    tensors = safetensors.numpy.load_file(tmp_path / checkpoint.FILE)
    np.testing.assert_array_equal(tensors["state.big-endian"], [0, 1, 2])
    assert [tensors[f"state.{name}"] for name in ("a\\.b.c", "a.b\\.c", "a.b.c", "a.b\\\\.c")] == [0, 1, 2, 3]


def test_an_empty_folder_has_no_checkpoint(tmp_path: Path):
    assert checkpoint.load(tmp_path, IDENTITY, like) is None


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small checkpoint, so that each of its bytes can be tried."""
    folder = tmp_path_factory.mktemp("written")
    checkpoint.save(folder, small_progress(), IDENTITY)
    return folder / checkpoint.FILE


def small_progress(round: int = 2) -> Progress:
    return progress(round, np.arange(4.0), {"theta": np.ones((2, 3), np.float32), "law": np.array([True, False])})


def refused(folder: Path, damaged: bytes) -> str:
    (folder / checkpoint.FILE).write_bytes(damaged)
    with pytest.raises(CheckpointError) as caught:
        checkpoint.load(folder, IDENTITY, small_progress)
    assert (folder / checkpoint.FILE).read_bytes() == damaged
    return str(caught.value)


def test_every_altered_byte_is_found(written: Path, tmp_path: Path):
    whole, rng = written.read_bytes(), np.random.default_rng(0)
    for place in range(len(whole)):
        altered = bytearray(whole)
        altered[place] ^= int(rng.integers(1, 256))
        assert str(tmp_path) in refused(tmp_path, bytes(altered)), place


def test_every_truncation_is_found(written: Path, tmp_path: Path):
    whole = written.read_bytes()
    for length in range(len(whole)):
        refused(tmp_path, whole[:length])
    assert "delete it to start from the beginning" in refused(tmp_path, whole + b"\0")


def test_other_files_are_no_checkpoints(tmp_path: Path):
    assert "not a checkpoint" in refused(tmp_path, safetensors.numpy.save({"a": np.ones(1)}, {"made by": "others"}))
    forged = safetensors.numpy.save({"a": np.ones(1)}, {"federage": '{"sha256": "' + "0" * 64 + '"'})
    start, stop, _, digest = checkpoint._seal(forged) or pytest.fail("it has a seal")
    assert "not a checkpoint" in refused(tmp_path, forged[:start] + digest + forged[stop:])
    (tmp_path / checkpoint.FILE).unlink()
    (tmp_path / checkpoint.FILE).mkdir()
    with pytest.raises(CheckpointError, match="cannot be read"):
        checkpoint.load(tmp_path, IDENTITY, small_progress)


def test_a_newer_format_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    with monkeypatch.context() as patch:
        patch.setattr(checkpoint, "FORMAT", 2)
        checkpoint.save(tmp_path, small_progress(), IDENTITY)
    with pytest.raises(CheckpointError, match=r"has format 2, but this federage reads format 1"):
        checkpoint.load(tmp_path, IDENTITY, small_progress)


@pytest.mark.parametrize(
    ("state", "message"),
    [
        (
            {"theta": np.ones((2, 4), np.float32), "law": np.zeros(2, bool)},
            r"float32\[2, 3\] as state.theta, .*\[2, 4\]",
        ),
        (
            {"theta": np.ones((2, 3), np.float16), "law": np.zeros(2, bool)},
            r"float32.* as state.theta, .* keeps float16",
        ),
        ({"theta": np.ones((2, 3), np.float32)}, r"holds bool\[2\] as state.law, where this program keeps nothing"),
        (
            {"theta": np.ones((2, 3), np.float32), "law": np.zeros(2, bool), "new": np.ones(1)},
            r"holds nothing as state.new",
        ),
    ],
)
def test_tensors_that_do_not_fit_are_named(written: Path, state: dict[str, np.ndarray], message: str):
    with pytest.raises(CheckpointError, match=message) as caught:
        checkpoint.load(written.parent, IDENTITY, lambda round: progress(round, np.ones(4), state))
    assert not isinstance(caught.value, CheckpointMismatch)


def test_another_experiment_is_named_by_what_differs(written: Path):
    other = {"method": "FedProx", "method.lr": 0.1, "method.mu": 0.5, "seeds": [0], "smooth": 0.9}
    with pytest.raises(CheckpointMismatch) as caught:
        checkpoint.load(written.parent, other, small_progress)
    assert "method was FedAvg, is FedProx; method.mu was absent, is 0.5; seeds was [0, 1], is [0]" in str(caught.value)
    assert "and 1 more" in str(caught.value)


@pytest.mark.parametrize("step", ["fsync", "replace"])
def test_a_death_in_the_middle_of_saving_leaves_the_old_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str):
    class Death(BaseException):
        pass

    def die(*_: object) -> None:
        raise Death

    checkpoint.save(tmp_path, small_progress(2), IDENTITY)
    before = (tmp_path / checkpoint.FILE).read_bytes()
    with monkeypatch.context() as patch:
        patch.setattr(os, step, die)
        with pytest.raises(Death):
            checkpoint.save(tmp_path, small_progress(4), IDENTITY)
    assert (tmp_path / checkpoint.FILE).read_bytes() == before
    assert len(os.listdir(tmp_path)) == 2  # with what was half written
    with disk.held(tmp_path):
        assert os.listdir(tmp_path) == [checkpoint.FILE]
    assert (checkpoint.load(tmp_path, IDENTITY, small_progress) or pytest.fail("it is there")).round == 2


def test_a_full_disk_leaves_the_old_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    checkpoint.save(tmp_path, small_progress(2), IDENTITY)
    before = (tmp_path / checkpoint.FILE).read_bytes()
    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(StoreError, match="No space left on device"):
        checkpoint.save(tmp_path, small_progress(4), IDENTITY)
    assert os.listdir(tmp_path) == [checkpoint.FILE]
    assert (tmp_path / checkpoint.FILE).read_bytes() == before


def test_the_data_are_on_the_disk_before_the_name_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    done: list[str] = []
    for step in ("fsync", "replace"):
        real = getattr(os, step)
        monkeypatch.setattr(os, step, lambda *a, real=real, step=step: (done.append(step), real(*a))[1])
    checkpoint.save(tmp_path, small_progress(), IDENTITY)
    assert done == ["fsync", "replace", "fsync"]


def test_a_folder_that_cannot_be_written_to(tmp_path: Path):
    (tmp_path / "file").write_text("")
    for folder in (tmp_path / "file", tmp_path / "file" / "below"):
        with (
            pytest.raises(StoreError, match=f"{folder} cannot be written to .*; pass a folder that can"),
            disk.held(folder),
        ):
            pytest.fail("it was not refused")


def test_two_programs_do_not_share_a_folder(tmp_path: Path):
    with (
        disk.held(tmp_path),
        pytest.raises(StoreError, match="another program is at work"),
        disk.held(tmp_path),
    ):
        pytest.fail("it was not refused")
    with disk.held(tmp_path):
        pass
