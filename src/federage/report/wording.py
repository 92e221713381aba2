"""What a report says in words: the setting, the answer, and what a reader must know to trust it.

A difference counts when the seeds say so: Student's t on the paired differences, after Holm's adjustment. When they do
not, the words are "cannot be told apart".
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import polars as pl

from federage.experiments.store import Recorded
from federage.report import tables
from federage.report.tables import LEVEL, METRICS

FEW = 3  # methods named one by one before the rest are counted


def setting(recorded: Recorded) -> str:
    """What was played on whom."""
    experiment, clients = recorded.experiment, recorded.clients
    data = experiment.settings()["data"]["name"]
    seeds = len(experiment.seeds)
    return (
        f"{len(clients):,} clients share {data}.{_rare(clients)} Who gets through, neither server nor clients know. "
        f"{experiment.rounds:,} rounds of {_work(recorded)} on mini-batches of {experiment.batch}; "
        f"{seeds} seed{'s' if seeds > 1 else ''}, on each of which every method meets the same arrivals and the same "
        f"mini-batches. All is measured on the clients' {experiment.look_at} examples."
    )


def answer(recorded: Recorded) -> list[str]:
    """Which method, and at what cost to whom: a few sentences, of which the first is the answer."""
    key = tables.headline(recorded)
    rows = _ranked(recorded, "last", key)
    if not rows:
        return ["No run stayed finite."]
    best, unit = rows[0], "accuracy" if METRICS[key].share else "loss"
    said = [
        f"{best['method']} has the {_best_word(key)} mean {unit} at the last checkpoint, {amount(best['mean'], key)}, "
        f"over the {final(recorded)} of {_counted(best['seeds'], 'seed')}."
    ]
    if len(rows) == 1:
        return said
    said.append(_apart(tables.paired_at(recorded, "last", key), key, best))
    said += _costs(recorded, best)
    tops = {name: _ranked(recorded, checkpoint, key)[0] for checkpoint, name in tables.checkpoints(recorded).items()}
    name, overall = max(tops.items(), key=lambda top: METRICS[key].sign * top[1]["mean"])
    if overall["mean"] != best["mean"]:
        said.append(
            f"Of all checkpoints, {overall['method']} has the {_best_word(key)} mean with the {name}: "
            f"{amount(overall['mean'], key)}."
        )
    return said


def notes(recorded: Recorded) -> Iterable[str]:
    """What stands in the way of believing the numbers: the experiment's own notes, lost runs, too few seeds."""
    yield from recorded.experiment.notes
    yield from lost(recorded)
    if not recorded.finished:
        ends = recorded.looks.group_by("method", maintain_order=True).agg(pl.col("round").max()).rows()
        reached = ", ".join(f"{label} {at:,}" for label, at in ends)
        missing = [label for label in recorded.experiment.methods if label not in recorded.methods]
        waiting = f"; not yet begun: {', '.join(missing)}" if missing else ""
        yield f"Not finished: rounds played of {recorded.experiment.rounds:,}: {reached}{waiting}."
    if len(recorded.experiment.seeds) == 1:
        yield "One seed: deviations are over its final looks alone and say nothing of another seed; no intervals."


def lost(recorded: Recorded) -> Iterable[str]:
    """The runs that became non-finite."""
    looks = recorded.looks
    ends = looks.group_by("method", "seed", maintain_order=True).agg(pl.col("finite", "broke").sort_by("round").last())
    for label in recorded.methods:
        broken = ends.filter((pl.col("method") == label) & ~pl.col("finite"))
        if len(broken):
            where = ", ".join(
                f"seed {seed}" + ("" if at is None else f" after round {at:,}")
                for seed, at in broken.select("seed", "broke").sort("seed").rows()
            )
            yield f"{label} became non-finite ({where}); those runs are in no mean."


def amount(value: float | None, metric: str, digits: int = 1) -> str:
    """A metric's value: a share in per cent, a loss as it is."""
    if value is None:
        return "–"
    return f"{100 * value:.{digits}f} %" if METRICS[metric].share else f"{value:.3f}"


def listed(words: Sequence[str]) -> str:
    """Words in a sentence: a, b and c."""
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"


def _apart(pairs: pl.DataFrame, key: str, best: dict[str, Any]) -> str:
    """Which methods the best one can be told apart from."""
    if best["seeds"] < 2:
        return "One seed cannot say whether that is more than chance."
    rows = _against(pairs)
    apart = [row for row in rows if row["p_holm"] is not None and row["p_holm"] < 1 - LEVEL]
    alike = [row for row in rows if row not in apart]
    seeds = _counted(best["seeds"], "seed")
    if not alike:
        closest = rows[0]
        return (
            f"That is more than the seeds' chance: it is ahead of {closest['method']}, the next, by "
            f"{_lead(closest, key)}, and of every other."
            if len(rows) > 1
            else f"That is more than the seeds' chance: it is ahead of {closest['method']} by {_lead(closest, key)}."
        )
    named = [f"{row['method']} ({_lead(row, key)})" for row in alike[:FEW]]
    named += [f"{len(alike) - FEW} more"] if len(alike) > FEW else []
    ahead = f" It is ahead of {listed([row['method'] for row in apart])}." if apart else ""
    return f"With {seeds} it cannot be told apart from {listed(named)}.{ahead}"


