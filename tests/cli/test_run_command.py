"""`federage run` as a person or a script meets it."""

import json
import re
import signal
import socket
import tomllib

import pytest
from experiments_by_hand import FILE, FLAGS, assert_one_line, truly

import federage as fr
from federage.experiments import load


@pytest.fixture
def file(here):
    (here / "x.toml").write_text(FILE)
    return "x.toml"


def test_from_a_file_to_a_table(federage, file, here):
    status, out, err = federage("run", file)
    assert status == 0, err
    header, *rows, folder = out.splitlines()
    assert header.startswith("accuracy in %")
    assert len([row for row in rows if re.match(r"  Fed", row)]) == 2 * 3
    assert folder == "runs/x"

    first, *log = err.splitlines()
    assert first == "Two of ten hardly ever come (2 methods, 12 rounds, 3 seeds)"
    told = [line for line in log if " round " in line]
    assert [line.split()[:5] for line in told] == [
        [f"{k}/2", name, "round", f"{round}/12", "accuracy"]
        for k, name in ((1, "FedAvg"), (2, "FedeRage"))
        for round in (4, 6, 10, 12)
    ], "a line every quarter"
    assert all(re.search(r"accuracy +\d+\.\d %  worst client +\d+\.\d %", line) for line in told)
    assert [" beta 0." in line for line in told] == [False] * 4 + [True] * 4
    assert all("rounds/s" in line for line in told[1:4])
    assert "left" not in told[3]
    assert err.endswith("for pictures: federage report runs/x\n")
    assert "\033" not in out + err
    assert "\r" not in out + err

    recorded = fr.open("runs/x")
    assert recorded.finished
    last = recorded.looks.filter(method="FedAvg", round=12, checkpoint="last")["accuracy"].mean()
    assert f"{100 * last:.1f} %" in told[3]


def test_a_finished_experiment_is_not_played_again_and_flags_give_the_same(federage, file, here):
    _, out, _ = federage("run", file, "--out", "runs/x")
    before = {path: path.stat().st_mtime_ns for path in here.glob("runs/x/casts/*/*")}
    for words in (["run", file], ["run", "--resume", "runs/x"], ["run", file, "--resume"], ["run", "--resume", file]):
        status, again, err = federage(*words)
        assert (status, again) == (0, out)
        assert err.splitlines()[1] == "runs/x is finished: nothing to play"
    assert federage("run", *FLAGS, "--out", "runs/x")[1] == out
    assert {path: path.stat().st_mtime_ns for path in here.glob("runs/x/casts/*/*")} == before


def test_what_was_changed_is_played_anew_and_no_more(federage, file, here):
    federage("run", file)
    (here / file).write_text(FILE.replace("lr = 0.05", "lr = 0.07"))
    status, _, err = federage("run", file)
    assert status == 0
    assert "going on with what runs/x has already" in err
    assert {line.split()[0] for line in err.splitlines() if " round " in line} == {"FedeRage"}
    assert fr.open("runs/x").experiment.methods["FedeRage"].lr == pytest.approx(0.07)
    status, _, err = federage("run", file, "--method", "FedAvg:lr=[.2,.3]", "--every", 2)
    assert {line.split(" round ")[0].strip() for line in err.splitlines() if " round " in line} == {"FedAvg ×2"}


def test_a_dry_run_is_the_complete_experiment(federage, file, here):
    status, out, err = federage("run", file, "--seeds", "7,8", "--dry-run")
    assert (status, err) == (0, "2 methods, 12 rounds, 2 seeds, to be played into runs/x\n")
    assert load(tomllib.loads(out)) == load(tomllib.loads(FILE.replace("seeds = 3", "seeds = [7, 8]")))
    assert not (here / "runs").exists()


def test_scores_for_a_script_and_the_report_at_once(federage, file, here):
    status, out, _ = federage("run", file, "--json", "--report")
    assert status == 0
    told = json.loads(out)
    assert (told["folder"], told["finished"], told["rounds"], told["seeds"]) == ("runs/x", True, 12, [0, 1, 2])
    [row] = [r for r in told["results"] if (r["checkpoint"], r["metric"], r["method"]) == ("last", "loss", "FedAvg")]
    losses = fr.open("runs/x").looks.filter(method="FedAvg", checkpoint="last")["loss"]
    assert row["mean"] == pytest.approx(losses.mean())
    assert (here / "runs" / "x" / "report.html").read_text().startswith("<!DOCTYPE html>")
    assert federage("run", file, "--report")[1].endswith("runs/x\nruns/x/report.html\n")


def test_the_folder_s_name_without_a_file_is_the_data_s(federage, here):
    assert federage("run", *FLAGS, "--dry-run")[2].endswith("into runs/digits\n")
    words = ["--data", "federage.data.synthetic:motivating_example", "--law", "uniform:arrivals=2"]
    status, _, err = federage("run", *words, "--method", "FedAvg:lr=0.1", "--dry-run")
    assert status == 0, err
    assert err.endswith("into runs/motivating_example\n")


