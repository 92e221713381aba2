"""The command as a person or a script meets it: streams, exit statuses, errors of one line."""

import dataclasses
import gzip
import hashlib
import io
import os
import re
import struct
import subprocess
import sys
import threading
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from importlib import metadata

import numpy as np
import pytest

import federage as fr
from federage import participation
from federage.cli import lists, main, terminal
from federage.data import SPECS, Spec, formats
from federage.experiments import demo as demonstration
from federage.experiments.experiment import Choice

COMMANDS = ([], ["demo"], ["data"], ["data", "get"], ["data", "check"], ["list"])


@pytest.fixture(autouse=True)
def nobody_s_settings(monkeypatch, tmp_path):
    for name in ("NO_COLOR", "FEDERAGE_TRACEBACK", "FORCE_COLOR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("FEDERAGE_DATA", str(tmp_path / "data"))


@pytest.fixture
def federage(capsys):
    """Run the command; gives its exit status and what it wrote to each stream."""

    def run(*words):
        status = main([str(word) for word in words])
        return status, *capsys.readouterr()

    return run


def assert_one_line(err):
    assert err.startswith("error: ")
    assert err.count("\n") == 1
    assert err.endswith("\n")
    assert "Traceback" not in err


@pytest.mark.parametrize("words", COMMANDS)
def test_help_is_data(federage, words):
    status, out, err = federage(*words, "--help")
    assert (status, err) == (0, "")
    assert f"Usage: {' '.join(['federage', *words])}" in out
    assert "\033" not in out
    assert max(map(len, out.splitlines())) <= 90
    assert federage(*words, "-h") == (status, out, err)


@pytest.mark.parametrize("words", COMMANDS)
def test_help_names_every_option_there_is_and_no_other(federage, words):
    _, out, _ = federage(*words, "--help")
    described = out.split("Examples:")[0]
    told = set(re.findall(r"(?<![\w-])--\w+", described))
    status, _, err = federage(*words, *["mnist"] * (words[-1:] == ["get"]), "--no-such-option")
    assert status == 2
    known = set(re.findall(r"--\w+", err.split("expected one of")[1].split(";")[0]))
    assert told == known


@pytest.mark.parametrize("words", COMMANDS)
def test_examples_in_the_help_are_understood(federage, words, monkeypatch):
    _, out, _ = federage(*words, "--help")
    played = []
    for name in ("demo.run", "data.get", "data.check", "lists.run"):
        monkeypatch.setattr(f"federage.cli.{name}", lambda arguments: played.append(arguments) or 0)
    examples = [line.split()[1:] for line in out.split("Examples:")[-1].splitlines() if line.startswith("  federage ")]
    assert all(federage(*example) == (0, "", "") for example in examples)
    assert len(played) == len(examples)
    assert examples or words == ["data"]


def test_the_demo_s_help_tells_its_defaults(federage):
    _, out, _ = federage("demo", "--help")
    assert f"[default: {demonstration.ROUNDS}]" in out
    assert f"[default: {demonstration.SEEDS}]" in out
    words = ["no", "one", "two", "three", "four", "five", "six", "seven", "eight"]
    assert f"Play {words[len(demonstration.METHODS)]} methods" in out
    assert f"{demonstration.CLIENTS} clients" in out
    assert f"{words[demonstration.RARE]} of them" in out


def test_version(federage):
    assert federage("--version") == (0, f"federage {metadata.version('federage')}\n", "")


@pytest.mark.parametrize("words", [[], ["data"]])
def test_a_command_that_is_missing_shows_the_help_as_a_message(federage, words):
    status, out, err = federage(*words)
    assert (status, out) == (2, "")
    assert err == federage(*words, "--help")[1]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("dmeo", "unknown command 'dmeo', expected one of demo, data, list; did you mean demo?; see federage --help"),
        ("data gte mnist", "unknown command 'gte', expected one of get, check; did you mean get?"),
        ("qqqq", "unknown command 'qqqq', expected one of demo, data, list; see federage --help"),
        ("list law", "unknown list 'law', expected one of algorithms, datasets, laws, models; did you mean laws?"),
        ("list laws models", "no word expected here, but 'models' came; see federage list --help"),
        ("demo --round 3", "unknown option '--round', expected one of --help, --rounds, --seeds, --out; did you mean"),
        ("demo --rounds 0", "--rounds: expected a whole number of at least 1, but '0' came; see federage demo --help"),
        ("demo --rounds 1e3", "--rounds: expected a whole number of at least 1, but '1e3' came"),
        ("demo --seeds=-1", "--seeds: expected a whole number of at least 1, but '-1' came"),
        ("demo --rounds", "--rounds: expected one argument; see federage demo --help"),
        ("data get", "required: NAME; see federage data get --help"),
        (
            "data get mnsit",
            "'mnsit' is not a known dataset: expected one of mnist, fashion_mnist, cifar10; did",
        ),
        ("data get digits", "'digits' comes inside the package and needs no download"),
        ("data check mnsit", "did you mean 'mnist'?"),
    ],
)
def test_bad_input_is_told_in_one_line_and_exits_with_2(federage, words, said):
    status, out, err = federage(*words.split())
    assert (status, out) == (2, "")
    assert said in err
    assert_one_line(err)


