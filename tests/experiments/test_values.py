"""Plain values and the annotations they are meant for."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Literal

import pytest

from federage.data import Dataset
from federage.experiments.values import Misfit, fit, parameters
from federage.models import mlp
from federage.participation import Coins, Cyclic, skewed
from federage.parts import Ball, Box
from federage.parts.step import Set


@pytest.mark.parametrize(
    ("annotation", "value", "fitted"),
    [
        (int, 3, 3),
        (float, 3, 3.0),
        (float, 0.5, 0.5),
        (bool, True, True),
        (str, "a", "a"),
        (int | None, 2, 2),
        (str | float, 1, 1.0),
        (int | Sequence[int], [1, 2], [1, 2]),
        (tuple[int, ...], [64, 32], (64, 32)),
        (tuple[int, str], [1, "a"], (1, "a")),
        (Literal["a", "b"], "b", "b"),
        (Mapping[int, float], {"1": 0.5, "2": 1}, {1: 0.5, 2: 1.0}),
        (Set | None, {"kind": "ball", "radius": 2}, Ball(2.0)),
        (Set, {"kind": "box", "low": -1, "high": 1}, Box(-1.0, 1.0)),
    ],
)
def test_what_fits(annotation, value, fitted):
    came = fit(annotation, value)
    assert came == fitted
    assert type(came) is type(fitted)


@pytest.mark.parametrize(
    ("annotation", "value", "expected"),
    [
        (int, 0.5, "a whole number"),
        (int, True, "a whole number"),
        (float, "0.5", "a number"),
        (bool, 1, "true or false"),
        (str, 1, "a text"),
        (int | Sequence[int], "x", "a whole number or a list"),
        (tuple[int, ...], [1, "a"], "a list, each entry a whole number"),
        (tuple[int, str], [1], "a list of 2"),
        (Literal["a", "b"], "c", "one of 'a', 'b'"),
        (Mapping[int, float], {"x": 0.5}, "a table whose keys are whole numbers"),
        (Set, {"kind": "bal", "radius": 2}, "of a kind among ball, box"),
        (Set, {"kind": "ball", "radios": 2}, "with radius"),
        (Set, {"kind": "box", "low": 1}, "with low, high"),
    ],
)
def test_what_does_not(annotation, value, expected):
    with pytest.raises(Misfit, match=expected):
        fit(annotation, value)


def test_a_relative_path_is_relative_to_its_file_and_a_path_before_a_text():
    path = parameters(Dataset.from_csv)["path"].annotation
    assert fit(path, "a.csv", Path("/data")) == "/data/a.csv"
    assert fit(path, "/b/a.csv", Path("/data")) == "/b/a.csv"
    assert fit(str, "a.csv", Path("/data")) == "a.csv"


@pytest.mark.parametrize(
    ("make", "skip", "names"),
    [
        (mlp, 0, ["hidden", "leak"]),
        (skewed, 0, ["clients", "arrivals", "rare", "severity"]),
        (Coins, 0, ["probabilities", "clients"]),
        (Cyclic.of_groups, 0, ["groups", "arrivals", "rounds_each", "clients"]),
        (lambda data, *, seed=0, **rest: None, 1, ["seed"]),
    ],
)
def test_the_parameters_of_functions_classes_and_cached_ones(make, skip, names):
    assert list(parameters(make, skip)) == names


def test_annotations_are_resolved():
    assert parameters(mlp)["hidden"].annotation == tuple[int, ...]
    assert parameters(skewed)["arrivals"].annotation is int
