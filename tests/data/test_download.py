import gzip
import io
import socket
import tarfile

import pytest

from federage.data import check, download, files, get
from federage.data.download import CHUNK
from federage.errors import DownloadError, RecordError

IMAGES = "train-images-idx3-ubyte"


def served(tiny):
    """What a mirror of the tiny MNIST holds."""
    return {f"/{name}.gz": gzip.compress(data) for name, data in tiny.files.items()}


@pytest.fixture
def big_pieces(monkeypatch):
    """Transfers in small pieces, so that the tiny files take several."""
    monkeypatch.setattr(download, "CHUNK", 1 << 12)


def assert_complete(tiny, folder):
    assert {path.name for path in (folder / "tiny").iterdir()} == set(tiny.files)  # no .part, no temporary file
    assert all((folder / "tiny" / name).read_bytes() == data for name, data in tiny.files.items())
    files.read(tiny.spec, folder)


def test_a_good_download_is_complete_reported_and_not_repeated(tiny_mnist, serve, tmp_path):
    server = serve(files=served(tiny_mnist))
    heard = []
    where = get(tiny_mnist.spec, tmp_path, mirrors=[server.address], progress=lambda *report: heard.append(report))
    assert where == tmp_path / "tiny"
    assert_complete(tiny_mnist, tmp_path)
    for path, data in server.files.items():
        assert [entry for entry in heard if "/" + entry[0] == path][-1] == (path[1:], len(data), len(data))
    requests = len(server.seen)
    assert requests == 4
    assert get(tiny_mnist.spec, tmp_path, mirrors=[server.address]) == where
    assert len(server.seen) == requests


def test_only_what_is_missing_or_damaged_is_fetched(tiny_mnist, serve, tmp_path):
    server = serve(files=served(tiny_mnist))
    tiny_mnist.write(tmp_path / "tiny")
    (tmp_path / "tiny" / IMAGES).write_bytes(b"damaged")
    (tmp_path / "tiny" / "t10k-labels-idx1-ubyte").unlink()
    get(tiny_mnist.spec, tmp_path, mirrors=[server.address + "/"])
    assert [path for path, _ in server.seen] == [f"/{IMAGES}.gz", "/t10k-labels-idx1-ubyte.gz"]
    assert_complete(tiny_mnist, tmp_path)


def test_a_packed_copy_that_is_good_is_not_fetched_again(tiny_mnist, serve, tmp_path):
    server = serve(files=served(tiny_mnist))
    tiny_mnist.write(tmp_path / "tiny", pack=True)
    (tmp_path / "tiny" / "t10k-labels-idx1-ubyte.gz").write_bytes(b"damaged")
    get(tiny_mnist.spec, tmp_path, mirrors=[server.address])
    assert [path for path, _ in server.seen] == ["/t10k-labels-idx1-ubyte.gz"]
    assert {row.state for row in check(tiny_mnist.spec, tmp_path)} == {"good"}


def test_files_kept_elsewhere_in_the_folder_are_left_alone(tiny_mnist, tmp_path):
    tiny_mnist.write(tmp_path, pack=True)
    assert get(tiny_mnist.spec, tmp_path, mirrors=["http://127.0.0.1:9"]) == tmp_path


def test_an_interrupted_download_is_resumed_by_the_next_call(tiny_mnist, serve, tmp_path, big_pieces):
    server = serve(files=served(tiny_mnist))
    whole = len(server.files[f"/{IMAGES}.gz"])

    def interrupt(file, done, total):
        if done > whole // 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        get(tiny_mnist.spec, tmp_path, mirrors=[server.address], progress=interrupt)
    (part,) = (tmp_path / "tiny").iterdir()
    assert part.name.endswith(".part")
    kept = part.stat().st_size
    assert whole // 2 < kept < whole
    get(tiny_mnist.spec, tmp_path, mirrors=[server.address])
    assert server.seen[1] == (f"/{IMAGES}.gz", f"bytes={kept}-")
    assert server.sent[1] == whole - kept
    assert_complete(tiny_mnist, tmp_path)


def test_a_mirror_that_breaks_off_is_asked_for_the_rest_at_once(tiny_mnist, serve, tmp_path):
    server = serve(files=served(tiny_mnist), cut=[1000, 500])
    whole = len(server.files[f"/{IMAGES}.gz"])
    get(tiny_mnist.spec, tmp_path, mirrors=[server.address])
    assert [span for _, span in server.seen[:3]] == [None, "bytes=1000-", "bytes=1500-"]
    assert server.sent[:3] == [1000, 500, whole - 1500]
    assert_complete(tiny_mnist, tmp_path)