def test_an_unexpected_error_is_one_line_too_unless_asked_for_more(federage, monkeypatch):
    def fail():
        raise ZeroDivisionError("one\n  two")

    monkeypatch.setitem(lists.LISTS, "laws", fail)
    status, out, err = federage("list", "laws")
    assert (status, out) == (1, "")
    assert err == "error: unexpected ZeroDivisionError: one two; FEDERAGE_TRACEBACK=1 shows where\n"
    monkeypatch.setenv("FEDERAGE_TRACEBACK", "1")
    with pytest.raises(ZeroDivisionError):
        federage("list", "laws")


def test_an_interrupt_is_no_error(federage, monkeypatch):
    def interrupt():
        raise KeyboardInterrupt

    monkeypatch.setitem(lists.LISTS, "laws", interrupt)
    assert federage("list", "laws") == (130, "", "interrupted\n")


def test_lists_hold_what_there_is(federage):
    for name, known in (
        ("algorithms", fr.algorithms.ALGORITHMS),
        ("laws", participation.LAWS),
        ("models", fr.models.MODELS),
        ("datasets", fr.data.DATASETS),
    ):
        status, out, err = federage("list", name)
        assert (status, err) == (0, "")
        header, *rows = out.splitlines()
        assert header.split()[0] == "name"
        assert [row.split()[0] for row in rows] == list(known)
        if name != "datasets":
            for row, thing in zip(rows, known.values(), strict=True):
                assert row.endswith((thing.__doc__ or "").strip().splitlines()[0].rstrip("."))
        assert out in federage("list")[1]
    rows = federage("list", "algorithms")[1].splitlines()[1:]
    assert {row.split()[0] for row in rows if "client memory" in row} == {"scaffold", "federage_cv"}


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.mark.parametrize(
    ("setting", "colourful"),
    [({}, True), ({"NO_COLOR": "1"}, False), ({"TERM": "dumb"}, False), ({"NO_COLOR": ""}, True)],
)
def test_colour_only_on_a_terminal_that_wants_it(monkeypatch, setting, colourful):
    for name, value in setting.items():
        monkeypatch.setenv(name, value)
    for words in (["--help"], ["list"]):
        monkeypatch.setattr(sys, "stdout", Terminal())
        assert main(words) == 0
        assert ("\033[" in sys.stdout.getvalue()) == colourful
    assert not terminal.colourful(io.StringIO())


def test_a_stream_without_greek_letters_gets_a_question_mark(monkeypatch):
    written = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(written, encoding="ascii"))
    monkeypatch.setitem(lists.LISTS, "laws", lambda: (["name"], [["FedAvg at κ·lr"]]))
    assert main(["list", "laws"]) == 0
    assert written.getvalue() == b"name\nFedAvg at ??lr\n"


def run_truly(*words):
    command = [sys.executable, "-m", "federage.cli", *words]
    buffered = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=buffered)


def test_a_true_process():
    with run_truly("list", "datasets") as done:
        out, err = done.communicate(timeout=120)
    assert (done.returncode, err) == (0, b"")
    assert out.splitlines()[1].split() == [b"digits", b"inside", b"the", b"package"]


def test_a_reader_who_stops_reading_is_no_error():
    with run_truly("list") as done:
        done.stdout.close()  # before the command has even started: what `| head` does, for certain
        err = done.stderr.read()
        assert (done.wait(timeout=120), err) == (0, b"")


@pytest.fixture
def tiny(monkeypatch, tmp_path):
    """A dataset in MNIST's format, known by name, and the address of a mirror that has it."""
    rng = np.random.default_rng(0)
    files = {}
    for part, n in (("train", 60), ("t10k", 20)):
        for kind, array in (
            ("images-idx3", rng.integers(0, 256, (n, 28, 28), np.uint8)),
            ("labels-idx1", rng.integers(0, 10, n, np.uint8)),
        ):
            head = bytes((0, 0, 8, array.ndim)) + struct.pack(f">{array.ndim}I", *array.shape)
            files[f"{part}-{kind}-ubyte"] = head + array.tobytes()
    digests = {name: hashlib.sha256(data).hexdigest() for name, data in files.items()}
    monkeypatch.setitem(SPECS, "tiny", Spec("tiny", digests, (), formats.mnist, 10, suffix=".gz"))
    (tmp_path / "mirror").mkdir()
    for name, data in files.items():
        (tmp_path / "mirror" / f"{name}.gz").write_bytes(gzip.compress(data))
    quiet = type("Quiet", (SimpleHTTPRequestHandler,), {"log_message": lambda *_: None})
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(quiet, directory=tmp_path / "mirror")) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


