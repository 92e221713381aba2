r"""Tables for a paper: each a LaTeX document that compiles alone, whose `table` environment can be cut out.

The marks are the paper's: bold, \textcolor{blue}, \textsuperscript{\textdagger}. Accuracy is in %.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping, Sequence
from typing import Any

from federage.experiments.store import Recorded
from federage.report import tables, wording
from federage.report.tables import METRICS

HEAD = r"""\documentclass{article}
\usepackage[margin=2cm]{geometry}
\usepackage{booktabs,xcolor}
\begin{document}
"""

_SPECIAL = {
    **{sign: f"\\{sign}" for sign in "&%$#_{}"},
    **{"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}"},
    **{"<": "$<$", ">": "$>$", "·": r"$\cdot$", "×": r"$\times$", "−": "$-$", "–": "--", "±": r"$\pm$"},
}


def documents(recorded: Recorded) -> dict[str, str]:
    """The documents, by name."""
    made = {"results": _results(recorded)}
    if len(recorded.methods) > 1 and len(recorded.experiment.seeds) > 1:
        made["paired"] = _paired(recorded)
    return {name: f"{HEAD}{table}\\end{{document}}\n" for name, table in made.items()}


def text(words: str) -> str:
    r"""Plain words in LaTeX: special signs escaped, Greek letters by their names.

    >>> text("κ & 5 %")
    '$\\kappa$ \\& 5 \\%'
    """
    return "".join(_SPECIAL.get(sign) or _letter(sign) for sign in words)


def _letter(sign: str) -> str:
    name = unicodedata.name(sign, "")
    if not name.startswith("GREEK SMALL LETTER ") or " WITH " in name:
        return sign
    letter = name.removeprefix("GREEK SMALL LETTER ").lower()
    return {"omicron": "o", "lamda": r"$\lambda$", "final sigma": r"$\varsigma$"}.get(letter, f"$\\{letter}$")


def _results(recorded: Recorded) -> str:
    known = tables.metrics(recorded)
    cells = {
        (row["checkpoint"], row["metric"], row["method"]): row for row in tables.results(recorded).rows(named=True)
    }
    lines: list[str] = []
    for checkpoint, name in tables.checkpoints(recorded).items():
        lines += [r"\midrule", rf"\multicolumn{{{len(known) + 1}}}{{l}}{{\emph{{{text(name)}}}}} \\"]
        for label in recorded.methods:
            row = " & ".join(marked(cells[checkpoint, key, label]) for key in known)
            lines.append(rf"{text(label)} & {row} \\")
    seeds = len(recorded.experiment.seeds)
    caption = (
        f"{text(recorded.experiment.title)} Mean $\\pm$ standard deviation over {seeds} seed{'s' if seeds > 1 else ''} "
        f"and the {wording.final(recorded)} of {recorded.experiment.rounds:,} rounds; accuracy in \\%. "
        "\\textbf{Bold}: best mean. \\textcolor{blue}{Blue}: best mean $-$ deviation. "
        "\\textsuperscript{\\textdagger}: significant by a two-sample $Z$-test at the 5\\% level."
    )
    return _table("l" + "c" * len(known), ["", *(metric.name for metric in known.values())], lines, caption)


def marked(row: Mapping[str, Any]) -> str:
    """A row of `tables.results` as an entry, with the marks of Table I."""
    if row["mean"] is None:
        return "--"
    scale, digits = (100, 2) if METRICS[row["metric"]].share else (1, 4)
    mean = f"{scale * row['mean']:.{digits}f}"
    std = "" if row["std"] is None else f"{scale * row['std']:.{digits}f}"
    if row["best_mean"]:
        mean = rf"\textbf{{{mean}}}"
    if row["best_mean_minus_std"]:
        mean, std = rf"\textcolor{{blue}}{{{mean}}}", rf"\textcolor{{blue}}{{{std}}}"
    dagger = r"\textsuperscript{\textdagger}" if row["significant"] else ""
    return mean + dagger + (rf" $\pm$ {std}" if std else "")


def _paired(recorded: Recorded) -> str:
    key = tables.headline(recorded)
    scale, digits = (100, 2) if METRICS[key].share else (1, 4)
    lines: list[str] = []
    for part in tables.paired_at(recorded, "last", key).partition_by("against", "reference", maintain_order=True):
        lines += [r"\midrule", rf"\multicolumn{{6}}{{l}}{{\emph{{minus {text(part['reference'][0])}}}}} \\"]
        for row in part.rows(named=True):
            gap, low, high = (_signed(row[name], scale, digits) for name in ("difference", "low", "high"))
            tests = " & ".join(_probability(row[name]) for name in ("p", "p_holm", "p_z"))
            lines.append(rf"{text(row['method'])} & {gap} & [{low}, {high}] & {tests} \\")
    unit = "points" if METRICS[key].share else key
    caption = (
        f"{text(recorded.experiment.title)} Differences in {unit} at the last checkpoint, paired by seed, with 95\\% "
        "intervals by Student's $t$; p values of the same, after Holm's adjustment, and of the two-sample $Z$-test, "
        "which takes the looks of a run for independent."
    )
    return _table("lccccc", ["", "difference", "95 % interval", "p, paired", "p, Holm", "p, Z-test"], lines, caption)


def _signed(value: float | None, scale: float, digits: int) -> str:
    return "--" if value is None else f"${scale * value:+.{digits}f}$"


def _probability(p: float | None) -> str:
    return "--" if p is None else "$<0.001$" if p < 0.001 else f"{p:.3f}"


def _table(columns: str, head: Sequence[str], lines: Sequence[str], caption: str) -> str:
    body = "\n".join([rf"\begin{{tabular}}{{{columns}}}", r"\toprule", " & ".join(map(text, head)) + r" \\", *lines])
    end = f"\\bottomrule\n\\end{{tabular}}\n\\caption{{{caption}}}\n\\end{{table}}\n"
    return f"\\begin{{table}}\n\\centering\n{body}\n{end}"
