"""The report: one self-contained HTML file that works offline, light and dark. It reads an outcome, trains nothing."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from html import escape
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np

from federage.core.types import Marginals
from federage.experiments import charts, palette, summary
from federage.experiments.outcome import METRICS, Outcome, Score

BAND = "Line: mean over seeds; band: one standard deviation."


def write(outcome: Outcome, folder: Path) -> Path:
    """Write the report, and its picture beside it, into a folder, made if need be; return the report's path."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "overview.svg").write_text(picture(outcome), encoding="utf-8")
    path = folder / "report.html"
    path.write_text(html(outcome), encoding="utf-8")
    return path


def html(outcome: Outcome) -> str:
    """The whole page."""
    experiment = outcome.experiment
    css = resources.files("federage.experiments").joinpath("report.css").read_text(encoding="utf-8")
    body = "\n".join(
        [
            f"<h1>{escape(experiment.title)}</h1>",
            f"<p>{_setting(outcome)}</p>",
            f"<p>{_answer(outcome)}</p>",
            *(f'<p class="quiet">{escape(note)}</p>' for note in (*experiment.notes, *summary.lost(outcome))),
            "<h2>At the end</h2>",
            _scores(outcome),
            *_figures(outcome),
            "<h2>The experiment, complete</h2>",
            f'<div class="columns">{"".join(_settings(experiment.settings()))}</div>',
            "<h2>The environment</h2>",
            _plain({**outcome.environment, "time": _times(outcome)}),
        ]
    )
    return (
        "<!DOCTYPE html>\n"
        '<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        '<meta name="color-scheme" content="light dark">'
        f"<title>{escape(experiment.title)}</title>\n<style>{palette.style()}\n{css}</style></head>\n"
        f"<body><main>\n{body}\n</main></body></html>\n"
    )


def picture(outcome: Outcome) -> str:
    """One figure for a page that shows the result at a glance, as an SVG that follows the reader's light or dark."""
    caption = f"Accuracy against rounds, of all clients, the rare ones and the worst one. {BAND}"
    svg = palette.themed(charts.draw(charts.overview(outcome), outcome.experiment.title, caption))
    paper = '<rect width="100%" height="100%" fill="var(--paper)"/>'
    head, rest = svg.split("</desc>", 1)
    return f"{head}</desc><style>{palette.style('svg')}</style>{paper}{rest}\n"


def _setting(outcome: Outcome) -> str:
    experiment, clients = outcome.experiment, outcome.clients
    rare = [client["client"] for client in clients if client["rare"]]
    pi = np.asarray(outcome.inclusion.values)
    group = ""
    if rare:
        held = sorted({label for k in rare for label in clients[k]["classes"] or []})
        kinds = f", the only ones with the classes {', '.join(map(str, held))}," if held else ""
        group = (
            f" {len(rare)} of them{kinds} are rare: each gets through in {100 * pi[rare].mean():.2g} % of the rounds, "
            f"the others in {100 * np.delete(pi, rare).mean():.3g} %."
        )
    seeds = len(experiment.seeds)
    return escape(
        f"{len(clients)} clients share {experiment.data}.{group} Who gets through, neither server nor clients know. "
        f"{experiment.rounds:,} rounds of {experiment.local_steps} local steps on mini-batches of {experiment.batch}; "
        f"{seeds} seed{'s' if seeds > 1 else ''}, on each of which every method meets the same arrivals and the same "
        "mini-batches."
    )


def _answer(outcome: Outcome) -> str:
    """Who is best at what, for the last checkpoint."""
    said = []
    for metric, name in METRICS.items():
        best = outcome.best("last", metric)
        if best:
            names = ", ".join(f"<strong>{escape(label)}</strong>" for label in best)
            said.append(f"{name}: {names} ({_number(outcome.score(best[0], 'last', metric))})")
    return f"Highest mean accuracy in % at the last checkpoint: {'; '.join(said)}." if said else "No run stayed finite."