def test_data_are_fetched_and_checked(federage, tiny, tmp_path):
    status, out, err = federage("data", "check", "tiny", "--in", tmp_path / "here")
    assert status == 1
    assert out.count("missing") == 4
    assert err == f"tiny is not whole; get it with: federage data get tiny --to {tmp_path / 'here'}\n"

    status, out, err = federage("data", "get", "tiny", "--to", tmp_path / "here", "--mirror", tiny)
    assert (status, out) == (0, f"{tmp_path / 'here' / 'tiny'}\n")
    assert err.count(" MB\n") >= 4
    assert all(" of " in line for line in err.splitlines())

    status, out, err = federage("data", "check", "tiny", "digits", "--in", tmp_path / "here")
    assert (status, err) == (0, "")
    assert [line.split()[2] for line in out.splitlines()[1:]] == ["good"] * 5

    (tmp_path / "here" / "tiny" / "t10k-labels-idx1-ubyte").write_bytes(b"\0")
    status, out, err = federage("data", "check", "tiny", "--in", tmp_path / "here")
    assert status == 1
    assert out.count("good") == 3
    assert "federage data get tiny" in err


def test_data_lie_where_the_environment_says(federage, tiny, tmp_path):
    assert federage("data", "get", "tiny", "--mirror", tiny)[:2] == (0, f"{tmp_path / 'data' / 'tiny'}\n")
    assert federage("data", "check", "tiny")[0] == 0


def test_a_mirror_that_fails_is_named_and_exits_with_1(federage, tiny, tmp_path):
    nowhere = "http://127.0.0.1:9"
    status, out, err = federage("data", "get", "tiny", "--mirror", nowhere)
    assert (status, out) == (1, "")
    assert nowhere in err
    assert_one_line(err)
    assert federage("data", "get", "tiny", "--mirror", nowhere, "--mirror", tiny)[0] == 0


whole = demonstration.demo


def small(rounds, seeds):
    """The demonstration with a linear model and three methods, one of which goes astray."""
    methods = {"FedAvg": fr.FedAvg(0.1), "too far": fr.FedAvg(3e38), "FedeRage": fr.FedeRage(0.1)}
    return dataclasses.replace(whole(rounds, seeds), model=Choice.of("softmax"), methods=methods)


def test_the_demo(federage, monkeypatch, tmp_path):
    monkeypatch.setattr(demonstration, "demo", small)
    status, out, err = federage("demo", "--rounds", 8, "--seeds", 2, "--out", tmp_path / "new" / "folder")
    assert status == 0, err

    header, *rows, path = out.splitlines()
    assert re.split(r"  +", header) == ["accuracy in %", "all clients", "worst client", "worst 10 %", "rare group"]
    assert len(rows) == 3 * (1 + 3)
    assert len({len(row) for row in rows if row.startswith("  ") and not row.endswith("-")}) == 1, "flushed right"
    assert [re.split(r"  +", row.strip())[1:] for row in rows if "too far" in row] == [["-"] * 4] * 3
    assert path == str(tmp_path / "new" / "folder" / "report.html")
    assert "<!DOCTYPE html>" in (tmp_path / "new" / "folder" / "report.html").read_text()

    first, *log = err.splitlines()
    assert first == "3 methods, 8 rounds, 2 seeds each"
    told = [line for line in log if re.match(r"(FedAvg  |FedeRage|too far )  round [2468]/8", line)]
    assert len(told) == 3 * 4, "a line every quarter"
    assert all(
        re.search(r"accuracy +\d+\.\d %  worst client +\d+\.\d %", line) for line in told if "too far" not in line
    )
    assert all("2 of 2 runs not finite" in line and "accuracy" not in line for line in told if "too far" in line)
    assert all("beta 0." in line for line in told if "FedeRage" in line)
    assert "mean ± standard deviation over 2 seeds, after 8 rounds, on test examples" in log
    assert re.search(
        r"too far became non-finite \(seed 0 after round \d, seed 1 after round \d\); those runs are in no", err
    )
    assert "\033" not in out + err
    assert "\r" not in out + err
    assert "nan" not in out + err


def test_a_folder_that_cannot_be_written_to_is_found_before_the_work(federage, monkeypatch, tmp_path):
    monkeypatch.setattr("federage.experiments.outcome.play", lambda *_: pytest.fail("it worked first"))
    (tmp_path / "file").touch()
    for folder in (tmp_path / "file", tmp_path / "file" / "below"):
        status, out, err = federage("demo", "--out", folder)
        assert (status, out) == (1, "")
        assert f"{folder} cannot be written to" in err
        assert "name another folder with --out" in err
        assert_one_line(err)
    if os.geteuid():  # nobody keeps root out
        locked = tmp_path / "locked"
        locked.mkdir(mode=0o500)
        assert federage("demo", "--out", locked)[0] == 1
