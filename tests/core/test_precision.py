"""The precision of a problem is that of every product of its programs: read off what is handed to the compiler."""

import pytest

import federage as fr
from federage.core.cast import Cast
from federage.core.program import Begin, PlayLeg, _jitted
from federage.testing import tiny

WORDS = {"float32": "HIGHEST", "tensorfloat32": "HIGH", "bfloat16": "DEFAULT"}


@pytest.mark.parametrize("precision", WORDS)
def test_every_product_has_the_precision_of_the_problem(precision: str) -> None:
    runs = Cast.of(tiny(precision=precision), [fr.FedAvg(lr=0.1)], 1)
    (group,) = runs.groups()
    state, _ = _jitted(Begin(False), None)(runs.problem, runs.facts, group, None)
    program = _jitted(PlayLeg(1, ("last",), None), None).lower(runs.problem, runs.facts, group, state)
    products = [line for line in program.as_text().splitlines() if "stablehlo.dot_general" in line]
    assert products
    expected = f"precision = [{WORDS[precision]}, {WORDS[precision]}]"
    assert all(expected in line for line in products)
