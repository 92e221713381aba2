"""Statistics against SciPy, closed testing, the published table, and simulated runs of which the truth is known."""

import doctest
import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from federage.analysis import against_best, by_seed, holm, intraclass, marks, paired, statistics, summarise, z_test
from federage.errors import RecordError

SEEDS, LOOKS = 5, 10

PUBLISHED = {  # Table I: mean and standard deviation by column, of FedAvg, FedProx, SCAFFOLD and FedeRage
    "MNIST U": [(79.54, 8.70), (79.19, 9.03), (96.95, 0.26), (96.02, 0.30)],
    "MNIST NU": [(78.19, 11.12), (77.85, 10.96), (95.01, 0.50), (95.91, 0.41)],
    "FashionMNIST U": [(75.08, 5.17), (75.11, 5.22), (84.24, 2.36), (83.99, 1.71)],
    "FashionMNIST NU": [(61.82, 10.39), (61.82, 10.38), (77.36, 1.09), (83.95, 1.03)],
    "CIFAR-10 U": [(51.43, 2.19), (52.18, 0.74), (51.21, 2.71), (57.41, 1.51)],
    "CIFAR-10 NU": [(50.61, 1.48), (50.25, 1.75), (50.57, 1.49), (56.34, 0.61)],
}
METHODS = ["FedAvg", "FedProx", "SCAFFOLD", "FedeRage"]
BOLD = ["SCAFFOLD", "FedeRage", "SCAFFOLD", "FedeRage", "FedeRage", "FedeRage"]
BLUE = ["SCAFFOLD", "FedeRage", "FedeRage", "FedeRage", "FedeRage", "FedeRage"]
DAGGER = BLUE


def with_moments(mean, std, seeds=SEEDS, looks=LOOKS):
    """Values with exactly this mean and standard deviation."""
    ramp = np.arange(seeds * looks, dtype=float)
    ramp = (ramp - ramp.mean()) / ramp.std(ddof=1)
    return (mean + std * ramp).reshape(seeds, looks)


def runs(rng, seeds=SEEDS, looks=LOOKS, between=1.0, within=1.0):
    """A method of mean 0, whose seeds differ by `between` and whose looks at one seed by `within`."""
    return between * rng.normal(size=(seeds, 1)) + within * rng.normal(size=(seeds, looks))


@pytest.mark.parametrize("seeds", [1, SEEDS])  # ten values, if the ten rounds were of one seed, or fifty
def test_the_marks_of_the_published_table(seeds):
    """All but one: no test puts 83.99 ± 1.71 significantly above 84.24 ± 2.36."""
    for (column, entries), bold, blue, dagger in zip(PUBLISHED.items(), BOLD, BLUE, DAGGER, strict=True):
        values = {name: with_moments(*entry, seeds) for name, entry in zip(METHODS, entries, strict=True)}
        found = marks(values)
        assert [name for name in METHODS if found[name].best_mean] == [bold]
        assert [name for name in METHODS if found[name].best_mean_minus_std] == [blue]
        significant = [name for name in METHODS if found[name].significant]
        assert significant == ([] if column == "FashionMNIST U" else [dagger])


def test_z_is_welch_s_statistic_and_p_the_normal_s():
    rng = np.random.default_rng(0)
    a, b = runs(rng), 0.5 + runs(rng, seeds=7, looks=3, within=2)
    z, p = z_test(a, b)
    assert z == pytest.approx(stats.ttest_ind(a, b, axis=None, equal_var=False).statistic, rel=1e-13)
    assert p == pytest.approx(2 * stats.norm.sf(abs(z)), rel=1e-13)
    assert z_test(b, a) == pytest.approx((-z, p))


@pytest.mark.parametrize("level", [0.5, 0.95, 0.999])
def test_paired_is_student_s_test(level):
    rng = np.random.default_rng(1)
    seeds = rng.normal(size=8)
    a, b = seeds + 0.1 * rng.normal(size=8), seeds + 0.1 * rng.normal(size=8) + 0.1
    known = stats.ttest_rel(a, b)
    interval = known.confidence_interval(level)
    found = paired(a, b, level)
    np.testing.assert_allclose(found, ((a - b).mean(), *interval, known.pvalue, 8), rtol=1e-10)
    assert paired(b, a, level).low == pytest.approx(-found.high, rel=1e-12)


def test_only_seeds_that_are_finite_in_both_are_paired():
    a, b = np.array([1.0, 2, np.nan, 4, np.inf, 7]), np.array([0.5, 1, 3, np.nan, 5, 6.25])
    common = [0, 1, 5]
    assert paired(a, b) == paired(a[common], b[common])
    assert paired(a, b).n == 3
    one = paired(a[:1], b[:1])
    assert (one.difference, one.n) == (0.5, 1)
    assert np.isnan([one.low, one.high, one.p]).all()
    assert paired([np.nan], [1.0]).n == 0
    assert math.isnan(paired([], []).difference)


