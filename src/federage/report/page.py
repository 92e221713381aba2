"""The frame of a report's page: one HTML file that needs no other, and may load and run nothing but its own script."""

from __future__ import annotations

import base64
import functools
import hashlib
import json
from collections.abc import Mapping
from html import escape
from importlib import resources

import vl_convert

from federage.report import chart_style, page_tables, palette
from federage.report.chart_style import Figure
from federage.report.palette import Pen


def page(title: str, body: str) -> str:
    """The whole file."""
    script = _script()
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    policy = f"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{digest}'"
    return (
        "<!DOCTYPE html>\n"
        '<html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        '<meta name="color-scheme" content="light dark">'
        f"<title>{escape(title)}</title>\n<style>{palette.style()}\n{_asset('report.css')}</style></head>\n"
        f"<body><main>\n{body}\n</main>\n<script>{script}</script></body></html>\n"
    )


def figure(name: str, shown: Figure) -> str:
    """A figure: its still drawing, which the script makes live, its caption, and its numbers."""
    spec = palette.themed(json.dumps(chart_style.description(shown), separators=(",", ":"), ensure_ascii=False))
    # In a script element only "</" could end it; in JSON the slash may be escaped.
    source = f'{{"spec":{spec},"data":{chart_style.columns(shown)}}}'.replace("</", "<\\/")
    label = escape(f"{shown.title}. {shown.caption}", quote=True)
    return (
        f'<figure id="{name}"><div class="drawing" role="img" aria-label="{label}" data-source="{name}-source">'
        f"{palette.themed(chart_style.drawing(shown))}</div>"
        f'<script type="application/json" id="{name}-source">{source}</script>'
        f"<figcaption><strong>{escape(shown.title)}.</strong> {escape(shown.caption)}</figcaption>"
        f"{page_tables.frame(shown.numbers, shown.title)}</figure>"
    )


def switches(pens: Mapping[str, Pen]) -> str:
    """A button a method, which shows or hides it in every figure; without a script it is the key to the colours."""
    buttons = "".join(
        f'<button type="button" aria-pressed="true" disabled data-method="{escape(label, quote=True)}">'
        f"{page_tables.swatch(pen)}{escape(label)}</button>"
        for label, pen in pens.items()
    )
    return f'<div class="switches" role="group" aria-label="Methods shown in the figures">{buttons}</div>'


@functools.cache
def _script() -> str:
    """Our script and, once, the libraries that draw (Vega and Vega-Lite, BSD 3-Clause)."""
    return vl_convert.javascript_bundle(_asset("report.js"))


def _asset(name: str) -> str:
    return resources.files("federage.report").joinpath(name).read_text(encoding="utf-8")