@pytest.mark.parametrize(
    ("words", "status", "said"),
    [
        ("run", 2, "expected an experiment, but neither FILE nor flags came; see federage run --help"),
        ("run nowhere.toml", 2, "nowhere.toml: no such file; name a TOML file that describes an experiment"),
        ("run folder", 2, "folder is a folder, and FILE a TOML file; to go on in it: federage run --resume folder"),
        ("run --resume folder", 1, "folder is no folder of runs"),
        ("run --resume nowhere", 1, "nowhere does not exist"),
        ("run x.toml --resume", 2, "--resume: runs/x is not there to go on with; leave --resume out to begin"),
        ("run x.toml --resume folder", 2, "both x.toml and --resume folder say what to play into; give one of them"),
        ("run --resume folder --out y", 2, "both --out y and --resume folder say what to play into"),
        ("run x.toml --out x.toml", 1, "x.toml cannot be written to"),
        ("run x.toml --data csv:path=no.csv,label=y", 2, "[data]: "),
        ("run --data digits --partition iid:clients=3 --law full", 2, "at least one method, but none came"),
        ("run x.toml --processes 2 --process 2 --coordinator h:1", 1, "index=2 is not that of a process"),
        ("run x.toml y.toml", 2, "no word expected here, but 'y.toml' came; see federage run --help"),
        ("run x.toml --metod FedAvg", 2, "did you mean --method?"),
    ],
)
def test_wrong_words(federage, file, here, words, status, said):
    (here / "folder").mkdir()
    came, out, err = federage(*words.split())
    assert (came, out) == (status, "")
    assert said in err
    assert_one_line(err.splitlines(keepends=True)[-1])
    assert fr.FederageError.__name__ not in err


def test_ctrl_c_stops_after_the_leg_and_resume_ends_as_if_nothing_had_happened(federage, here):
    longer = FILE.replace("rounds = 12\nevery = 2", "rounds = 200000\nevery = 200")
    (here / "x.toml").write_text(longer)
    with truly("run", "x.toml", cwd=here) as process:
        assert process.stderr.readline().startswith("Two of ten")
        while not list(here.glob("runs/x/casts/*/checkpoint.safetensors")):
            assert process.poll() is None
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
    assert (process.returncode, out) == (130, "")
    *_, asked, stopped = err.splitlines()
    assert asked == "stopping after this leg; Ctrl-C again stops at once"
    told = re.fullmatch(
        r"stopped after round ([\d,]+) of 200,000 of FedAvg; go on with: federage run --resume runs/x", stopped
    )
    assert told, stopped
    done = int(told[1].replace(",", ""))
    looks = fr.open(here / "runs" / "x").looks
    assert looks["round"].max() == done, "all that was played is on the disk"
    assert 0 < done < 200_000
    assert done % 200 == 0

    # On with as many rounds as make a short end: the same as if nobody had pressed a key.
    end = done + 400
    status, resumed, err = federage("run", "--resume", "runs/x", "--rounds", end)
    assert status == 0, err
    assert "going on with what runs/x has already" in err
    _, undisturbed, _ = federage("run", "x.toml", "--rounds", end, "--out", "other")
    assert resumed.splitlines()[:-1] == undisturbed.splitlines()[:-1]
    assert fr.open("runs/x").looks.equals(fr.open("other").looks)


def test_a_second_ctrl_c_stops_at_once(here):
    (here / "x.toml").write_text(FILE.replace("rounds = 12\nevery = 2", "rounds = 2000000\nevery = 1000000"))
    with truly("run", "x.toml", cwd=here) as process:
        assert process.stderr.readline().startswith("Two of ten")
        process.send_signal(signal.SIGINT)
        assert process.stderr.readline() == "stopping after this leg; Ctrl-C again stops at once\n"
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
    assert (process.returncode, out, err) == (130, "", "interrupted; go on with: federage run --resume runs/x\n")


def test_a_reader_who_has_gone_loses_nothing(here):
    (here / "x.toml").write_text(FILE)
    with truly("run", "x.toml", cwd=here) as process:
        process.stdout.close()
        err = process.stderr.read()
        assert process.wait(timeout=60) == 0, err
    assert "Traceback" not in err
    assert fr.open(here / "runs" / "x").finished


def test_nobody_has_to_read_the_messages(here):
    (here / "x.toml").write_text(FILE)
    with truly("run", "x.toml", cwd=here) as process:
        process.stderr.close()
        out = process.stdout.read()
        assert process.wait(timeout=60) == 0
    assert out.endswith("runs/x\n")
    assert fr.open(here / "runs" / "x").finished


def test_two_processes_give_the_numbers_of_one(federage, here):
    (here / "x.toml").write_text(FILE.split("[methods.FedeRage]")[0])
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    words = ["run", "x.toml", "--out", "two", "--coordinator", f"127.0.0.1:{port}", "--processes", 2, "--process"]
    with truly(*words, 0, cwd=here) as first, truly(*words, 1, cwd=here) as second:
        out, err = first.communicate(timeout=120)
        helped, _ = second.communicate(timeout=120)
    assert (first.returncode, second.returncode, helped) == (0, 0, ""), err
    status, alone, _ = federage("run", "x.toml")
    assert status == 0
    assert out.splitlines()[:-1] == alone.splitlines()[:-1]
    two, one = fr.open("two"), fr.open("runs/x")
    for name in ("looks", "by_client", "heard", "audit", "clients"):
        assert getattr(two, name).equals(getattr(one, name)), name
