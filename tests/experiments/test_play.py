"""Playing into a folder: what is there is read, what changed is played, and nothing that was seen is lost."""

import copy
import importlib
import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal

import federage as fr
from federage.analysis import effective_weights
from federage.errors import CheckpointMismatch, StoreError
from federage.experiments import casts, disk, load, play
from federage.experiments.play import Tick
from federage.experiments.store import Recorded

TABLES: dict[str, Any] = {
    "data": {"name": "digits"},
    "partition": {"name": "by_class", "clients": 10, "rare": 2},
    "law": {"name": "skewed", "arrivals": 2, "rare": 2},
    "model": {"name": "softmax"},
    "work": {"batch": 8, "local_steps": 2},
    "runs": {"rounds": 11, "every": 2, "seeds": [3, 1]},
    "methods": {
        "FedAvg": {"lr": 0.1},
        "FedeRage": {"lr": 0.05, "alpha": 0.2},
        "too far": {"kind": "fedavg", "lr": 1e38},
    },
}
NAMES = ("looks", "by_client", "heard", "audit", "clients")


def tables(**methods: Any) -> dict[str, Any]:
    changed = copy.deepcopy(TABLES)
    changed["methods"] |= methods
    return changed


def played(tables: dict[str, Any], folder: Path, **how: Any) -> tuple[Recorded, list[tuple[str, ...]]]:
    """What the folder holds, and which casts were played for it."""
    ticks: list[Tick] = []
    recorded = play(load(tables), folder, tell=ticks.append, **how)
    return recorded, [tick.labels for tick in ticks if tick.progress is None]


def assert_same(one: Recorded, other: Recorded) -> None:
    for name in NAMES:
        assert_frame_equal(getattr(one, name), getattr(other, name))


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Recorded:
    return played(TABLES, tmp_path_factory.mktemp("whole") / "runs")[0]


def test_the_tables_hold_what_the_engine_gives(whole: Recorded):
    problem = load(TABLES).problem()
    results = {
        label: fr.run(problem, method, rounds=11, every=2, seeds=[3, 1], watch=("last", "average"), smooth=0.99)
        for label, method in whole.experiment.methods.items()
    }
    assert whole.methods == list(results) == ["FedAvg", "FedeRage", "too far"]
    assert whole.finished
    for label, result in results.items():
        for checkpoint, look in result.looks.items():
            mine = whole.looks.filter(method=label, checkpoint=checkpoint)
            assert mine["round"].unique().to_list() == [2, 4, 6, 8, 10, 11]
            for k, seed in enumerate((3, 1)):
                rows = mine.filter(seed=seed)
                for name in ("accuracy", "worst", "worst_tenth", "rare", "loss"):
                    # Methods that differ in numbers only are batched here and not there: the same up to rounding.
                    np.testing.assert_allclose(rows[name], getattr(look, name)[k], rtol=1e-5, err_msg=f"{label} {name}")
                np.testing.assert_allclose(rows["tail"], result.tail[k], atol=1e-6)
                by_client = whole.by_client.filter(method=label, checkpoint=checkpoint, seed=seed, round=11)
                np.testing.assert_allclose(by_client["accuracy"], look.by_client[k, -1], rtol=1e-5)
        for k, seed in enumerate((3, 1)):
            heard = whole.heard.filter(method=label, seed=seed)
            assert heard["heard"].to_list() == result.heard[k].tolist()
            assert heard["rounds"].unique().to_list() == [11]
    beta = whole.looks.filter(method="FedeRage", checkpoint="last", seed=3)["beta"]
    np.testing.assert_allclose(beta, results["FedeRage"].dual[0], rtol=1e-5)
    assert whole.looks.filter(method="FedAvg")["beta"].null_count() == len(whole.looks.filter(method="FedAvg"))


def test_rows_stand_in_the_order_of_the_file(whole: Recorded):
    order = whole.looks.select("method", "seed", "round").unique(maintain_order=True).rows()
    assert order == [(m, s, r) for m in whole.methods for s in (1, 3) for r in (2, 4, 6, 8, 10, 11)]


def test_a_run_that_is_no_longer_finite_is_marked_from_that_round_on(whole: Recorded):
    far = whole.looks.filter(method="too far", checkpoint="last", seed=3)
    broke = far["broke"].drop_nulls().unique().to_list()
    assert len(broke) == 1
    assert far["finite"].to_list() == [at < broke[0] for at in far["round"]]
    assert far["broke"].is_null().to_list() == [at < broke[0] for at in far["round"]]
    assert "too far" not in whole.audit["method"].unique()


