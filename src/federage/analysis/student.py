r"""Student's t distribution, two-sided, in float64 and without a library for it.

With I the regularised incomplete beta function and n degrees of freedom,

.. math::
    P(|T_n| > t) = I_x(n/2, 1/2), \quad x = \frac{n}{n + t^2}

References:
  NIST Digital Library of Mathematical Functions, 8.17(v): the continued fraction of I.
  Lentz, Generating Bessel functions in Mie scattering calculations, Applied Optics 15 (1976): how to evaluate one.
"""

from __future__ import annotations

import functools
import itertools
import math

_TINY = 1e-300  # stands for a zero denominator of the continued fraction, as Lentz's method has it


def two_sided(t: float, freedom: int) -> float:
    """P(|T| > |t|): how often chance alone gives a t at least as far out.

    >>> round(two_sided(2.776, freedom=4), 4)
    0.05
    """
    if math.isnan(t):
        return math.nan
    square = t * t
    if math.isinf(square):
        return 0.0
    return _incomplete_beta(freedom / (freedom + square), square / (freedom + square), freedom / 2, 0.5)


@functools.lru_cache(maxsize=256)
def critical(level: float, freedom: int) -> float:
    """The t with P(|T| <= t) = level: half the width of a confidence interval, in standard errors.

    `two_sided` falls as t grows, so halving an interval finds it to the last bit.

    >>> round(critical(0.95, freedom=4), 3)
    2.776
    """
    low, high = 0.0, 1.0
    while two_sided(high, freedom) > 1 - level:
        low, high = high, 2 * high
    while low < (middle := (low + high) / 2) < high:
        low, high = (middle, high) if two_sided(middle, freedom) > 1 - level else (low, middle)
    return high


def _incomplete_beta(x: float, y: float, a: float, b: float) -> float:
    """I_x(a, b) with y = 1 - x, which the caller knows without cancellation."""
    if x == 0 or y == 0:
        return float(y == 0)
    beta = math.lgamma(a) + math.lgamma(b) - math.lgamma(a + b)
    front = math.exp(a * math.log(x) + b * math.log(y) - beta)
    if x < (a + 1) / (a + b + 2):  # where the fraction converges fast; elsewhere I_x(a, b) = 1 - I_y(b, a)
        return front * _fraction(x, a, b) / a
    return 1 - front * _fraction(y, b, a) / b


def _fraction(x: float, a: float, b: float) -> float:
    """1 / (1 + d_1 / (1 + d_2 / (1 + ...))): Lentz's method for what is below the outer stroke."""
    value = upper = 1.0
    lower = 0.0
    for k in itertools.count(1):
        m = k // 2
        d = -(a + m) * (a + b + m) * x if k % 2 else m * (b - m) * x
        d /= (a + k - 1) * (a + k)
        lower = 1 / ((1 + d * lower) or _TINY)
        upper = (1 + d / upper) or _TINY
        value *= upper * lower
        if abs(upper * lower - 1) < 1e-15:
            break
    return 1 / value
