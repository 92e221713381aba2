"""The demonstration: six methods on embedded digits, where three clients with classes of their own rarely get through.

It is an experiment like any other, `demo.toml`, which also says how its settings were searched for. FedAvg at
kappa * lr is the control without which FedeRage cannot be judged: in FedeRage's first phase every batch is in the tail,
so that it is SGD with that step size.
"""

from __future__ import annotations

import tomllib
from importlib import resources
from typing import Any

from federage.experiments.experiment import Experiment
from federage.experiments.reading import load

LOOKS = 40


def demo(rounds: int | None = None, seeds: int | None = None) -> Experiment:
    """The demonstration; shorter, or on fewer seeds, if asked to be."""
    text = resources.files("federage.experiments").joinpath("demo.toml").read_text(encoding="utf-8")
    tables: dict[str, Any] = tomllib.loads(text)
    runs = tables["runs"]
    runs |= {"rounds": rounds or runs["rounds"], "seeds": seeds or runs["seeds"]}
    runs["every"] = max(1, runs["rounds"] // LOOKS)
    return load(tables, "demo.toml")
