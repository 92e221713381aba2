r"""Which method is better, and how sure can one be? The paper's answer, and one that counts its evidence.

A method's numbers are an array [seeds, looks]: a metric of which more is better, at the final looks of each run. A seed
with a number that is not finite is left out whole, since a run that broke has no say in a mean; rows of two methods
with the same index are the same seed, which met the same arrivals and the same mini-batches.

*The letter.* Table I pools all values, n = seeds x looks of them, and compares methods by a two-sample Z-test.

*The evidence.* The looks of a run are looks at nearly the same model, so n values are not n witnesses. With a variance
sigma_b^2 between seeds and sigma_w^2 within one, k looks a seed, and rho = sigma_b^2 / (sigma_b^2 + sigma_w^2),

.. math::
    \operatorname{Var}(\bar x) = \frac{\sigma_b^2 + \sigma_w^2}{n} \big( 1 + (k - 1) \rho \big)

as if there were n / (1 + (k - 1) rho) independent values. The Z-test leaves the bracket out, and with it as much as a
factor k of the variance. What is safe is one number a seed, and the differences of two methods seed by seed.

References:
  FedeRage, Table I.
  Kish, Survey Sampling (1965), 8.2: the bracket, "design effect".
  Donner, A review of inference procedures for the intraclass correlation coefficient, Int. Stat. Review 54 (1986).
  Holm, A simple sequentially rejective multiple test procedure, Scand. J. Statistics 6 (1979).
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from federage.analysis import student
from federage.core.record import require
from federage.errors import RecordError


class Summary(NamedTuple):
    """A method's numbers, summed up.

    Attributes:
      mean: of all values; with as many looks for each seed, also the mean over seeds.
      std_over_seeds: standard deviation of the seeds' means (NaN for a single seed).
      seeds: how many stayed finite.
      pooled_std: standard deviation of all values, which Table I prints.
      values: how many they are, seeds x looks.
      worth: how many independent values they are worth (NaN where a single seed, or no spread, cannot tell).
    """

    mean: float
    std_over_seeds: float
    seeds: int
    pooled_std: float
    values: int
    worth: float


class ZTest(NamedTuple):
    """How many standard errors the first mean lies above the second, and how often chance alone goes so far."""

    z: float
    p: float


class Paired(NamedTuple):
    """The mean difference over common seeds, its confidence interval and two-sided p value (NaN below two seeds)."""

    difference: float
    low: float
    high: float
    p: float
    n: int


class AgainstBest(NamedTuple):
    """Every method against the one with the best mean.

    Attributes:
      best: its label (the first of several); None if no method has a finite seed.
      differences: the other methods' numbers minus its numbers, by label.
      adjusted: their p values after Holm's adjustment over *all* pairs of methods: which one is the best was read off
        the same numbers, so each pair was in the running.
    """

    best: str | None
    differences: dict[str, Paired]
    adjusted: dict[str, float]


class Marks(NamedTuple):
    """Table I's marks of one entry of a column.

    Attributes:
      best_mean: **bold**.
      best_mean_minus_std: blue, "the relevant figure of merit when run-to-run stability is at stake".
      significant: dagger, the mean is significantly above every other method's.
    """

    best_mean: bool
    best_mean_minus_std: bool
    significant: bool


def by_seed(values: ArrayLike) -> np.ndarray:
    """One number a seed, the mean over its looks; NaN for a seed with a value that is not finite.

    >>> by_seed([[0.5, 0.7], [0.8, float("inf")]]).round(3).tolist()
    [0.6, nan]

    Args:
      values: [seeds, looks].
    """
    array = _table(values)
    means = np.full(len(array), np.nan)
    finite = np.isfinite(array).all(axis=1)
    means[finite] = array[finite].mean(axis=1)
    return means


def summarise(values: ArrayLike) -> Summary:
    """Mean, spreads and worth of a method's numbers.

    >>> summarise([[0.5, 0.5], [0.7, 0.7], [0.9, 0.9]]).worth
    3.0

    Args:
      values: [seeds, looks].
    """
    array = _finite(values)
    mean, pooled_std = _mean_and_std(array)
    seeds, looks = array.shape
    worth = array.size / (1 + (looks - 1) * intraclass(array)) if looks > 1 else float(seeds)
    return Summary(mean, _mean_and_std(array.mean(axis=1))[1], seeds, pooled_std, array.size, worth)


def intraclass(values: ArrayLike) -> float:
    r"""How alike the looks of one seed are, next to those of another: the intraclass correlation.

    By one-way analysis of variance, with k looks a seed, and clipped to [0, 1],

    .. math::
        \hat\rho = \frac{B - W}{B + (k - 1) W}

    where B is k times the variance of the seeds' means and W the mean of the seeds' variances. With few seeds it is a
    rough estimate.

    >>> intraclass([[1.0, 2.0], [3.0, 4.0]])
    0.7777777777777778

    Args:
      values: [seeds, looks].

    Returns:
      NaN for fewer than two seeds or looks, or where all values are equal.
    """
    array = _finite(values)
    seeds, looks = array.shape
    if min(seeds, looks) < 2 or np.ptp(array) == 0:
        return math.nan
    between = looks * array.mean(axis=1).var(ddof=1)
    within = array.var(axis=1, ddof=1).mean()
    return float(np.clip((between - within) / (between + (looks - 1) * within), 0, 1))


def z_test(a: ArrayLike, b: ArrayLike) -> ZTest:
    r"""The two-sample Z-test of Table I, all values pooled.

    .. math::
        z = \frac{m_a - m_b}{\sqrt{s_a^2 / n_a + s_b^2 / n_b}}, \quad p = P(|Z| > |z|)

    It takes values for independent. They are not (see the head of this page): it is too sure, and here because the
    paper uses it.

    >>> [round(number, 3) for number in z_test([[1.0, 2.0], [3.0, 4.0]], [[2.0, 3.0], [4.0, 5.0]])]
    [-1.095, 0.273]

    Args:
      a: [seeds, looks].
      b: [seeds, looks], not necessarily as many of either.

    Returns:
      NaNs where a method has fewer than two values.
    """
    (m_a, s_a, n_a), (m_b, s_b, n_b) = ((*_mean_and_std(x), x.size) for x in (_finite(a), _finite(b)))
    if min(n_a, n_b) < 2:
        return ZTest(math.nan, math.nan)
    z = _in_errors(m_a - m_b, math.sqrt(s_a**2 / n_a + s_b**2 / n_b))
    return ZTest(z, math.erfc(abs(z) / math.sqrt(2)))


def paired(a: ArrayLike, b: ArrayLike, level: float = 0.95) -> Paired:
    r"""The difference of two methods, seed by seed: Student's t on d = a - b.

    .. math::
        \bar d \pm t_{n-1} \frac{s_d}{\sqrt n}

    Both methods of a seed met the same arrivals, mini-batches and first weights, so what a seed does to both cancels.

    >>> paired([0.90, 0.92, 0.91], [0.80, 0.84, 0.82]).n
    3

    Args:
      a: one number a seed (`by_seed`); seeds that are not finite in both are left out.
      b: the same seeds' numbers under the other method.
      level: how often such an interval holds the true difference.
    """
    require("level", level, lambda v: 0 < v < 1, "a confidence level in (0, 1)", "for 95 % pass level = 0.95")
    first, second = (np.asarray(x, np.float64) for x in (a, b))
    if first.ndim != 1 or first.shape != second.shape:
        raise RecordError(
            "paired takes one number a seed, of the same seeds twice, "
            f"but shapes {first.shape} and {second.shape} came; pass by_seed of both"
        )
    common = np.isfinite(first) & np.isfinite(second)
    difference, std = _mean_and_std(first[common] - second[common])
    n = int(common.sum())
    if n < 2:
        return Paired(difference, math.nan, math.nan, math.nan, n)
    error = std / math.sqrt(n)
    half = student.critical(level, n - 1) * error
    p = student.two_sided(_in_errors(difference, error), n - 1)
    return Paired(difference, difference - half, difference + half, p, n)


def holm(p_values: ArrayLike) -> np.ndarray:
    r"""P values adjusted for their number: below 5 %, all of them together err with probability 5 % at most.

    .. math::
        \tilde p_{(i)} = \max_{j \le i} \min \big( 1, (m - j + 1) \, p_{(j)} \big)

    >>> holm([0.01, 0.04, 0.03]).tolist()
    [0.03, 0.06, 0.06]

    Args:
      p_values: one a comparison; NaN is no comparison, and stays.
    """
    p = np.asarray(p_values, np.float64)
    if p.ndim != 1 or ((p < 0) | (p > 1)).any():
        raise RecordError(f"holm takes a list of probabilities in [0, 1], but {p_values!r} came; pass p values")
    known = np.flatnonzero(~np.isnan(p))
    order = known[np.argsort(p[known], kind="stable")]
    adjusted = p.copy()
    adjusted[order] = np.minimum(1, np.maximum.accumulate(p[order] * np.arange(len(order), 0, -1)))
    return adjusted


def against_best(methods: Mapping[str, ArrayLike], level: float = 0.95) -> AgainstBest:
    """Each method's paired difference to the method with the best mean.

    The intervals are one by one, as `paired` gives them; the adjusted p values hold for all together.

    >>> compared = against_best({"a": [[0.5], [0.6]], "b": [[0.8], [0.7]]})
    >>> compared.best, round(compared.differences["a"].difference, 3)
    ('b', -0.2)

    Args:
      methods: [seeds, looks] by label, the same seeds for all.
      level: of the intervals.
    """
    numbers = {label: by_seed(values) for label, values in methods.items()}
    means = {label: float(of.mean()) for label, of in _known(numbers).items()}
    if not means:
        return AgainstBest(None, {}, {})
    best = max(means, key=means.__getitem__)
    pairs = list(itertools.combinations(numbers, 2))
    adjusted = holm([paired(numbers[a], numbers[b]).p for a, b in pairs])
    by_pair = {frozenset(pair): float(p) for pair, p in zip(pairs, adjusted, strict=True)}
    others = [label for label in numbers if label != best]
    return AgainstBest(
        best,
        {label: paired(numbers[label], numbers[best], level) for label in others},
        {label: by_pair[frozenset((label, best))] for label in others},
    )


def marks(methods: Mapping[str, ArrayLike], significance: float = 0.05) -> dict[str, Marks]:
    """The marks of a column of Table I, by its caption.

    A dagger is given where `z_test` against *every* other method has p < significance, and so to the best mean only.
    (The published table follows this rule but for one of six columns, FashionMNIST under uniform availability: there it
    marks 83.99 ± 1.71, the best mean - std, beside 84.24 ± 2.36.)

    >>> marks({"a": [[0.70, 0.72]], "b": [[0.70, 0.90]]})["a"]
    Marks(best_mean=False, best_mean_minus_std=True, significant=False)

    Args:
      methods: [seeds, looks] by label; a method without a finite seed gets no mark and stands in nobody's way.
      significance: of each test.
    """
    finite = {label: _finite(values) for label, values in methods.items()}
    kept = {label: values for label, values in finite.items() if values.size}
    sums = {label: _mean_and_std(values) for label, values in kept.items()}
    top = max((mean for mean, _ in sums.values()), default=math.nan)
    bands = {label: mean - std for label, (mean, std) in sums.items() if not math.isnan(std)}
    top_band = max(bands.values(), default=math.nan)

    def above_all(label: str) -> bool:
        tests = [z_test(kept[label], other) for name, other in kept.items() if name != label]
        return bool(tests) and all(test.z > 0 and test.p < significance for test in tests)

    return {
        label: Marks(
            best_mean=label in sums and sums[label][0] == top,
            best_mean_minus_std=label in bands and bands[label] == top_band,
            significant=label in sums and sums[label][0] == top and above_all(label),
        )
        for label in methods
    }


def _table(values: ArrayLike) -> np.ndarray:
    array = np.asarray(values, np.float64)
    if array.ndim != 2 or array.shape[1] == 0:
        raise RecordError(
            f"values takes one row a seed and one column a look, but shape {array.shape} came; "
            "pass an array [seeds, looks] with at least one look"
        )
    return array


def _finite(values: ArrayLike) -> np.ndarray:
    """The rows of seeds that stayed finite."""
    array = _table(values)
    return array[np.isfinite(array).all(axis=1)]


def _known(numbers: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """The finite numbers of each method that has any."""
    finite = {label: of[np.isfinite(of)] for label, of in numbers.items()}
    return {label: of for label, of in finite.items() if of.size}


def _mean_and_std(values: np.ndarray) -> tuple[float, float]:
    """Mean and standard deviation (n - 1); of equal values that value and exactly 0, which rounding would not give."""
    if values.size == 0:
        return math.nan, math.nan
    alike = np.ptp(values) == 0
    mean = float(values.flat[0] if alike else values.mean())
    if values.size == 1:
        return mean, math.nan
    return mean, 0.0 if alike else float(values.std(ddof=1))


def _in_errors(difference: float, error: float) -> float:
    """A difference in standard errors; without any spread it is none, or beyond all doubt."""
    if error == 0:
        return math.copysign(math.inf, difference) if difference else 0.0
    return difference / error