def test_without_spread():
    assert paired([0.9, 0.8], [0.9, 0.8]) == (0, 0, 0, 1, 2)
    assert paired([2.0, 3, 4], [1.0, 2, 3]) == (1, 1, 1, 0, 3)
    same, less = np.full((3, 2), 0.1), np.full((2, 2), 0.1)  # six of 0.1 have another rounded mean than four
    assert z_test(same, less) == (0, 1)
    assert z_test(same + 1, less) == (math.inf, 0)
    found = summarise(same)
    assert (found.mean, found.pooled_std, found.std_over_seeds) == (0.1, 0, 0)
    assert math.isnan(found.worth)


def test_a_summary_leaves_out_seeds_that_broke():
    rng = np.random.default_rng(2)
    values = runs(rng)
    broken = np.insert(values, [1, 4], np.nan, axis=0)
    broken[1, :7] = 0.5  # finite until then
    assert summarise(broken) == summarise(values)
    found = summarise(values)
    assert (found.seeds, found.values) == (SEEDS, SEEDS * LOOKS)
    assert found.mean == pytest.approx(values.mean(), rel=1e-14)
    assert found.pooled_std == pytest.approx(values.ravel().std(ddof=1), rel=1e-14)
    assert found.std_over_seeds == pytest.approx(values.mean(axis=1).std(ddof=1), rel=1e-14)
    np.testing.assert_array_equal(np.isnan(by_seed(broken)), [False, True, False, False, False, True, False])
    np.testing.assert_allclose(by_seed(broken)[[0, 2, 3, 4, 6]], values.mean(axis=1), rtol=1e-15)
    other = runs(rng)
    assert z_test(broken, other) == z_test(values, other)


def test_too_few_to_tell():
    alone = summarise([[0.7, 0.8]])
    assert (alone.mean, alone.seeds, alone.values) == (0.75, 1, 2)
    assert np.isnan([alone.std_over_seeds, alone.worth]).all()
    none = summarise(np.full((2, 3), np.nan))
    assert (none.seeds, none.values) == (0, 0)
    assert np.isnan([none.mean, none.std_over_seeds, none.pooled_std, none.worth]).all()
    assert np.isnan(z_test([[1.0]], [[1.0, 2.0]])).all()
    assert summarise([[0.7], [0.8], [0.6]]).worth == 3  # with one look a seed, every value is a witness


def test_intraclass_by_the_f_statistic():
    """F = B / W, so rho = (F - 1) / (F + k - 1)."""
    rng = np.random.default_rng(3)
    for between in (0.3, 1, 5):
        values = runs(rng, between=between)
        f = stats.f_oneway(*values).statistic
        assert intraclass(values) == pytest.approx(np.clip((f - 1) / (f + LOOKS - 1), 0, 1), rel=1e-12)


def test_worth_from_all_values_to_one_a_seed():
    every_seed_the_same = np.tile(np.arange(10.0), (5, 1))
    every_look_the_same = every_seed_the_same[:, :5].T.repeat(2, axis=1)
    assert summarise(every_seed_the_same).worth == 50
    assert summarise(every_look_the_same).worth == pytest.approx(5)
    assert math.isnan(intraclass([[1.0], [2.0]]))


def test_worth_is_what_the_variance_of_the_mean_says():
    """With the variance components that the estimate rests on, sigma^2 / worth = Var(mean over seeds) / seeds."""
    values = runs(np.random.default_rng(4), between=2)
    found = summarise(values)
    within = values.var(axis=1, ddof=1).mean()
    between = found.std_over_seeds**2 - within / LOOKS
    assert between > 0
    assert (between + within) / found.worth == pytest.approx(found.std_over_seeds**2 / SEEDS, rel=1e-12)


def test_worth_of_many_seeds_is_the_true_one():
    """With rho = 0.8, 1 + 9 rho = 8.2 values are worth one."""
    values = runs(np.random.default_rng(5), seeds=20_000, between=2, within=1)
    assert summarise(values).worth == pytest.approx(values.size / 8.2, rel=0.02)


def test_the_z_test_is_too_sure_and_the_paired_test_is_not():
    """Two equal methods, told apart at 5 %: by their seeds in 5 % of experiments, by all values in about half of them.

    z divides by the standard error of independent values, too small by sqrt(1 + 9 rho) = 2.86 for rho = 0.8, and
    P(|N| > 1.96 / 2.86) = 0.49. (Not exactly: that standard error is itself estimated, from five seeds.)
    """
    rng, experiments = np.random.default_rng(6), 2000
    too_sure, wrong = 0, 0
    for _ in range(experiments):
        a, b = runs(rng, between=2), runs(rng, between=2)
        too_sure += z_test(a, b).p < 0.05
        found = paired(by_seed(a), by_seed(b))
        wrong += found.p < 0.05
        assert (found.p < 0.05) == (not found.low < 0 < found.high)
    assert wrong / experiments == pytest.approx(0.05, abs=4 * math.sqrt(0.05 * 0.95 / experiments))
    assert 0.45 < too_sure / experiments < 0.6


