"""Colours of reports, for light and dark: figures are drawn with stand-ins, which become CSS variables.

One drawing then serves both: `themed` turns an SVG's stand-ins into `var(--name)`, and `style` says what these are.
The categorical colours keep their order and their hue in both modes, so that a method is recognised across figures.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Literal, NamedTuple

Mode = Literal["light", "dark"]


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
BLUE = Colour("blue", "#010004", "#1554c0", "#82b8ff")

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

COLOURS = (PAPER, INK, QUIET, FAINT, BLUE, *SERIES)

DASHES = ([1, 0], [7, 3], [2, 3], [9, 3, 2, 3])
"""What tells methods apart once the colours repeat: one pattern a turn through them."""


class Pen(NamedTuple):
    """How a method is drawn, in every figure: a colour's stand-in and a dash."""

    colour: Colour
    dash: list[int]


def pens(labels: Iterable[str]) -> dict[str, Pen]:
    """A pen for each method: eight colours, then the same colours dashed otherwise."""
    return {
        label: Pen(SERIES[k % len(SERIES)], DASHES[k // len(SERIES) % len(DASHES)]) for k, label in enumerate(labels)
    }


def themed(drawing: str) -> str:
    """The drawing, or its description, with stand-ins turned into variables."""
    return _with(drawing, {colour: f"var(--{colour.name})" for colour in COLOURS})


def fixed(drawing: str, mode: Mode = "light") -> str:
    """The drawing with the colours of one mode, for a file that leaves the page."""
    return _with(drawing, {colour: getattr(colour, mode) for colour in COLOURS})


def style(selector: str = ":root") -> str:
    """The variables' values, light, and dark where the reader's system is; on printed paper always light."""
    light = "".join(f"--{colour.name}:{colour.light};" for colour in COLOURS)
    dark = "".join(f"--{colour.name}:{colour.dark};" for colour in COLOURS)
    return f"{selector}{{{light}}}@media screen and (prefers-color-scheme:dark){{{selector}{{{dark}}}}}"


def _with(drawing: str, values: dict[Colour, str]) -> str:
    names = {colour.stand_in: value for colour, value in values.items()}
    return re.sub("|".join(names), lambda match: names[match.group()], drawing)
