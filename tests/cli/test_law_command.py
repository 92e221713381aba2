"""`federage law`: the numbers are those of the law, each or grouped, as a picture or as JSON."""

import io
import json
import sys

import numpy as np
import pytest
from experiments_by_hand import FILE, assert_one_line

from federage.cli import main
from federage.participation import Coins, skewed, uniform


def test_each_client_of_a_few(federage, here):
    (here / "x.toml").write_text(FILE)
    status, out, err = federage("law", "x.toml")
    assert (status, err) == (0, "")
    header, *rows, what, how_pi, how_p = out.splitlines()
    assert header.split() == ["client", "pi", "p"]
    law = skewed(10, 2, 2)
    pi, p = law.inclusion().values, law.weights().values
    assert [row.split()[:3] for row in rows] == [[str(k), f"{pi[k]:.4g}", f"{p[k]:.4g}"] for k in range(10)]
    bars = [len(row.split()[3]) for row in rows]
    assert max(bars) == 30
    assert bars[0] == 30
    assert bars[9] == pytest.approx(30 * p[9] / p[0], abs=1)
    assert what.startswith("skewed: 10 clients, about 2 a round, at most 2; the greatest p is ")
    assert float(what.split()[-4]) == pytest.approx(p.max() / p.min(), rel=1e-2)
    assert how_pi.startswith("pi: exact, ")
    assert how_p.startswith("p: exact, ")
    flags = ["--law", "skewed:arrivals=2,rare=2", "--clients", 10]
    assert federage("law", *flags)[1] == out
    assert federage("law", "x.toml", "--law", "uniform:arrivals=2")[1].splitlines()[-3].endswith("all have the same p")


def test_a_folder_s_law(federage, played):
    assert federage("law", played)[1] == federage("law", "--law", "skewed:arrivals=2,rare=2", "--clients", 10)[1]


def test_many_clients_share_rows(federage):
    status, out, err = federage("law", "--law", "skewed:arrivals=30,rare=3", "--clients", 3000)
    assert status == 0
    rows = out.splitlines()[1:-3]
    assert [row.split("  ")[0] for row in rows] == ["0 to 2,996", "2,997 to 2,999"]
    assert "--json has each" in err

    rng = np.random.default_rng(0)
    tosses = rng.uniform(0.1, 0.9, 200).tolist()
    status, out, err = federage("law", "--law", f"coins:probabilities={tosses}")
    assert status == 0
    rows = [row.rsplit(None, 3)[:3] for row in out.splitlines()[1:-3]]
    assert [row[0] for row in rows] == [f"{10 * k + 1} to {10 * k + 10}" for k in range(20)]
    p = np.sort(Coins(tosses).weights().values).reshape(20, 10).mean(axis=1)
    np.testing.assert_allclose([float(row[2]) for row in rows], p, rtol=1e-3)
    assert "in the order of p" in err


def test_for_a_script(federage):
    status, out, err = federage("law", "--law", "uniform:arrivals=2", "--clients", 4, "--json")
    assert (status, err) == (0, "")
    told = json.loads(out)
    assert (told["law"], told["clients"], told["typical"], told["capacity"]) == ("uniform", 4, 2, 2)
    np.testing.assert_allclose(told["inclusion"]["values"], 0.5)
    np.testing.assert_allclose(told["weights"]["values"], uniform(4, 2).weights().values)
    assert told["weights"]["exact"]
    assert told["weights"]["error"] is None


def test_an_estimate_says_how_sure_it_is(federage):
    laws = '[{name = "uniform", arrivals = 2}, {name = "full"}]'
    words = ["law", "--law", "cyclic", "--set", f"law.laws={laws}"]
    assert federage(*words, "--clients", 4)[0] == 0
    status, out, err = federage(*words)
    assert (status, out) == (2, "")
    assert "--law cyclic: expected how many clients its laws have; give --clients N" in err


def test_a_picture(federage, here):
    for form, begins in (("svg", b"<svg"), ("png", b"\x89PNG"), ("pdf", b"%PDF")):
        status, _, err = federage("law", "--law", "full", "--clients", 3, "--out", f"law.{form}")
        assert (status, err) == (0, f"drawn in law.{form}\n")
        assert (here / f"law.{form}").read_bytes().startswith(begins)
    assert "π and p of 3 clients" in (here / "law.svg").read_text()


def test_bars_of_a_stream_without_blocks(monkeypatch):
    written = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(written, encoding="ascii"))
    assert main(["law", "--law", "coins:probabilities=[1, 0.5]"]) == 0
    first, second = written.getvalue().decode().splitlines()[1:3]
    assert first.split()[3] == "#" * 30
    assert second.split()[3] == "#" * 10, "p = 3/4 and 1/4"
    assert "?" not in written.getvalue().decode()


@pytest.mark.parametrize(
    ("words", "status", "said"),
    [
        ("law", 2, "expected a law, but neither FILE nor --law came; see federage law --help"),
        ("law --law uniform:arrivals=2", 2, "--law uniform: expected how many clients there are; give --clients N"),
        ("law --law unifrom --clients 3", 2, "unknown name 'unifrom'"),
        ("law --law uniform:arrivals=9 --clients 3", 2, "[law]: "),
        ("law --law full --clients 3 --out law.gif", 2, "--out law.gif: expected a name that ends in .svg, .png, .pdf"),
        ("law --law full --clients 3 --out no/law.svg", 1, "no/law.svg cannot be written"),
        ("law . ", 1, "is no folder of runs"),
    ],
)
def test_wrong_words(federage, here, words, status, said):
    came, _, err = federage(*words.split())
    assert came == status
    assert said in err
    assert_one_line(err)