@settings(max_examples=60, deadline=None)
@given(st.lists(st.floats(0, 1), min_size=1, max_size=6))
def test_holm_is_the_closure_of_bonferroni(p):
    """A hypothesis falls if every set of hypotheses with it does, by Bonferroni."""
    sets = [s for size in range(1, len(p) + 1) for s in itertools.combinations(range(len(p)), size)]
    closed = [max(min(1, len(s) * min(p[j] for j in s)) for s in sets if i in s) for i in range(len(p))]
    np.testing.assert_allclose(holm(p), closed, rtol=1e-14)


def test_holm_passes_by_what_is_no_comparison():
    adjusted = holm([0.01, np.nan, 0.04])
    np.testing.assert_array_equal(adjusted, [0.02, np.nan, 0.04])
    assert holm([]).size == 0


def test_against_the_best():
    rng = np.random.default_rng(7)
    shared = rng.normal(size=(8, 1))
    methods = {
        name: by + shared + 0.1 * rng.normal(size=(8, LOOKS)) for name, by in {"a": 0.0, "b": 0.5, "c": 0.45}.items()
    }
    methods["a"][2, 3] = np.nan
    methods["broken"] = np.full((8, LOOKS), np.nan)
    found = against_best(methods, level=0.9)
    assert found.best == "b"
    assert list(found.differences) == list(found.adjusted) == ["a", "c", "broken"]
    for name, difference in found.differences.items():
        assert difference == pytest.approx(paired(by_seed(methods[name]), by_seed(methods["b"]), 0.9), nan_ok=True)
    assert found.differences["a"].n == 7
    pairs = [paired(by_seed(methods[one]), by_seed(methods[other])).p for one, other in ("ab", "ac", "bc")]
    assert [found.adjusted["a"], found.adjusted["c"]] == [holm(pairs)[0], holm(pairs)[2]]
    assert math.isnan(found.adjusted["broken"])
    assert against_best({"broken": methods["broken"]}) == (None, {}, {})
    assert against_best({"a": methods["a"]}) == ("a", {}, {})


def test_choosing_the_best_first_does_not_make_its_lead_significant():
    """Six equal methods: some other is declared worse than "the best" in at most 5 % of experiments.

    Adjusting for the five comparisons alone would not do, since the best was chosen to be extreme.
    """
    rng, experiments, methods = np.random.default_rng(8), 300, "abcdef"
    wrong, for_five_alone = 0, 0
    for _ in range(experiments):
        found = against_best({name: rng.normal(size=(12, 1)) for name in methods})
        wrong += min(found.adjusted.values()) < 0.05
        for_five_alone += holm([d.p for d in found.differences.values()]).min() < 0.05
    allowed = 0.05 + 3 * math.sqrt(0.05 * 0.95 / experiments)
    assert wrong / experiments < allowed < for_five_alone / experiments


def test_marks_without_a_contest():
    rng = np.random.default_rng(9)
    good, broken = 5 + runs(rng), np.full((SEEDS, LOOKS), np.nan)
    assert marks({"good": good})["good"] == (True, True, False)
    assert marks({"good": good, "broken": broken}) == {"good": (True, True, False), "broken": (False, False, False)}
    assert marks({"good": good, "broken": broken, "worse": good - 9})["good"] == (True, True, True)
    assert marks({"one": good, "two": good.copy()}) == dict.fromkeys(["one", "two"], (True, True, False))
    assert marks({"one": [[0.9]], "two": [[0.8]]})["one"] == (True, False, False)
    assert marks({}) == {}


def test_significance_is_asked_for():
    """At z = 2: at 5 %, not at 4 %."""
    values = {"a": with_moments(2 * math.sqrt(2 / 50), 1), "b": with_moments(0, 1)}
    assert z_test(values["a"], values["b"]).z == pytest.approx(2)
    assert marks(values)["a"].significant
    assert not marks(values, significance=0.04)["a"].significant


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: summarise([0.1, 0.2]), r"one row a seed and one column a look, but shape \(2,\) came; pass an array"),
        (lambda: marks({"a": np.zeros((3, 0))}), r"shape \(3, 0\) came; pass an array \[seeds, looks\] with at least"),
        (lambda: paired([1, 2], [1, 2, 3]), r"the same seeds twice, but shapes \(2,\) and \(3,\) came; pass by_seed"),
        (lambda: paired([[1, 2]], [[1, 2]]), r"but shapes \(1, 2\) and \(1, 2\) came; pass by_seed of both"),
        (lambda: paired([1, 2], [1, 2], level=95), r"level=95 is not a confidence level in \(0, 1\); for 95 % pass"),
        (lambda: against_best({"a": [[1]], "b": [[1], [2]]}), r"shapes \(1,\) and \(2,\) came"),
        (lambda: holm([0.1, 1.2]), r"probabilities in \[0, 1\], but \[0.1, 1.2\] came; pass p values"),
        (lambda: holm(0.1), "a list of probabilities"),
    ],
)
def test_what_is_refused(call, message):
    with pytest.raises(RecordError, match=message) as error:
        call()
    assert "\n" not in str(error.value)


def test_doctests():
    assert doctest.testmod(statistics).failed == 0
