"""The command as a person or a script meets it: streams, exit statuses, errors of one line."""

import gzip
import hashlib
import io
import re
import shlex
import struct
import sys
import threading
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from importlib import metadata

import numpy as np
import pytest
from experiments_by_hand import assert_one_line, truly

from federage.cli import lists, main, terminal
from federage.data import SPECS, Spec, formats

COMMANDS = (
    [],
    ["demo"],
    ["run"],
    ["tune"],
    ["paper"],
    ["table"],
    ["compare"],
    ["report"],
    ["data"],
    ["data", "get"],
    ["data", "check"],
    ["list"],
    ["law"],
    ["cite"],
    ["completion"],
)
ALL = "demo, run, tune, paper, table, compare, report, data, list, law, cite, completion"
RUN = ("demo.run", "run.run", "tune.run", "paper.run", "results.table", "results.compare", "report.run", "data.get")
RUN += ("data.check", "lists.run", "law.run", "cite.run", "completion.run")
NEEDED = {"tune": "x.toml", "paper": "fig1", "table": "x", "compare": "x", "report": "x", "cite": "x"}
NEEDED |= {"completion": "bash", "get": "mnist"}


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
    told = set(re.findall(r"(?<![\w-])--[\w-]+", described))
    needed = [NEEDED[word] for word in words[-1:] if word in NEEDED]
    status, _, err = federage(*words, *needed, "--no-such-option")
    assert status == 2
    known = set(re.findall(r"--[\w-]+", err.split("expected one of")[1].split(";")[0]))
    assert told == known


@pytest.mark.parametrize("words", COMMANDS)
def test_examples_in_the_help_are_understood(federage, words, monkeypatch):
    _, out, _ = federage(*words, "--help")
    played = []
    for name in RUN:
        monkeypatch.setattr(f"federage.cli.{name}", lambda arguments: played.append(arguments) or 0)
    text = out.split("Examples:")[-1].replace("\\\n", "")
    examples = [
        shlex.split(line.partition(" > ")[0])[1:] for line in text.splitlines() if line.startswith("  federage ")
    ]
    assert all(federage(*example) == (0, "", "") for example in examples)
    assert len(played) == len(examples)
    assert examples or words == ["data"]


def test_the_help_names_every_command_under_a_heading(federage):
    lines = federage("--help")[1].split("Options:")[0].splitlines()
    told = [line.split("  ")[1] for line in lines if re.match(r"  [a-z]", line)]
    assert sorted(told) == sorted(" ".join(words) for words in COMMANDS if words and words != ["data"])


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
        ("dmeo", f"unknown command 'dmeo', expected one of {ALL}; did you mean demo?; see federage --help"),
        ("data gte mnist", "unknown command 'gte', expected one of get, check; did you mean get?"),
        ("qqqq", f"unknown command 'qqqq', expected one of {ALL}; see federage --help"),
        (
            "list law",
            "unknown list 'law', expected one of algorithms, datasets, laws, models, partitions; did you mean laws?",
        ),
        ("list laws models", "no word expected here, but 'models' came; see federage list --help"),
        (
            "demo --round 3",
            "unknown option '--round', expected one of --help, --rounds, --seeds, --motivation, --out; did you",
        ),
        ("demo --rounds 0", "--rounds: expected a whole number of at least 1, but '0' came; see federage demo --help"),
        ("demo --rounds 1e3", "--rounds: expected a whole number of at least 1, but '1e3' came"),
        ("demo --seeds=-1", "--seeds: expected a whole number of at least 1, but '-1' came"),
        ("demo --rounds", "--rounds: expected one argument; see federage demo --help"),
        ("data get", "required: NAME; see federage data get --help"),
        (
            "data get mnsit",
            "unknown dataset 'mnsit', expected one of mnist, fashion_mnist, cifar10; did you mean mnist?",
        ),
        ("data get digits", "'digits' comes inside the package and needs no download"),
        ("data check mnsit", "did you mean mnist?"),
        ("paper fig2", "unknown NAME 'fig2', expected one of table1, fig1"),
        ("report runs --format pgn", "unknown format 'pgn', expected one of html, png"),
        ("table", "required: DIR; see federage table --help"),
        ("table runs --csv --json", "not allowed with"),
        ("completion tcsh", "unknown SHELL 'tcsh', expected one of bash, zsh, fish"),
        ("run --process -1", "--process: expected"),
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
    monkeypatch.setitem(lists.LISTS, "laws", lambda: [lists.Entry("FedAvg at κ·lr", {}, "")])
    assert main(["list", "laws"]) == 0
    assert written.getvalue().splitlines()[1].strip() == b"FedAvg at ??lr"


def test_a_true_process():
    with truly("list", "datasets") as done:
        out, err = done.communicate(timeout=120)
    assert (done.returncode, err) == (0, "")
    assert out.splitlines()[1].split() == ["digits", "folder=None", "inside", "the", "package"]


def test_a_reader_who_stops_reading_is_no_error():
    with truly("list") as done:
        done.stdout.close()  # before the command has even started: what `| head` does, for certain
        err = done.stderr.read()
        assert (done.wait(timeout=120), err) == (0, "")


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
