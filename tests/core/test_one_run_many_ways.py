"""A run is its numbers: how it is cut, batched, taken up again or looked ahead in does not show.

To the bit where the same compiled program plays (`run`, `stream`, a resumed stream, a sweep of the same width, a second
time); another width, leg or chunk is another program, in which XLA may round a sum otherwise.
"""

import dataclasses
from typing import Any

import jax
import numpy as np
import pytest
from same_numbers import assert_same_bits, assert_same_up_to_rounding, pairs, runs

import federage as fr
from federage.core import foresight
from federage.core.foresight import foresee
from federage.core.plan import plan
from federage.core.randomness import Purpose, stream
from federage.testing import laws, tiny


def contents(result: fr.Result) -> Any:
    return result.legs, result.looks, result.state


def test_looks_are_taken_after_every_leg_and_at_the_end(whole: fr.Result):
    assert whole.rounds.tolist() == [8, 16, 17]
    assert whole.state.round.tolist() == [17, 17, 17]
    assert whole.accuracy.shape == (3, 3)
    assert set(whole.looks) == {"last", "average", "smooth"}


@pytest.mark.parametrize(
    ("rounds", "every", "looks"),
    [(3, None, [1, 2, 3]), (50, None, [*range(2, 51, 2)]), (2, 9, [2]), (4, 2, [2, 4]), (5, 3, [3, 5])],
)
def test_the_rounds_of_looks(rounds: int, every: int | None, looks: list[int]):
    cut = plan(rounds, every, (), None)
    assert np.cumsum(cut.lengths()).tolist() == looks
    for done in looks:
        assert (done + np.cumsum(cut.lengths(done))).tolist() == [r for r in looks if r > done]


def test_a_stream_is_the_run(problem: fr.Problem, method: fr.Method, how: dict[str, Any], whole: fr.Result):
    *legs, last = fr.stream(problem, method, **how)
    assert [leg.round for leg in legs] == [8, 16]
    assert [leg.looks[0].round.shape for leg in legs] == [(3, 1), (3, 2)]
    assert_same_bits(contents(fr.result_of(problem, method, how["seeds"], last)), contents(whole))


@pytest.mark.parametrize("leg", [0, 1, 2])
def test_a_stream_taken_up_from_any_leg_is_the_run(
    leg: int, problem: fr.Problem, method: fr.Method, how: dict[str, Any], whole: fr.Result
):
    start = list(fr.stream(problem, method, **how))[leg]
    last = start
    for last in fr.stream(problem, method, start=start, **how):
        assert last.round > start.round
    assert_same_bits(contents(fr.result_of(problem, method, how["seeds"], last)), contents(whole))


def test_a_second_run_is_the_first(problem: fr.Problem, method: fr.Method, how: dict[str, Any], whole: fr.Result):
    assert_same_bits(contents(fr.run(problem, method, **how)), contents(whole))


def test_the_length_of_legs_does_not_matter(whole: fr.Result, round_by_round: list[fr.Progress]):
    assert_same_up_to_rounding(round_by_round[-1].state, whole.state)
    _, looks = round_by_round[-1].looks
    assert_same_up_to_rounding(jax.tree.map(lambda a: a[:, [7, 15, 16]], looks), whole.looks)


def test_a_seed_among_others_is_the_seed_alone(
    problem: fr.Problem, method: fr.Method, how: dict[str, Any], whole: fr.Result
):
    alone = fr.run(problem, method, **{**how, "seeds": [1], "every": 17})
    assert_same_up_to_rounding(alone.state, runs(whole.state, [1]))


def test_more_seeds_or_others_do_not_change_a_seed(
    problem: fr.Problem, method: fr.Method, how: dict[str, Any], whole: fr.Result
):
    """On two cores four runs are as wide a program as three, so that nothing is compiled here."""
    more = fr.run(problem, method, **{**how, "seeds": (7, 2, 0, 1)})
    assert more.seeds == (7, 2, 0, 1)
    assert_same_up_to_rounding(runs(contents(more), [2, 3, 1]), contents(whole))


def test_a_record_in_a_sweep_is_the_record_alone(
    problem: fr.Problem, method: fr.FedeRageCV, how: dict[str, Any], whole: fr.Result
):
    other = dataclasses.replace(method, lr=0.03, alpha=1.0)
    swept = fr.sweep(problem, [other, method], **{**how, "seeds": (0, 2)})
    assert [result.method for result in swept] == [other, method]
    assert_same_up_to_rounding(contents(swept[1]), runs(contents(whole), [0, 2]))
    moved = [np.abs(x - y).max() for _, x, y in pairs(swept[0].last, swept[1].last)]
    assert max(moved) > 1e-2


@pytest.fixture(scope="module")
def alike() -> fr.Problem:
    """All clients take the same number of steps and rounds have one chunk: mini-batches are foreseen too."""
    return tiny(laws()["markov"], chunk=6)


def test_what_is_foreseen_does_not_depend_on_how_far(alike: fr.Problem):
    """Nor does the law's memory."""

    @jax.jit
    def ahead(seed: int) -> Any:
        return foresee(alike, seed, alike.law.init(stream(seed, Purpose.LAW)), 0, 6)

    @jax.jit
    def step(seed: int, law: Any, number: int) -> Any:
        return foresee(alike, seed, law, number, 1)

    end, draws = ahead(5)
    law = alike.law.init(stream(5, Purpose.LAW))
    for number in range(6):
        law, one = step(5, law, number)
        assert_same_bits(jax.tree.map(lambda a: a[0], one), jax.tree.map(lambda a, k=number: a[k], draws))
    assert_same_bits(law, end)
    assert draws.rows.shape == (6, 6, 3, 4)


def test_the_block_of_rounds_drawn_ahead_does_not_show(alike: fr.Problem, monkeypatch: pytest.MonkeyPatch):
    how = {"rounds": 12, "every": 12, "seeds": 2}
    at_once = fr.run(alike, fr.FedeRage(lr=0.1), **how)
    assert foresight.block(alike, 12) == 12
    monkeypatch.setattr(foresight, "_ROWS_BYTES", 4 * 6 * 3 * 4**2)
    in_threes = dataclasses.replace(alike, model=alike.model._replace(name="in blocks"))  # not the program above
    assert foresight.block(in_threes, 12) == 4
    assert foresight.block(in_threes, 7) == 1
    assert_same_up_to_rounding(contents(fr.run(in_threes, fr.FedeRage(lr=0.1), **how)), contents(at_once))
