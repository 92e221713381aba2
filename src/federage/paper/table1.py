"""Table I: what was measured here, and beside it what was published."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import polars as pl

from federage.algorithms import FedAvg, FedeRage
from federage.analysis import statistics
from federage.experiments.experiment import Experiment
from federage.experiments.store import Recorded
from federage.paper import drawing
from federage.paper.drawing import Drawn, Table, apart
from federage.paper.stage import Stage, committed
from federage.report import latex, tables, wording

NAMES = {"mnist": "MNIST", "fashion_mnist": "FashionMNIST", "cifar10": "CIFAR-10"}

MARKS = (
    "Marks of a column: * the best mean, + the best mean minus standard deviation, † above every other method by the "
    "paper's two-sample Z-test at 5 %. That test takes all looks of a run for independent, which they are not."
)


def draw(stage: Stage) -> Drawn:
    """The table as text, CSV and LaTeX."""
    records = stage.records()
    table = text(records)
    first = next(iter(records.values())).experiment
    published = " Published: the paper's Table I, as printed." if _published(records) else ""
    notes = (
        f"Accuracy in %, mean ± standard deviation over the final {tables.FINAL} looks (one every {first.every} rounds "
        f"of {first.rounds:,}) and {len(first.seeds)} seeds, on test examples.{published}",
        MARKS,
        *differences(records),
        *lost(records),
        *dict.fromkeys(note for record in records.values() for note in record.experiment.notes),
    )
    title = "Table I: accuracy under uniform and non-uniform availability"
    return Drawn(title, (), table, notes, {"table1.tex": typeset(records, stage.stamp)})


def text(records: Mapping[str, Recorded]) -> Table:
    """A column a record; the last checkpoint, then the exponential average, then what was published."""
    rows: list[list[str]] = []
    for checkpoint, name in tables.checkpoints(next(iter(records.values()))).items():
        found = {key: measured(record, checkpoint) for key, record in records.items()}
        rows.append([f"measured, {name}"])
        for label in _labels(records):
            rows.append([f"  {label}", *(_plain(found[key].get(label)) for key in records)])
    if published := _published(records):
        rows += [["published"], *([f"  {label}", *cells] for label, cells in published.items())]
    return Table(["accuracy in %", *(column_name(record.experiment) for record in records.values())], rows)


def measured(record: Recorded, checkpoint: str) -> dict[str, dict[str, Any]]:
    """A row of `tables.results` for each method."""
    rows = tables.results(record).filter((pl.col("checkpoint") == checkpoint) & (pl.col("metric") == "accuracy"))
    return {row["method"]: row for row in rows.iter_rows(named=True)}


def column_name(experiment: Experiment) -> str:
    """The dataset, and whether all clients are equally likely."""
    regime = "uniform" if experiment.law.name == "uniform" else "non-uniform"
    return f"{NAMES.get(experiment.data.name, experiment.data.name)}, {regime}"


def differences(records: Mapping[str, Recorded]) -> list[str]:
    """FedeRage against every FedAvg, seed by seed, at the last checkpoint: what the Z-test should be read beside."""
    said = []
    for record in records.values():
        values = {label: statistics.by_seed(v) for label, v in tables.final(record, "last", "accuracy").items()}
        methods = record.experiment.methods
        for mine in (label for label in values if isinstance(methods[label], FedeRage)):
            for other in (label for label in values if isinstance(methods[label], FedAvg)):
                what = f"{column_name(record.experiment)}: {mine} minus {other}"
                said.append(apart(what, statistics.paired(values[mine], values[other])))
    return [words for words in said if words]


def lost(records: Mapping[str, Recorded]) -> list[str]:
    """The runs that are in no mean."""
    return [f"{column_name(record.experiment)}: {line}" for record in records.values() for line in wording.lost(record)]


def typeset(records: Mapping[str, Recorded], stamp: str = "") -> str:
    """The last checkpoint, to be compiled alone; set as in the paper, with the stamp below."""
    found = {key: measured(record, "last") for key, record in records.items()}
    lines = []
    for label in _labels(records):
        cells = [latex.marked(rows[label]) if label in rows else "--" for rows in found.values()]
        lines.append([latex.text(label), *cells])
        told = _published(records).get(label)
        if told:
            lines.append([r"\quad published", *(rf"\textit{{{latex.text(cell)}}}" for cell in told)])
    head = ["Algorithm", *(latex.text(column_name(record.experiment)) for record in records.values())]
    return "\n".join(
        [
            latex.HEAD + rf"\begin{{tabular}}{{l{'c' * len(records)}}}",
            r"\toprule",
            " & ".join(head) + r" \\",
            r"\midrule",
            *(" & ".join(line) + r" \\" for line in lines),
            r"\bottomrule",
            r"\end{tabular}",
            *([rf"\par {latex.text(stamp)}"] if stamp else []),
            r"\end{document}",
            "",
        ]
    )


def _published(records: Mapping[str, Recorded]) -> dict[str, list[str]]:
    """What Table I says in the columns that are its own, by method; nothing if none is."""
    columns = [committed("published").get(name, {}) for name in records]
    labels = dict.fromkeys(label for column in columns for label in column)
    return {
        label: [drawing.percent(*column[label], digits=2) if label in column else "-" for column in columns]
        for label in labels
    }


def _labels(records: Mapping[str, Recorded]) -> list[str]:
    return list(dict.fromkeys(label for record in records.values() for label in record.methods))


def _plain(row: Mapping[str, Any] | None) -> str:
    if row is None or row["mean"] is None:
        return "-"
    marks = [("best_mean", "*"), ("best_mean_minus_std", "+"), ("significant", "†")]
    signs = "".join(sign for key, sign in marks if row[key])
    std = None if row["std"] is None else 100 * row["std"]
    return f"{drawing.percent(100 * row['mean'], std, digits=2)} {signs}".rstrip()
