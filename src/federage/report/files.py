"""What leaves a report for a paper: every figure as a picture, every table as CSV or LaTeX."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

import polars as pl
import vl_convert

from federage.errors import RecordError
from federage.experiments.store import Recorded
from federage.report import chart_style, charts, latex, palette, tables

PIXELS = 2.0  # a picture's pixels for one of the page's


def export(recorded: Recorded, folder: Path, form: str) -> list[Path]:
    """Write every figure (png, svg, pdf) or every table (csv, latex) into a folder, made if need be."""
    if form not in FORMATS:
        raise RecordError(f"expected one of {', '.join(FORMATS)} as a format, but {form!r} came; name one of these")
    folder.mkdir(parents=True, exist_ok=True)
    paths: list[Path] = []
    for name, data in FORMATS[form](recorded).items():
        paths.append(folder / name)
        paths[-1].write_bytes(data)
    return paths


def _pictures(recorded: Recorded, form: str, draw: Callable[[str], bytes]) -> dict[str, bytes]:
    figures = {name: charts.draw(name, recorded) for name in charts.FIGURES}
    return {f"{name}.{form}": draw(_on_paper(chart_style.drawing(shown))) for name, shown in figures.items() if shown}


def _on_paper(svg: str) -> str:
    """A drawing in the light colours, on white."""
    head, rest = svg.split("</desc>", 1)
    return palette.fixed(f'{head}</desc><rect width="100%" height="100%" fill="{palette.PAPER.stand_in}"/>{rest}')


def _csv(recorded: Recorded) -> dict[str, bytes]:
    frames = {name: make(recorded) for name, make in tables.TABLES.items()}
    return {f"{name}.csv": _flat(frame).write_csv().encode() for name, frame in frames.items() if len(frame)}


def _flat(frame: pl.DataFrame) -> pl.DataFrame:
    """Lists as text: CSV has none."""
    return frame.with_columns(pl.col(pl.List(pl.Int64)).cast(pl.List(pl.String)).list.join(" "))


FORMATS: Mapping[str, Callable[[Recorded], dict[str, bytes]]] = {
    "png": lambda recorded: _pictures(recorded, "png", lambda svg: vl_convert.svg_to_png(svg, scale=PIXELS)),
    "svg": lambda recorded: _pictures(recorded, "svg", str.encode),
    "pdf": lambda recorded: _pictures(recorded, "pdf", vl_convert.svg_to_pdf),
    "csv": _csv,
    "latex": lambda recorded: {f"{name}.tex": text.encode() for name, text in latex.documents(recorded).items()},
}
"""Every format, and what it makes: the names and bytes of files."""
