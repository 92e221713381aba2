"""The paper's figures and tables by name, and making one."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from pathlib import Path

from federage.errors import ExperimentError, unknown
from federage.experiments.play import Tick
from federage.paper import availability, curves, drawing, dual, motivation_figure, sensitivity, table1
from federage.paper.drawing import Drawn, Made
from federage.paper.stage import Stage, Stopped


@dataclasses.dataclass(frozen=True)
class Figure:
    """A figure or table of the paper.

    Attributes:
      what: in one line.
      draw: what is drawn from its experiments.
      files: the names of its experiments.
      small: of those that take their place on a laptop; the same, where the figure is small as it is.
    """

    what: str
    draw: Callable[[Stage], Drawn]
    files: tuple[str, ...]
    small: tuple[str, ...]


_DATA = ("mnist", "fashion_mnist", "cifar10")
_SKEWED = tuple(f"{name}-skewed" for name in _DATA)
_ALL = tuple(f"{name}-{law}" for name in _DATA for law in ("uniform", "skewed"))

FIGURES: dict[str, Figure] = {
    "table1": Figure(
        "Table I: four methods on three datasets, under uniform and skewed availability",
        table1.draw,
        _ALL,
        ("digits-uniform", "digits-skewed"),
    ),
    "fig1": Figure(
        "Fig. 1: the motivating example, five clients of whom two hardly ever answer",
        motivation_figure.draw,
        ("motivation",),
        ("motivation",),
    ),
    "fig3": Figure(
        "Fig. 3: effective availability under mean-CVaR, and what the mini-batch size does to it",
        dual.draw,
        ("effective",),
        ("effective-small",),
    ),
    "fig4": Figure("Fig. 4: accuracy against rounds, skewed availability", curves.draw, _SKEWED, ("digits-skewed",)),
    "profile": Figure(
        "Fig. 5: how much of the average each client has, M = 3 of N = 30",
        availability.profile,
        ("fashion_mnist-uniform", "fashion_mnist-skewed"),
        ("fashion_mnist-uniform", "fashion_mnist-skewed"),
    ),
    "fairness": Figure(
        "Fig. 6: each client's accuracy on FashionMNIST, skewed availability",
        availability.fairness,
        ("fashion_mnist-skewed",),
        ("digits-skewed",),
    ),
    "sensitivity": Figure(
        "The supplement's ablation: FedeRage over alpha and gamma",
        sensitivity.draw,
        ("sensitivity",),
        ("sensitivity-small",),
    ),
}


def make(
    name: str,
    folder: Path,
    *,
    small: bool = False,
    data: Path | None = None,
    tell: Callable[[Tick], None] = lambda tick: None,
    stop: Callable[[], bool] = lambda: False,
) -> Made:
    """Make a figure: play what it needs that is not played yet, and draw it.

    Args:
      name: one of `FIGURES`.
      folder: where runs and drawings go; runs are shared with other figures, and gone on with.
      small: play what a laptop plays in minutes, and say so on the figure.
      data: the folder of datasets, if not the usual one.
      tell: called before each cast and after each leg.
      stop: asked after each leg whether to end here; the same call again goes on.
    """
    if name not in FIGURES:
        raise ExperimentError(unknown("figure", name, FIGURES))
    figure = FIGURES[name]
    names = figure.small if small else figure.files
    stage = Stage(names, folder, data, small and names != figure.files, tell, stop)
    try:
        return drawing.write(folder, name, figure.draw(stage), stage.stamp)
    except Stopped:
        return Made([], None, ("stopped before everything was played; the same again goes on from here",))
