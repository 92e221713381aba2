"""What TensorBoard's own reader finds in an export is what the frame holds."""

import math
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import polars as pl
import pytest
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
from tensorboard.backend.event_processing.event_multiplexer import EventMultiplexer
from tensorboard.plugins.hparams import metadata
from tensorboard.util.tensor_util import make_ndarray

from federage.errors import StoreError
from federage.report.tensorboard import export

METHODS = {
    "FedAvg at κ·lr": {"kind": "fedavg", "lr": 0.5, "within": None},
    "a/b": {"kind": "federage", "lr": 0.1, "alpha": 0.3},
    "..": {"kind": "fedavg", "lr": 1.0},
}
MEASURES = {
    f"{checkpoint}/{name}": (checkpoint, name)
    for checkpoint in ("last", "average", "smooth")
    for name in ("accuracy", "loss", "worst", "worst_tenth", "rare", "beta")
} | {
    "training/loss": ("last", "train_loss"),
    "training/tail": ("last", "tail"),
    "training/arrivals": ("last", "arrivals"),
}


def looks() -> pl.DataFrame:
    """Numbers that no two cells share; beta for one method only, no rare group, and one run that is not finite."""
    rng, rows = np.random.default_rng(0), []
    for method in METHODS:
        for seed in (0, 7):
            for round in (0, 50, 100):
                training = {"arrivals": rng.uniform(), "train_loss": rng.uniform(), "tail": rng.uniform()}
                for checkpoint in ("last", "average", "smooth"):
                    measured = {name: rng.uniform() for name in ("accuracy", "loss", "worst", "worst_tenth")}
                    if method == ".." and seed == 7:
                        measured["loss"] = math.nan
                    beta = rng.uniform() if "alpha" in METHODS[method] else None
                    where = {"method": method, "seed": seed, "round": round, "checkpoint": checkpoint}
                    rows.append(where | measured | training | {"rare": None, "beta": beta})
    return pl.DataFrame(rows, schema_overrides={"rare": pl.Float64, "beta": pl.Float64})


@pytest.fixture
def recorded() -> SimpleNamespace:
    settings = {f"methods.{label}": dict(table) for label, table in METHODS.items()}
    return SimpleNamespace(looks=looks(), experiment=SimpleNamespace(settings=lambda: settings))


def read(folder: Path) -> EventAccumulator:
    return EventAccumulator(str(folder), size_guidance={"tensors": 0}).Reload()


def scalars(run: EventAccumulator, tag: str) -> list[tuple[int, float, float]]:
    return [(event.step, event.wall_time, float(make_ndarray(event.tensor_proto))) for event in run.Tensors(tag)]


def test_tensorboard_reads_back_every_number_of_the_frame(recorded, tmp_path):
    assert export(recorded, tmp_path / "tb") == tmp_path / "tb"
    folders = {"FedAvg at κ·lr": "FedAvg at κ·lr", "a/b": "a%2Fb", "..": "%2E%2E"}
    runs = EventMultiplexer().AddRunsFromDirectory(str(tmp_path / "tb")).Reload().Runs()
    assert set(runs) == {f"{folder}/seed {seed}" for folder in folders.values() for seed in (0, 7)}
    for method, folder in folders.items():
        for seed in (0, 7):
            run = read(tmp_path / "tb" / folder / f"seed {seed}")
            found = set(run.Tags()["tensors"]) - {metadata.SESSION_START_INFO_TAG}
            of_run = recorded.looks.filter(method=method, seed=seed)
            expected = {tag: of_run.filter(checkpoint=point)[name] for tag, (point, name) in MEASURES.items()}
            assert found == {tag for tag, values in expected.items() if values.null_count() == 0}
            for tag in found:
                rounds, times, values = zip(*scalars(run, tag), strict=True)
                assert list(rounds) == list(times) == [0, 50, 100]
                np.testing.assert_array_equal(values, expected[tag].to_numpy().astype(np.float32))


def test_settings_are_hyperparameters_and_seeds_of_a_method_one_trial(recorded, tmp_path):
    export(recorded, tmp_path)
    info = [
        metadata.parse_session_start_info_plugin_data(
            read(tmp_path / "FedAvg at κ·lr" / f"seed {seed}")
            .SummaryMetadata(metadata.SESSION_START_INFO_TAG)
            .plugin_data.content
        )
        for seed in (0, 7)
    ]
    assert info[0] == info[1]
    assert info[0].group_name == info[0].hparams["method"].string_value == "FedAvg at κ·lr"
    assert info[0].hparams["lr"].number_value == 0.5
    assert info[0].hparams["within"].string_value == "None"


def test_exporting_again_gives_the_same_bytes_and_no_second_file(recorded, tmp_path):
    def contents() -> dict[Path, bytes]:
        return {path: path.read_bytes() for path in export(recorded, tmp_path).rglob("*") if path.is_file()}

    first = contents()
    assert len(first) == 6
    assert contents() == first


def test_a_folder_that_cannot_be_made_is_named(recorded, tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(StoreError, match="cannot be made"):
        export(recorded, tmp_path / "file")