def test_the_audit_is_what_the_analysis_says_of_the_last_checkpoint(whole: Recorded):
    shares = whole.audit.group_by("method", "seed").agg(pl.col("share").sum())
    np.testing.assert_allclose(shares["share"], 1)
    p = whole.clients["weight"].to_numpy()
    np.testing.assert_allclose(whole.audit.filter(method="FedAvg", seed=3)["share"], p)
    problem = load(TABLES).problem()
    result = fr.run(problem, whole.experiment.methods["FedeRage"], rounds=11, every=2, seeds=[3])
    theta = {name: leaf[0] for name, leaf in result.last.theta.items()}
    found = effective_weights(problem, theta, 0.2, 0.9, p, budget=2**16)
    mine = whole.audit.filter(method="FedeRage", seed=3)
    np.testing.assert_allclose(mine["share"], found.shares, rtol=1e-5)
    np.testing.assert_allclose(mine["quantile"], found.quantile, rtol=1e-4)
    np.testing.assert_allclose(mine["beta"], result.dual[0, -1], rtol=1e-5)


def test_clients_are_described_with_the_law(whole: Recorded):
    law = whole.experiment.participation()
    np.testing.assert_array_equal(whole.clients["inclusion"], law.inclusion().values)
    np.testing.assert_array_equal(whole.clients["weight"], law.weights().values)
    assert whole.clients["rare"].sum() == 2
    assert whole.clients["inclusion_error"].null_count() == 10


def test_a_folder_opens_to_the_same(whole: Recorded):
    assert_same(fr.open(whole.folder), whole)
    assert fr.open(whole.folder).experiment == whole.experiment
    assert set(whole.seconds) == set(whole.methods)
    assert "jax" in whole.environment


def test_the_parquet_files_can_be_read_without_us(whole: Recorded):
    together = pl.read_parquet(whole.folder / "casts" / "*" / "looks-*.parquet")
    assert len(together) == len(whole.looks)


def test_methods_of_one_kind_share_a_program_and_a_finished_experiment_is_left_alone(tmp_path: Path):
    first, casts_played = played(TABLES, tmp_path)
    assert casts_played == [("FedAvg", "too far"), ("FedeRage",)]
    before = {path: path.stat().st_mtime_ns for path in (tmp_path / "casts").glob("**/*")}
    again, casts_played = played(TABLES, tmp_path)
    assert casts_played == []
    assert before == {path: path.stat().st_mtime_ns for path in (tmp_path / "casts").glob("**/*")}
    assert_same(again, first)


def test_a_method_that_changed_is_played_anew_and_what_it_was_is_kept(tmp_path: Path):
    first, _ = played(TABLES, tmp_path)
    changed, casts_played = played(tables(FedAvg={"lr": 0.2}), tmp_path)
    assert casts_played == [("FedAvg",)]
    assert changed.experiment.methods["FedAvg"] == fr.FedAvg(lr=0.2)
    assert_frame_equal(changed.looks.filter(method="FedeRage"), first.looks.filter(method="FedeRage"))
    assert not changed.looks.filter(method="FedAvg").equals(first.looks.filter(method="FedAvg"))
    back, casts_played = played(TABLES, tmp_path)
    assert casts_played == []
    assert_same(back, first)


def test_a_law_that_changed_plays_everything_anew(tmp_path: Path):
    played(TABLES, tmp_path)
    other = copy.deepcopy(TABLES)
    other["law"]["severity"] = "severe"
    _, casts_played = played(other, tmp_path)
    assert casts_played == [("FedAvg", "too far"), ("FedeRage",)]
    assert len(list((tmp_path / "earlier").iterdir())) == 2


def test_a_method_is_added_and_left_out(tmp_path: Path):
    first, _ = played(TABLES, tmp_path)
    more, casts_played = played(tables(FedProx={"lr": 0.1}), tmp_path)
    assert casts_played == [("FedProx",)]
    assert more.methods == [*first.methods, "FedProx"]
    fewer = copy.deepcopy(TABLES)
    fewer["methods"].pop("too far")
    less, casts_played = played(fewer, tmp_path)
    assert casts_played == []
    assert_frame_equal(less.looks, first.looks.filter(pl.col("method") != "too far"))


def test_more_rounds_go_on_and_fewer_are_refused(tmp_path: Path):
    short, long = copy.deepcopy(TABLES), copy.deepcopy(TABLES)
    short["runs"]["rounds"], long["runs"]["rounds"] = 6, 10
    played(short, tmp_path / "a")
    extended, _ = played(long, tmp_path / "a")
    assert_same(extended, played(long, tmp_path / "b")[0])
    with pytest.raises(CheckpointMismatch, match="has played 10 rounds, more than rounds=6"):
        played(short, tmp_path / "a")


