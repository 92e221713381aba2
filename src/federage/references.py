"""What to cite: BibTeX entries (`references.bib`), and which of them a method, a dataset or the engine asks for."""

from __future__ import annotations

import re
from collections.abc import Iterable
from importlib import resources

METHODS: dict[str, tuple[str, ...]] = {
    "fedavg": ("fedavg",),
    "fedprox": ("fedprox",),
    "scaffold": ("scaffold",),
    "fedavgm": ("fedavgm", "fedopt"),
    "fedadagrad": ("fedopt",),
    "fedadam": ("fedopt",),
    "fedyogi": ("fedopt",),
    "fednova": ("fednova",),
    "generalised_fedavg": ("generalised_fedavg",),
    "fedau": ("fedau",),
    "mifa": ("mifa",),
    "fedvarp": ("fedvarp",),
    "federage": ("federage", "cvar"),
    "federage_cv": ("federage", "cvar", "scaffold"),
    "federage_varp": ("federage", "cvar", "fedvarp"),
    "horvitz_thompson": ("horvitz_thompson",),
    "self_normalised": ("horvitz_thompson",),
    "fedstale": ("fedstale",),
}
"""By the names of `algorithms.ALGORITHMS`."""

DATA: dict[str, tuple[str, ...]] = {
    "digits": ("digits",),
    "mnist": ("mnist",),
    "fashion_mnist": ("fashion_mnist",),
    "cifar10": ("cifar10",),
    "motivating_example": ("federage",),
}
"""By the names of `experiments.sources.SOURCES`; a user's own data have none."""

ENGINE = ("federage", "jax", "optax")
"""What every experiment stands on."""


def entries() -> dict[str, str]:
    """All entries, by key."""
    text = resources.files("federage").joinpath("references.bib").read_text(encoding="utf-8")
    return {entry.partition("{")[2].partition(",")[0]: entry for entry in re.split(r"\n\n(?=@)", text.strip())}


def bibtex(keys: Iterable[str]) -> str:
    """The entries of these keys, each once."""
    known = entries()
    return "\n\n".join(known[key] for key in dict.fromkeys(keys)) + "\n"