def test_a_mirror_without_range_starts_over(tiny_mnist, serve, tmp_path):
    server = serve(files=served(tiny_mnist), ranges=False, cut=[1000])
    whole = len(server.files[f"/{IMAGES}.gz"])
    get(tiny_mnist.spec, tmp_path, mirrors=[server.address])
    assert server.seen[1][1] == "bytes=1000-"
    assert server.sent[1] == whole
    assert_complete(tiny_mnist, tmp_path)


def test_a_transfer_that_was_complete_but_not_unpacked_is_not_repeated(tiny_mnist, serve, tmp_path, monkeypatch):
    server = serve(files=served(tiny_mnist))
    with monkeypatch.context() as patch:
        patch.setattr(download, "_install", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt):
            get(tiny_mnist.spec, tmp_path, mirrors=[server.address])
    get(tiny_mnist.spec, tmp_path, mirrors=[server.address])
    assert len(server.seen) == 5  # one of them was answered "there is nothing beyond"
    assert len(server.sent) == 4
    assert_complete(tiny_mnist, tmp_path)


def test_a_stale_part_that_is_too_long_or_of_another_file_is_replaced(tiny_mnist, serve, tmp_path):
    server = serve(files=served(tiny_mnist), cut=[1000, 0])
    with pytest.raises(DownloadError, match="broke off after 1000 of"):
        get(tiny_mnist.spec, tmp_path, mirrors=[server.address])
    (part,) = (tmp_path / "tiny").iterdir()
    part.write_bytes(b"x" * 1000)
    get(tiny_mnist.spec, tmp_path, mirrors=[server.address])  # the digest tells, and it starts over
    assert_complete(tiny_mnist, tmp_path)
    (tmp_path / "tiny" / IMAGES).unlink()
    part.write_bytes(b"x" * 10**6)
    get(tiny_mnist.spec, tmp_path, mirrors=[server.address])
    assert_complete(tiny_mnist, tmp_path)


@pytest.mark.parametrize("chunked", [False, True])
def test_a_truncated_answer_is_never_taken_for_the_file(tiny_mnist, serve, tmp_path, chunked):
    server = serve(files=served(tiny_mnist), chunked=chunked, ranges=False, cut=[1000] * 9)
    with pytest.raises(DownloadError, match="wrong contents" if chunked else "broke off after 1000 of"):
        get(tiny_mnist.spec, tmp_path, mirrors=[server.address])
    assert all(row.state == "missing" for row in check(tiny_mnist.spec, tmp_path))


@pytest.mark.parametrize("wrong", [gzip.compress(b"something else"), b"<html>sign in</html>", b"\x1f\x8bnonsense", b""])
def test_wrong_contents_never_get_a_name_and_the_next_mirror_has_its_turn(tiny_mnist, serve, tmp_path, wrong):
    bad = serve(files=dict.fromkeys(served(tiny_mnist), wrong))
    with pytest.raises(DownloadError, match="wrong contents"):
        get(tiny_mnist.spec, tmp_path, mirrors=[bad.address])
    assert list((tmp_path / "tiny").iterdir()) == []
    good = serve(files=served(tiny_mnist))
    get(tiny_mnist.spec, tmp_path, mirrors=[bad.address, good.address])
    assert_complete(tiny_mnist, tmp_path)


def test_a_server_that_unpacks_on_the_way_is_understood(tiny_mnist, serve, tmp_path):
    server = serve(files={f"/{name}.gz": data for name, data in tiny_mnist.files.items()})
    get(tiny_mnist.spec, tmp_path, mirrors=[server.address])
    assert_complete(tiny_mnist, tmp_path)


def test_not_found_then_the_second_mirror(tiny_mnist, serve, tmp_path):
    empty, good = serve(), serve(files=served(tiny_mnist))
    get(tiny_mnist.spec, tmp_path, mirrors=[empty.address, good.address])
    assert len(empty.seen) == len(good.seen) == 4
    assert_complete(tiny_mnist, tmp_path)