@pytest.mark.parametrize("legs", [1, 4, 8])
def test_stopped_after_a_leg_and_gone_on_with(whole: Recorded, tmp_path: Path, legs: int):
    count = iter(range(100))
    stopped, _ = played(TABLES, tmp_path, stop=lambda: next(count) == legs - 1)
    assert not stopped.finished
    seen = stopped.looks.select(pl.col("round").max()).item()
    assert seen == (2 * legs if legs < 6 else 11)
    assert_same(played(TABLES, tmp_path)[0], whole)


def test_many_small_parts_make_the_same_tables(whole: Recorded, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    player = importlib.import_module("federage.experiments.play")
    monkeypatch.setattr(player, "_TABLES_S", 0.0)
    monkeypatch.setattr(player, "_CHECKPOINT_S", 0.0)
    recorded, _ = played(TABLES, tmp_path)
    assert len(list(tmp_path.glob("casts/*/looks-*.parquet"))) == 12
    assert_same(recorded, whole)


def test_a_clients_table_of_very_many_is_kept_at_the_end_alone(whole: Recorded, tmp_path: Path, monkeypatch: Any):
    monkeypatch.setattr("federage.experiments.frames._CLIENTS_AT_EVERY_LOOK", 9)
    recorded, _ = played(TABLES, tmp_path)
    assert_frame_equal(recorded.by_client, whole.by_client.filter(round=11))


def damaged(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)


@pytest.fixture
def copied(whole: Recorded, tmp_path: Path) -> Path:
    folder = tmp_path / "copied"
    for path in whole.folder.glob("**/*"):
        if path.is_file():
            target = folder / path.relative_to(whole.folder)
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(path.read_bytes())
    return folder


@pytest.mark.parametrize("name", ["looks", "by_client", "heard", "audit"])
def test_a_damaged_part_is_named(copied: Path, name: str):
    part = next(copied.glob(f"casts/*/{name}-*.parquet"))
    damaged(part)
    with pytest.raises(StoreError, match=f"{part} is damaged"):
        getattr(fr.open(copied), name)


def test_a_part_that_was_cut_short_or_lost_is_named(copied: Path, monkeypatch: pytest.MonkeyPatch):
    part = next(copied.glob("casts/*/looks-*.parquet"))
    part.write_bytes(part.read_bytes()[:100])
    with pytest.raises(StoreError, match=f"{part} is damaged: it was cut short"):
        _ = fr.open(copied).looks
    part.rename(part.with_name(part.name.replace("-000000000-", "-000000004-")))
    with pytest.raises(StoreError, match="looks from round 0 to 4 is missing"):
        _ = fr.open(copied).looks


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("index.json", "{", "index.json is damaged"),
        ("index.json", "[]", "index.json is damaged: it holds no table"),
        ("index.json", json.dumps({"format": 9}), "has format 9, but this federage reads format 1"),
        ("environment.json", "{", "environment.json is damaged"),
        ("experiment.toml", "=", "experiment.toml is not TOML"),
        ("clients.parquet", "", "clients.parquet is damaged"),
    ],
)
def test_a_damaged_file_is_named(copied: Path, name: str, text: str, message: str):
    (copied / name).write_text(text)
    with pytest.raises(fr.FederageError, match=message):
        _ = fr.open(copied).clients


def test_a_damaged_cast_is_named_before_anything_is_played(copied: Path):
    next(copied.glob("casts/*/cast.json")).write_text("{")
    with pytest.raises(StoreError, match=r"cast.json is damaged"):
        played(TABLES, copied)


def test_what_is_no_folder_of_runs(tmp_path: Path):
    with pytest.raises(StoreError, match=r"is no folder of runs: it has no index\.json"):
        fr.open(tmp_path)
    with pytest.raises(StoreError, match="does not exist"):
        fr.open(tmp_path / "none")


def test_a_folder_another_run_is_writing_to(tmp_path: Path):
    with disk.held(tmp_path), pytest.raises(StoreError, match="another program is at work"):
        played(TABLES, tmp_path)


def test_a_full_disk_loses_nothing(whole: Recorded, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    real, count = os.fsync, iter(range(1000))

    def full_for_a_while(handle: int) -> None:
        if next(count) == 14:
            raise OSError(28, "No space left on device")
        real(handle)

    with monkeypatch.context() as patched:
        patched.setattr(os, "fsync", full_for_a_while)
        with pytest.raises(StoreError, match=r"No space left on device.*make room, go on"):
            played(TABLES, tmp_path)
    assert_same(played(TABLES, tmp_path)[0], whole)


def test_parts_know_each_other_by_their_rounds(tmp_path: Path):
    frame = pl.DataFrame({"a": [1, 2]})
    casts.append(tmp_path, "looks", frame, 0, 2)
    casts.append(tmp_path, "looks", frame, 2, 10)
    assert [(part.after, part.to) for part in casts.parts(tmp_path, "looks")] == [(0, 2), (2, 10)]
    assert len(casts.frame_of(tmp_path, "looks", {})) == 4
