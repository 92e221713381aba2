"""Colours of reports, for light and dark: figures are drawn with stand-ins, which become CSS variables.

One drawing then serves both: `themed` turns an SVG's stand-ins into `var(--name)`, and `style` says what these are.
The categorical colours keep their order and their hue in both modes, so that a method is recognised across figures.
"""

from __future__ import annotations

import re
from typing import NamedTuple


class Colour(NamedTuple):
    """A colour's name, what it is drawn with, and what it becomes on light and on dark paper."""

    name: str
    stand_in: str
    light: str
    dark: str


PAPER = Colour("paper", "#010000", "#ffffff", "#15171a")
INK = Colour("ink", "#010001", "#1d2126", "#e7e9ec")
QUIET = Colour("quiet", "#010002", "#68707a", "#9aa3ad")
FAINT = Colour("faint", "#010003", "#e4e7eb", "#2b3036")

SERIES = (
    Colour("series-1", "#010010", "#7b8794", "#97a3b0"),
    Colour("series-2", "#010011", "#1f6fb4", "#5aa9e6"),
    Colour("series-3", "#010012", "#138a72", "#3cc2a3"),
    Colour("series-4", "#010013", "#c77700", "#f0a63a"),
    Colour("series-5", "#010014", "#b3307a", "#ee7db8"),
    Colour("series-6", "#010015", "#6a3fb5", "#ab8cf0"),
    Colour("series-7", "#010016", "#a63d2f", "#ef8a7b"),
    Colour("series-8", "#010017", "#55702b", "#a3c46a"),
)

COLOURS = (PAPER, INK, QUIET, FAINT, *SERIES)


def series(count: int) -> list[str]:
    """The stand-ins of that many methods; they repeat after the eighth."""
    return [SERIES[k % len(SERIES)].stand_in for k in range(count)]


def themed(svg: str) -> str:
    """The drawing with its stand-ins turned into variables."""
    names = {colour.stand_in: f"var(--{colour.name})" for colour in COLOURS}
    return re.sub("|".join(names), lambda match: names[match.group()], svg)


def style(selector: str = ":root") -> str:
    """The variables' values, light, and dark where the reader's system is."""
    light = "".join(f"--{colour.name}:{colour.light};" for colour in COLOURS)
    dark = "".join(f"--{colour.name}:{colour.dark};" for colour in COLOURS)
    return f"{selector}{{{light}}}@media(prefers-color-scheme:dark){{{selector}{{{dark}}}}}"
