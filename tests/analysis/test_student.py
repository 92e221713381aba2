"""Student's t against SciPy's, and against the two cases that have a closed form."""

import doctest
import math

import numpy as np
import pytest
from scipy import stats

from federage.analysis import student
from federage.analysis.student import critical, two_sided

FREEDOM = [1, 2, 3, 4, 5, 9, 30, 100, 1000]


@pytest.mark.parametrize("n", FREEDOM)
@pytest.mark.parametrize("t", [0.01, 0.5, 1.0, 1.7, 2.776, 5, 30, 1e4])
def test_two_sided(n, t):
    expected = 2 * stats.t.sf(t, n)
    assert two_sided(t, n) == two_sided(-t, n) == pytest.approx(expected, rel=1e-10, abs=1e-300)


@pytest.mark.parametrize("n", FREEDOM)
@pytest.mark.parametrize("level", [0.01, 0.3, 0.5, 0.8, 0.9, 0.95, 0.99, 0.9999])
def test_critical(n, level):
    assert critical(level, n) == pytest.approx(stats.t.isf((1 - level) / 2, n), rel=1e-10)


def test_one_and_two_degrees_of_freedom_in_closed_form():
    """P(|T| <= t) = 2 atan(t) / pi and t / sqrt(2 + t^2)."""
    for t in np.logspace(-9, 6, 16):
        assert 1 - two_sided(t, 1) == pytest.approx(2 * math.atan(t) / math.pi, abs=1e-15)
        assert two_sided(t, 1) == pytest.approx(2 * math.atan(1 / t) / math.pi, rel=1e-13)
        assert 1 - two_sided(t, 2) == pytest.approx(t / math.sqrt(2 + t * t), abs=1e-14)


def test_the_ends():
    assert two_sided(0.0, 4) == 1
    assert two_sided(math.inf, 4) == two_sided(-math.inf, 4) == two_sided(1e200, 4) == 0
    assert math.isnan(two_sided(math.nan, 4))
    assert critical(1e-12, 3) > 0


def test_doctests():
    assert doctest.testmod(student).failed == 0