def test_when_no_mirror_works_each_is_named_with_its_reason(tiny_mnist, serve, tmp_path):
    empty, cut = serve(), serve(files=served(tiny_mnist), cut=[10, 0])
    closed = "http://127.0.0.1:9"
    with pytest.raises(DownloadError) as caught:
        get(tiny_mnist.spec, tmp_path, mirrors=[empty.address, cut.address, closed, "ftp://example.org"])
    message = str(caught.value)
    assert f"{empty.address}/{IMAGES}.gz answered 404" in message
    assert f"{cut.address}/{IMAGES}.gz broke off after 10 of" in message
    assert f"{closed}/{IMAGES}.gz cannot be reached" in message
    assert "ftp://example.org/" in message
    assert "not an http" in message


def test_a_silent_mirror_runs_into_the_timeout(tiny_mnist, tmp_path, monkeypatch):
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    with socket.create_server(("127.0.0.1", 0)) as mute, pytest.raises(DownloadError, match="timed out"):
        get(tiny_mnist.spec, tmp_path, mirrors=[f"http://127.0.0.1:{mute.getsockname()[1]}"], timeout=0.2)


def test_too_much_is_refused(tiny_mnist, serve, tmp_path, monkeypatch):
    server = serve(files=served(tiny_mnist))
    monkeypatch.setattr(download, "CEILING", 1000)
    with pytest.raises(DownloadError, match="sent more than 1000 bytes"):
        get(tiny_mnist.spec, tmp_path, mirrors=[server.address])
    bomb = serve(files=dict.fromkeys(server.files, gzip.compress(bytes(10 * CHUNK))))
    with pytest.raises(DownloadError, match="unpack to more than 1000 bytes"):
        get(tiny_mnist.spec, tmp_path, mirrors=[bomb.address])
    assert list((tmp_path / "tiny").iterdir()) == []


def test_a_folder_that_cannot_be_written_is_said(tiny_mnist, serve, tmp_path):
    (tmp_path / "tiny").write_text("a file in the way")
    with pytest.raises(DownloadError, match="folder that can be written"):
        get(tiny_mnist.spec, tmp_path, mirrors=[serve(files=served(tiny_mnist)).address])


def test_an_archive_gives_its_expected_members_and_no_others(tiny_cifar, serve, packed_tar, tmp_path):
    extra = {"readme.html": b"hello", "../../evil.bin": b"evil", "/etc/evil": b"evil"}
    server = serve(files={"/tiny.tar.gz": packed_tar(tiny_cifar.files | extra)})
    get(tiny_cifar.spec, tmp_path, mirrors=[server.address])
    assert_complete(tiny_cifar, tmp_path)
    assert not list(tmp_path.rglob("evil*"))


def test_an_archive_is_all_or_nothing(tiny_cifar, serve, packed_tar, tmp_path):
    altered = packed_tar(tiny_cifar.files | {"test_batch.bin": b"altered"})
    short = packed_tar(dict(list(tiny_cifar.files.items())[:3]))
    for body, words in (
        (altered, "test_batch.bin has SHA-256"),
        (short, "archive without data_batch_4.bin"),
        (packed_tar(tiny_cifar.files)[:5000], "wrong contents"),
        (b"not an archive", "wrong contents"),
        (packed_tar(tiny_cifar.files, folder="elsewhere"), "archive without data_batch_1.bin"),
    ):
        server = serve(files={"/tiny.tar.gz": body})
        with pytest.raises(DownloadError, match=words):
            get(tiny_cifar.spec, tmp_path, mirrors=[server.address])
        assert list((tmp_path / "tiny").iterdir()) == []


def test_a_link_in_an_archive_is_not_followed(tiny_cifar, serve, tmp_path):
    secret = tmp_path / "secret"
    secret.write_bytes(b"secret")
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as archive:
        for name in tiny_cifar.files:
            link = tarfile.TarInfo(f"cifar-10-batches-bin/{name}")
            link.type, link.linkname = tarfile.SYMTYPE, str(secret)
            archive.addfile(link)
    server = serve(files={"/tiny.tar.gz": buffer.getvalue()})
    with pytest.raises(DownloadError, match="archive without"):
        get(tiny_cifar.spec, tmp_path, mirrors=[server.address])


def test_names_that_cannot_be_downloaded():
    with pytest.raises(RecordError, match="inside the package"):
        get("digits")
    with pytest.raises(RecordError, match="did you mean cifar10"):
        get("cifar-10")
