"""An outcome in words and numbers, for a terminal and for a report."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from federage.experiments.outcome import METRICS, Outcome, Score


def table(outcome: Outcome) -> tuple[list[str], list[list[str]]]:
    """The columns, and a row a method and checkpoint; a row of one cell names the checkpoint of those below it."""
    rows = []
    for checkpoint, name in outcome.checkpoints.items():
        rows.append([name])
        for label in outcome.results:
            rows.append([f"  {label}", *(words(outcome.score(label, checkpoint, metric)) for metric in METRICS)])
    return ["accuracy in %", *METRICS.values()], rows


def words(score: Score) -> str:
    """Mean and standard deviation in per cent."""
    if np.isnan(score.mean):
        return "-"
    return f"{100 * score.mean:.1f}" + ("" if np.isnan(score.std) else f" ± {100 * score.std:.1f}")


def notes(outcome: Outcome) -> Iterable[str]:
    """What a reader of the table must know."""
    seeds = len(outcome.experiment.seeds)
    over = f"mean ± standard deviation over {seeds} seeds" if seeds > 1 else "one seed"
    yield f"{over}, after {outcome.experiment.rounds:,} rounds, on test examples"
    yield from outcome.experiment.notes
    yield from lost(outcome)


def lost(outcome: Outcome) -> Iterable[str]:
    """The runs that became non-finite."""
    for label, result in outcome.results.items():
        if not result.finite.all():
            broken = {seed: int(at) for seed, at in zip(result.seeds, result.broke, strict=True) if at >= 0}
            where = ", ".join(f"seed {seed} after round {at:,}" for seed, at in broken.items())
            yield f"{label} became non-finite ({where}); those runs are in no mean."
