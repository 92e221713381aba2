"""The figures of a report, by name. One that has nothing to show is None."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from federage.experiments.store import Recorded
from federage.report import chart_clients, chart_rounds, chart_scores, palette, tables
from federage.report.chart_style import Figure
from federage.report.palette import Pen

MOST = 12
"""The most methods that figures tell apart; tables have all."""

FIGURES: Mapping[str, Callable[[Recorded, Mapping[str, Pen]], Figure | None]] = {
    "glance": chart_scores.glance,
    "differences": chart_scores.differences,
    "accuracy": chart_rounds.accuracy,
    "loss": chart_rounds.loss,
    "left-behind": chart_rounds.left_behind,
    "fairness": chart_clients.fairness,
    "participation": chart_clients.participation,
    "beta": chart_rounds.beta,
    "effective": chart_clients.effective,
}
"""Every figure of a report: what draws it, given how methods are drawn."""


def pens(recordeds: Iterable[Recorded]) -> dict[str, Pen]:
    """How each method is drawn, in every figure of these: of more than a dozen, the best twelve of each."""
    return palette.pens(dict.fromkeys(label for recorded in recordeds for label in shown(recorded)))


def shown(recorded: Recorded) -> list[str]:
    """The methods that figures show, in their order: all, or the twelve with the best mean at the last checkpoint."""
    if len(recorded.methods) <= MOST:
        return recorded.methods
    metric = tables.headline(recorded)
    ranked = tables.results_at(recorded, "last", metric).sort(
        "mean", descending=tables.METRICS[metric].sign > 0, nulls_last=True
    )
    best = set(ranked.head(MOST)["method"])
    return [label for label in recorded.methods if label in best]


def draw(name: str, recorded: Recorded, drawn: Mapping[str, Pen] | None = None) -> Figure | None:
    """A figure by its name."""
    drawn = drawn or pens([recorded])
    kept = {label: drawn[label] for label in recorded.methods if label in drawn}
    figure = FIGURES[name](recorded, kept)
    if figure is None or len(kept) == len(recorded.methods):
        return figure
    return figure._replace(caption=f"{figure.caption} Shown: the best {len(kept)} of {len(recorded.methods)} methods.")
