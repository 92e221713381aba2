"""The report: one self-contained HTML file that works offline, light and dark. It reads runs, and trains nothing."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from html import escape
from pathlib import Path

from federage.experiments.store import Recorded
from federage.report import chart_rounds, chart_style, charts, page_tables, palette, wording
from federage.report.files import FORMATS, export
from federage.report.page import figure, page, switches
from federage.report.palette import Pen

__all__ = ["FORMATS", "export", "html", "picture", "write"]

SECTIONS = (
    ("Accuracy and loss against rounds", ("accuracy", "loss")),
    ("Who is left behind?", ("left-behind", "fairness")),
    ("Who got through?", ("participation",)),
    ("Does beta find its quantile?", ("beta",)),
    ("Whom does each method descend for?", ("effective",)),
)
"""Headings, and the figures below them; one whose figures all have nothing to show is left out."""

MARKS = (
    "Mean ± standard deviation over seeds and final looks, as in the paper's Table I; "
    "accuracy in %, loss as it is. Bold: the best mean of a column. Blue, underlined: the best mean − deviation. "
    "†: better than every other method by the two-sample Z-test at 5 %, which takes the looks of a run for independent."
)


def write(recordeds: Sequence[Recorded], path: Path) -> Path:
    """Write the report of one experiment or several to a file; return its path."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(html(recordeds), encoding="utf-8")
    return path


def html(recordeds: Sequence[Recorded]) -> str:
    """The whole page: one experiment, or several one below another after a table of all."""
    pens = charts.pens(recordeds)
    if len(recordeds) == 1:
        [recorded] = recordeds
        title = recorded.experiment.title
        return page(
            title, "\n".join([f"<h1>{escape(title)}</h1>", *_experiment(recorded, pens, 2, "", switches(pens))])
        )
    title = f"{len(recordeds)} experiments"
    body = [
        f"<h1>{title}</h1>",
        switches(pens),
        "<h2>All at the last checkpoint</h2>",
        page_tables.compared(recordeds, pens),
        f'<p class="quiet">{MARKS} Marks are within an experiment.</p>',
    ]
    for number, recorded in enumerate(recordeds):
        body.append(f"<h2>{escape(page_tables.name(recorded))}</h2>")
        body += _experiment(recorded, pens, 3, f"{number + 1}-")
    return page(title, "\n".join(body))


def picture(recorded: Recorded) -> str:
    """One figure for a page that shows the result at a glance, as an SVG that follows the reader's light or dark."""
    overview = chart_rounds.overview(recorded, charts.pens([recorded]))
    if overview is None:
        return ""
    svg = palette.themed(chart_style.drawing(overview._replace(title=recorded.experiment.title)))
    paper = '<rect width="100%" height="100%" fill="var(--paper)"/>'
    head, rest = svg.split("</desc>", 1)
    return f"{head}</desc><style>{palette.style('svg')}</style>{paper}{rest}\n"


def _experiment(recorded: Recorded, pens: Mapping[str, Pen], level: int, prefix: str, bar: str = "") -> Iterable[str]:
    """One experiment, its headings from `level` down."""

    def heading(text: str, below: int = 0) -> str:
        return f"<h{level + below}>{escape(text)}</h{level + below}>"

    def drawn(*names: str) -> list[str]:
        figures = {name: charts.draw(name, recorded, pens) for name in names}
        return [figure(f"{prefix}{name}", shown) for name, shown in figures.items() if shown]

    first, *rest = wording.answer(recorded)
    yield f'<p class="answer"><strong>{escape(first)}</strong> {escape(" ".join(rest))}</p>'
    yield f"<p>{escape(wording.setting(recorded))}</p>"
    yield from (f'<p class="quiet">{escape(note)}</p>' for note in wording.notes(recorded))
    yield bar
    yield from drawn("glance")
    yield heading("At the end")
    yield page_tables.results(recorded, pens)
    yield f'<p class="quiet">{MARKS}</p>'
    yield page_tables.frame(
        page_tables.details(recorded), "every mean and deviation, and what the values are worth", most=1000
    )
    if len(recorded.methods) > 1:
        yield heading("Is the difference real?")
        yield f"<p>{escape(wording.worth(recorded))}</p>"
        yield page_tables.paired(recorded, pens)
        yield from drawn("differences")
    for title, names in SECTIONS:
        if figures := drawn(*names):
            yield heading(title)
            yield from figures
    yield heading("The experiment, complete")
    settings = recorded.experiment.settings().items()
    tables = "".join(f"<div>{heading(name, 1)}{page_tables.plain(table)}</div>" for name, table in settings)
    yield f'<div class="columns">{tables}</div>'
    yield heading("The environment")
    yield page_tables.plain({**recorded.environment, "time": wording.times(recorded)})
