"""`federage list`, `cite` and `completion`."""

import json
import re
import shutil
import subprocess

import pytest
from experiments_by_hand import FILE, assert_one_line

import federage as fr
from federage import participation, references
from federage.cli import completion, paper
from federage.cli.main import parser
from federage.experiments.experiment import PARTITIONS
from federage.experiments.sources import SOURCES
from federage.paper import FIGURES

LISTS = {
    "algorithms": fr.algorithms.ALGORITHMS,
    "laws": participation.LAWS,
    "datasets": SOURCES,
    "partitions": PARTITIONS,
    "models": fr.models.MODELS,
}


def test_lists_hold_what_there_is(federage):
    for name, known in LISTS.items():
        status, out, err = federage("list", name)
        assert (status, err) == (0, "")
        header, *rows = out.splitlines()
        assert header.split()[0] == "name"
        assert [row.split()[0] for row in rows] == list(known)
        if name != "datasets":
            for row, thing in zip(rows, known.values(), strict=True):
                assert row.endswith((thing.__doc__ or "").strip().splitlines()[0].rstrip("."))
        assert out in federage("list")[1]
        entries = json.loads(federage("list", name, "--json")[1])[name]
        assert [entry["name"] for entry in entries] == list(known)
        assert all(("reads" in entry) == (name == "algorithms") for entry in entries)
    rows = federage("list", "algorithms")[1].splitlines()[1:]
    assert {row.split()[0] for row in rows if "client memory" in row} == {"scaffold", "federage_cv"}
    told = json.loads(federage("list", "--json")[1])
    assert list(told) == list(LISTS)
    scaffold = next(entry for entry in told["algorithms"] if entry["name"] == "scaffold")
    assert scaffold["reads"] == ["client memory"]
    assert scaffold["settings"] == {"lr": None, "server_lr": "1.0", "within": "None"}


def test_every_method_and_dataset_says_what_to_cite():
    entries = references.entries()
    assert set(references.METHODS) == set(fr.algorithms.ALGORITHMS)
    assert set(fr.data.DATASETS) <= set(references.DATA)
    keys = {key for of in (references.METHODS, references.DATA) for named in of.values() for key in named}
    assert keys | set(references.ENGINE) == set(entries)
    for key, entry in entries.items():
        assert re.match(rf"@\w+\{{{key},\n", entry)
        assert entry.count("{") == entry.count("}")
        assert re.search(r"^  title +=", entry, re.MULTILINE)


def test_citing_an_experiment(federage, played, here):
    (here / "x.toml").write_text(FILE)
    status, out, err = federage("cite", "x.toml")
    assert (status, err) == (0, "")
    assert re.findall(r"^@\w+\{(\w+),", out, re.MULTILINE) == ["federage", "jax", "optax", "fedavg", "cvar", "digits"]
    assert federage("cite", played)[1] == out
    assert federage("cite", "fedprox", "cifar10", "fedprox")[1].count("@") == 2
    assert "2009" in federage("cite", "cifar10")[1]
    status, out, err = federage("cite", "fedprx")
    assert (status, out) == (2, "")
    assert "unknown name 'fedprx'" in err
    assert "did you mean fedprox?" in err
    assert_one_line(err)


def test_what_is_one_s_own_is_not_cited(federage, here):
    (here / "x.toml").write_text(FILE.replace('name = "digits"', 'name = "csv"\npath = "x.csv"\nlabel = "y"'))
    status, out, err = federage("cite", "x.toml")
    assert status == 0
    assert "digits" not in out
    assert err == "csv is your own: cite it as you know it\n"


def test_the_paper_s_figures_are_those_that_are_named():
    assert tuple(FIGURES) == paper.FIGURES
    assert all(re.search(rf"^ +(NAME +)?{name}  ", paper.HELP, re.MULTILINE) for name in FIGURES)


@pytest.fixture(scope="module")
def script():
    return completion.bash(list(completion.places(parser())))


def complete(script, *words):
    """What bash offers for the last word."""
    line = " ".join(f"'{word}'" for word in words)
    asked = (
        f"{script}\nCOMP_WORDS=({line}); COMP_CWORD={len(words) - 1}; _federage; printf '%s\\n' \"${{COMPREPLY[@]}}\""
    )
    done = subprocess.run(["bash", "-c", asked], capture_output=True, text=True, check=True)
    assert done.stderr == ""
    return done.stdout.split()


@pytest.mark.skipif(shutil.which("bash") is None, reason="there is no bash here")
def test_bash_completes(script):
    def offers(*words):
        return complete(script, "federage", *words)

    assert offers("d") == ["demo", "data"]
    assert offers("data", "") == ["get", "check", "--help"]
    assert offers("data", "g") == ["get"]
    assert offers("data", "get", "m") == ["mnist"]
    assert offers("data", "get", "--to", "data", "c") == ["cifar10"]
    assert offers("run", "--lo") == ["--local-steps", "--local-epochs"]
    assert offers("run", "x.toml", "--law", "") == list(participation.LAWS)
    assert offers("run", "x.toml", "--law", "uniform", "--mod") == ["--model"]
    assert offers("run", "x") == [], "a file's name: bash knows those"
    assert offers("run", "--out", "") == []
    assert offers("table", "--checkpoint", "s") == ["smooth"]
    assert offers("paper", "fig") == ["fig1", "fig3", "fig4"]
    assert offers("cite", "fedp") == ["fedprox"]
    registered = subprocess.run(["bash", "-c", f"{script}\ncomplete -p federage"], capture_output=True, text=True)
    assert registered.stdout == "complete -o default -F _federage federage\n"


def test_every_shell_is_told_every_command_and_option(federage):
    for shell in completion.SHELLS:
        status, out, err = federage("completion", shell)
        assert (status, err) == (0, "")
        for place in completion.places(parser()):
            assert all(word in out for word in place.words)
            assert all(option.lstrip("-") in out for option in place.options if option.startswith("--"))
        if shutil.which(shell):
            subprocess.run([shell, "-n", "/dev/stdin"], input=out, text=True, check=True)