def _costs(recorded: Recorded, best: dict[str, Any]) -> Iterable[str]:
    """What the best method gives those who are worst off, next to the methods that are best for them."""
    also: list[str] = []
    for key in (key for key in ("worst_tenth", "rare") if key in tables.metrics(recorded)):
        rows = _ranked(recorded, "last", key)
        own = next(amount(row["mean"], key) for row in rows if row["method"] == best["method"])
        whom = f"the {METRICS[key].name}"
        if rows[0]["method"] == best["method"]:
            also.append(f"{whom} ({own})")
            continue
        other = rows[0]
        pairs = _against(tables.paired_at(recorded, "last", key))
        row = next(row for row in pairs if row["method"] == best["method"])
        sure = row["p_holm"] is not None and row["p_holm"] < 1 - LEVEL
        yield (
            f"For {whom} it has {own}; {other['method']} has the highest mean there, {amount(other['mean'], key)}: "
            f"a cost of {_lead(row, key)}{'' if sure else ', which the seeds do not settle'}."
        )
    if also:
        yield f"It also has the highest mean for {listed(also)}."


def _lead(row: dict[str, Any], key: str) -> str:
    """By how much the reference of a pair is better, and the interval of that where there is one."""
    metric = METRICS[key]
    scale, digits, unit = (100, 1, " points") if metric.share else (1, 3, "")

    def lead(end: str) -> str:
        return f"{-metric.sign * scale * row[end]:.{digits}f}".replace("-", "−")

    ends = ("high", "low") if metric.sign > 0 else ("low", "high")
    within = f", 95 % interval {lead(ends[0])} to {lead(ends[1])}" if row["low"] is not None else ""
    return f"{lead('difference')}{unit}{within}"


def _ranked(recorded: Recorded, checkpoint: str, key: str) -> list[dict[str, Any]]:
    """The methods that have a mean there, the best first."""
    rows = tables.results_at(recorded, checkpoint, key).drop_nulls("mean")
    return rows.sort("mean", descending=METRICS[key].sign > 0, maintain_order=True).rows(named=True)


def _against(pairs: pl.DataFrame) -> list[dict[str, Any]]:
    """The others' differences from the best method, the closest first."""
    rows = pairs.filter(pl.col("against") == "best").drop_nulls("difference")
    return rows.sort(pl.col("difference").abs(), maintain_order=True).rows(named=True)


def _best_word(key: str) -> str:
    return "highest" if METRICS[key].sign > 0 else "lowest"


def final(recorded: Recorded) -> str:
    """The looks that results are means over."""
    looks = min(tables.FINAL, recorded.looks["round"].n_unique())
    return "last look" if looks == 1 else f"final {looks} looks"


def _counted(count: int, thing: str) -> str:
    return f"{count:,} {thing}{'' if count == 1 else 's'}"


def _work(recorded: Recorded) -> str:
    """K, as it was given: so many local steps, or so many times through a client's data."""
    work = recorded.experiment.settings().get("work", {})
    epochs = work.get("local_epochs")
    return f"{epochs:g} local epochs" if epochs is not None else f"{recorded.experiment.local_steps} local steps"


def _rare(clients: pl.DataFrame) -> str:
    """Who the rare group is, if there is one."""
    rare = clients.filter("rare")
    if not len(rare):
        return ""
    classes = sorted({label for held in rare["classes"].to_list() for label in held or []})
    kinds = (
        f", the only ones with the class{'es' if len(classes) > 1 else ''} {listed(list(map(str, classes)))},"
        if classes
        else ""
    )
    pi, others = 100 * rare["inclusion"].mean(), clients.filter(~pl.col("rare"))["inclusion"]  # pyright: ignore[reportOperatorIssue]
    rest = f", the others in {100 * others.mean():.3g} %" if len(others) else ""  # pyright: ignore[reportOperatorIssue]
    return f" {len(rare)} of them{kinds} are rare: each gets through in {pi:.2g} % of the rounds{rest}."


def worth(recorded: Recorded) -> str:
    """Why seeds, and not values, are counted."""
    key = tables.headline(recorded)
    known = tables.results_at(recorded, "last", key).drop_nulls("worth").filter(pl.col("values") > pl.col("seeds"))
    said = (
        "Every method met the same arrivals, mini-batches and first weights on a seed, so methods are compared seed by "
        "seed. The paper's Z-test counts every final look of every seed as a witness of its own."
    )
    if not len(known):
        return said
    least, most = known["worth"].min(), known["worth"].max()
    values = known["values"].max()
    span = f"{least:.0f}" if f"{least:.0f}" == f"{most:.0f}" else f"{least:.0f} to {most:.0f}"
    return f"{said} But looks at one run are alike: here the {values} values of a method are worth about {span}."


def times(recorded: Recorded) -> str:
    """How long it took."""
    each = ", ".join(f"{label} {seconds:.1f} s" for label, seconds in recorded.seconds.items())
    return f"{sum(recorded.seconds.values()):.0f} s in all, compilation included ({each})"
