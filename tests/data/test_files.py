import gzip

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from federage.data import check, files, load
from federage.data.formats import Contents, cifar_batch, idx
from federage.errors import DamagedFile, MissingData, RecordError


@pytest.fixture(params=["tiny_mnist", "tiny_cifar"])
def tiny(request):
    return request.getfixturevalue(request.param)


@pytest.mark.parametrize("pack", [False, True])
def test_files_are_found_and_read_wherever_they_may_lie(tiny, tmp_path, pack):
    for place in {"tiny", ".", f"./{tiny.spec.inside}", f"tiny/{tiny.spec.inside}"}:
        folder = tmp_path / place.replace("/", "-")
        tiny.write(folder / place, pack)
        data = files.read(tiny.spec, folder)
        for got, expected in ((data.train, tiny.train), (data.test, tiny.test)):
            np.testing.assert_array_equal(got.x, expected[0])
            np.testing.assert_array_equal(got.y, expected[1])
            assert got.x.dtype == np.uint8
        assert {row.state for row in check(tiny.spec, folder)} == {"good"}


def test_inputs_are_standardised(tiny_mnist, tmp_path):
    tiny_mnist.write(tmp_path)
    data = files.read(tiny_mnist.spec, tmp_path)
    np.testing.assert_allclose(data.inputs(data.train.x), (data.train.x / 255 - 0.5) / 0.25, rtol=1e-5, atol=1e-6)


def test_missing_data_says_where_what_and_how(tiny_mnist, tmp_path):
    with pytest.raises(MissingData) as caught:
        files.read(tiny_mnist.spec, tmp_path)
    message = str(caught.value)
    assert str(tmp_path) in message
    assert f"federage data get tiny --to {tmp_path}" in message
    assert all(name in message for name in tiny_mnist.files)
    tiny_mnist.write(tmp_path / "tiny")
    (tmp_path / "tiny" / "t10k-labels-idx1-ubyte").unlink()
    with pytest.raises(MissingData, match="t10k-labels-idx1-ubyte are missing"):
        files.read(tiny_mnist.spec, tmp_path)
    assert [row.state for row in check(tiny_mnist.spec, tmp_path)] == ["good", "good", "good", "missing"]


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(where=st.floats(0, 1, exclude_max=True), flip=st.integers(1, 255), which=st.integers(0, 3))
def test_one_altered_byte_anywhere_is_noticed_and_named(tiny_mnist, tmp_path, where, flip, which):
    tiny_mnist.write(tmp_path)
    path = tmp_path / list(tiny_mnist.files)[which]
    data = bytearray(path.read_bytes())
    data[int(where * len(data))] ^= flip
    path.write_bytes(data)
    with pytest.raises(DamagedFile, match=path.name):
        files.read(tiny_mnist.spec, tmp_path)
    assert [row.file for row in check(tiny_mnist.spec, tmp_path) if row.state == "damaged"] == [path.name]


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(keep=st.floats(0, 1, exclude_max=True), which=st.integers(0, 5), pack=st.booleans())
def test_a_truncated_file_is_noticed_even_without_digests(tiny, tmp_path, keep, which, pack):
    tiny.write(tmp_path, pack)
    name = list(tiny.files)[which % len(tiny.files)]
    path = tmp_path / (name + ".gz" * pack)
    other = tmp_path / (name + ".gz" * (not pack))
    other.unlink(missing_ok=True)
    data = path.read_bytes()
    path.write_bytes(data[: int(keep * len(data))])
    # Cutting whole records off leaves a well-formed CIFAR batch: only its digest tells.
    whole = not pack and tiny.spec.inside and path.stat().st_size and path.stat().st_size % 3073 == 0
    with pytest.raises(DamagedFile, match=path.name):
        files.read(tiny.spec, tmp_path, verify=bool(whole))
    for copy in tmp_path.iterdir():
        copy.unlink()


def test_a_damaged_archive_copy_is_reported_by_check(tiny_mnist, tmp_path):
    tiny_mnist.write(tmp_path, pack=True)
    path = tmp_path / "train-images-idx3-ubyte.gz"
    path.write_bytes(path.read_bytes()[:-9])
    row = check(tiny_mnist.spec, tmp_path)[0]
    assert row.state == "damaged"
    assert row.path == path


def contents(tmp_path, data):
    return Contents(tmp_path / "some-file", data)


def test_idx_wrong_magic_header_and_length(tmp_path):
    good = bytes((0, 0, 8, 1, 0, 0, 0, 3, 7, 8, 9))
    np.testing.assert_array_equal(idx(contents(tmp_path, good), 1), [7, 8, 9])
    for data, words in (
        (b"", "magic 00000801.*nothing"),
        (gzip.compress(good), "magic 00000801.*1f8b0800"),
        (good[:3] + b"\x03" + good[4:], "magic 00000801.*00000803"),
        (good[:6], "header of 8 bytes"),
        (good[:-1], "expected 11 bytes.*has 10"),
        (good + b"\0", "expected 11 bytes.*has 12"),
    ):
        with pytest.raises(DamagedFile, match=words):
            idx(contents(tmp_path, data), 1)


def test_cifar_wrong_length_and_label(tmp_path):
    record = bytes([3]) + bytes(range(256)) * 12
    got = cifar_batch(contents(tmp_path, record))
    assert got.x.shape == (1, 32, 32, 3)
    assert got.x[0, 0, 5].tolist() == [5, 5, 5]  # 1,024 is a multiple of 256: all three channels count alike
    for data, words in ((b"", "0 bytes"), (record[:-1], "3073"), (b"\x0b" + record[1:], "record 0 has 11")):
        with pytest.raises(DamagedFile, match=words):
            cifar_batch(contents(tmp_path, data))


def test_labels_and_images_must_be_as_many(tiny_mnist, tmp_path):
    tiny_mnist.write(tmp_path)
    (tmp_path / "train-labels-idx1-ubyte").write_bytes(tiny_mnist.files["t10k-labels-idx1-ubyte"])
    with pytest.raises(DamagedFile, match="expected 60 labels"):
        files.read(tiny_mnist.spec, tmp_path, verify=False)


def test_folder_is_the_argument_then_the_environment_then_the_cache(tiny_mnist, tmp_path, monkeypatch):
    monkeypatch.setenv("FEDERAGE_DATA", str(tmp_path / "env"))
    assert files.home() == tmp_path / "env"
    assert files.home(tmp_path / "given") == tmp_path / "given"
    tiny_mnist.write(tmp_path / "env" / "tiny")
    assert len(files.read(tiny_mnist.spec).train.y) == 60
    monkeypatch.delenv("FEDERAGE_DATA")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert files.home() == tmp_path / ".cache" / "federage"


def test_load_suggests_the_nearest_name(tmp_path):
    with pytest.raises(RecordError, match="did you mean fashion_mnist"):
        load("Fashion-MNIST")
    with pytest.raises(RecordError, match="expected one of digits, mnist, fashion_mnist, cifar10"):
        load("quux")
    with pytest.raises(MissingData, match="federage data get mnist"):
        load("mnist", tmp_path)
    with pytest.raises(RecordError, match="inside the package"):
        check("digits")