def _scores(outcome: Outcome) -> str:
    colours = dict(zip(outcome.results, palette.series(len(outcome.results)), strict=True))
    parts = []
    for checkpoint, name in outcome.checkpoints.items():
        best = {metric: outcome.best(checkpoint, metric) for metric in METRICS}
        parts.append(f'<tbody class="part"><tr><th colspan="{len(METRICS) + 1}" scope="rowgroup">{name}</th></tr>')
        for label in outcome.results:
            mark = f'<span class="mark" style="background:{palette.themed(colours[label])}"></span>'
            cells = "".join(
                f"<td{' class=best' if label in best[metric] else ''}>"
                f"{_number(outcome.score(label, checkpoint, metric))}</td>"
                for metric in METRICS
            )
            parts.append(f'<tr><th scope="row">{mark}{escape(label)}</th>{cells}</tr>')
        parts.append("</tbody>")
    head = "".join(f'<th scope="col">{name}</th>' for name in METRICS.values())
    return (
        f'<div class="scroll"><table><thead><tr><th scope="col">accuracy in %</th>{head}</tr></thead>'
        f"{''.join(parts)}</table></div>"
        '<p class="quiet">Mean ± standard deviation over seeds, on the clients\' test examples; bold: the best mean of '
        "a column. Worst 10 %: the mean over that share of the clients, those with the least accuracy.</p>"
    )


def _number(score: Score) -> str:
    if np.isnan(score.mean):
        return "–"
    spread = "" if np.isnan(score.std) else f' <span class="std">± {100 * score.std:.1f}</span>'
    return f"{100 * score.mean:.1f}{spread}"


def _figures(outcome: Outcome) -> Iterable[str]:
    has_rare = any(client["rare"] for client in outcome.clients)
    never = int(np.sum(np.asarray(outcome.weights.values) == 0))
    unseen = f" Not shown: {never} that never get{'s' if never == 1 else ''} through." if never else ""
    yield "<h2>Accuracy against rounds</h2>"
    for metric, title, caption in (
        ("accuracy", "accuracy", f"On all clients' test examples. {BAND}"),
        ("rare", "accuracy, rare group", f"On the rare clients' alone. {BAND}"),
    ):
        if metric != "rare" or has_rare:
            panels = [charts.Panel(name, metric, checkpoint) for checkpoint, name in outcome.checkpoints.items()]
            yield _figure(charts.curves(outcome, panels, title), f"{title} against rounds", caption)
    yield "<h2>Who is left behind?</h2>"
    yield _figure(
        charts.clients(outcome, "last"),
        "accuracy of each client against its weight, by method",
        "Each point is a client: its own accuracy at the last checkpoint (mean over seeds) against its weight p, the "
        "share that plain averaging gives it (logarithmic; clients of equal weight are moved apart sideways). "
        f"Dash: the mean of a group.{unseen}",
    )
    yield "<h2>Who got through?</h2>"
    yield _figure(
        charts.participation(outcome),
        "participation: π and p of each client",
        f"π: the probability that a client is in a round ({_how(outcome.inclusion)}), and how often it was (one that "
        f"never was has no circle). p: its weight in the average ({_how(outcome.weights)}). Dashed: what it "
        "would be if all were equally likely.",
    )


def _figure(chart: Any, title: str, caption: str) -> str:
    svg = palette.themed(charts.draw(chart, title, caption))
    return f"<figure>{svg}<figcaption>{escape(caption)}</figcaption></figure>"


def _how(marginals: Marginals) -> str:
    return f"exact, {marginals.how}" if marginals.exact else marginals.how


def _settings(tables: Mapping[str, Mapping[str, Any]]) -> Iterable[str]:
    for name, table in tables.items():
        yield f"<div><h3>{escape(name)}</h3>{_plain(table)}</div>"


def _plain(table: Mapping[str, Any]) -> str:
    rows = "".join(
        f'<tr><th scope="row">{escape(key)}</th><td>{escape(_value(v))}</td></tr>' for key, v in table.items()
    )
    return f'<table class="plain">{rows}</table>'


def _value(value: Any) -> str:
    return f"{value:.6g}" if isinstance(value, float) else "none" if value is None else str(value)


def _times(outcome: Outcome) -> str:
    each = ", ".join(f"{label} {seconds:.1f} s" for label, seconds in outcome.seconds.items())
    return f"{sum(outcome.seconds.values()):.0f} s in all, compilation included ({each})"
