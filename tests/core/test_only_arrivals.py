"""Training the arrivals only is training all and erasing the rest; chunks do not show; the cost is who came."""

import dataclasses
import math
from fractions import Fraction
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
from same_numbers import assert_same_up_to_rounding, runs

import federage as fr
from federage.core.state import State, initial
from federage.testing import arrivals, tiny, train_all_then_erase

STEPS = [1, 2, 3, 3, 2, 4]


def carried(state: State) -> dict[str, Any]:
    names = ("round", "vars", "server", "correction", "aggregation", "law", "heard")
    return {name: getattr(state, name) for name in names}


def test_it_is_to_train_all_and_then_erase(problem: fr.Problem, method: fr.FedeRageCV, whole: fr.Result):
    """Every law takes its turn in these rounds, and clients differ in their number of steps."""

    @jax.jit
    def once(state: State) -> State:
        return train_all_then_erase(method.parts(), problem, {}, jnp.uint32(0), state)

    state = jax.jit(lambda: initial(method.parts(), problem, jnp.uint32(0), False))()
    for _ in range(17):
        state = once(state)
    assert_same_up_to_rounding(carried(jax.tree.map(lambda a: a[None], state)), carried(runs(whole.state, [0])))
    sizes = {len(came) for came in arrivals(problem.law, 0, 17)}
    assert {1, 2, 6} <= sizes


@pytest.mark.parametrize("chunk", [4, 6])
def test_the_width_of_a_chunk_does_not_show(chunk: int, problem: fr.Problem, method: fr.FedeRageCV, whole: fr.Result):
    """In pieces that do not divide the cohorts, and all at once without a loop; the shared run goes two by two."""
    other = fr.run(dataclasses.replace(problem, chunk=chunk), method, rounds=17, every=17)
    assert_same_up_to_rounding(carried(other.state), carried(runs(whole.state, [0])))


def counting_steps(heard: Any = lambda: None) -> fr.Algorithm:
    """A local step that adds 1 to every parameter whatever the gradient is, and calls `heard` when it is computed."""

    def update(gradient: Any, state: Any, params: Any = None) -> Any:
        jax.debug.callback(heard)
        return jax.tree.map(jnp.ones_like, gradient), state

    return fr.compose(optax.GradientTransformation(lambda params: optax.EmptyState(), update))


@pytest.mark.parametrize("epochs", [1, 0.75, 2.5])
def test_epochs_are_steps_rounded_up(epochs: float):
    """K_i = ceil(epochs n_i / b) in exact arithmetic, for clients of 8 to 13 examples."""
    steps = np.asarray(tiny(local_steps=None, local_epochs=epochs).steps_each).tolist()
    assert steps == [math.ceil(Fraction(epochs) * n / 4) for n in range(8, 14)]


def test_whole_numbers_in_decimals_are_not_rounded_up():
    """0.07 x 100 is 7.000000000000001 in floats: still 7 steps."""
    assert 0.07 * 100 > 7
    data = [(np.zeros((n, 2)), np.zeros(n, int)) for n in (100, 200)]
    clients = fr.partition.from_lists(data, classes=2, validation=0)
    problem = fr.Problem(fr.models.softmax(), clients, fr.participation.full(2), local_epochs=0.07, batch=1)
    assert np.asarray(problem.steps_each).tolist() == [7, 14]


def test_clients_that_turn_out_alike_take_one_number_of_steps():
    assert tiny(local_steps=None, local_epochs=0.25).local_steps == 1
    assert tiny(local_steps=[2] * 6).local_steps == 2


def test_every_client_takes_its_own_number_of_steps():
    """A step adds 1, so that the model moves by the mean of its arrivals' numbers of steps."""
    rounds = [[5], [0], [0, 1, 2, 3, 4, 5], [0, 5], [0, 1, 2, 3]]
    problem = tiny(fr.participation.Trace(rounds), local_steps=STEPS)
    legs = fr.stream(problem, counting_steps(), rounds=5, every=1)
    totals = [leg.state.vars.theta["bias"][0, 0] for leg in legs]
    assert np.diff(totals, prepend=0).tolist() == [4, 1, 2.5, 2.5, 2.25]


@pytest.mark.parametrize(("steps", "trips"), [(STEPS, 4 + (2 + 3 + 4) + 1 + (3 + 3)), (2, 2 * 7)], ids=["own", "alike"])
def test_the_cost_of_a_round_is_who_came(steps: Any, trips: int):
    """Two at a time: seven chunks, of which each goes on until its longest is done. Nobody else is computed."""
    computed = []
    rounds = [[5], [0, 1, 2, 3, 4, 5], [0], [1, 2, 3]]
    problem = tiny(fr.participation.Trace(rounds), local_steps=steps, chunk=2)
    assert problem.law.capacity == 6
    fr.run(problem, counting_steps(lambda: computed.append(None)), rounds=4, every=4)
    jax.effects_barrier()
    assert len(computed) == trips


def test_nobody_who_did_not_come_is_remembered():
    """Padding has an id outside of the tables: nothing is written for it, nor for those who stayed away."""
    law = fr.participation.Trace([[1, 4, 5], [4]], clients=6)
    result = fr.run(tiny(law, chunk=2), fr.Scaffold(lr=0.1), rounds=2, every=2)
    kept = np.asarray(result.state.correction.clients["weights"])[0]
    assert [bool(np.any(entry)) for entry in kept] == [False, True, False, False, True, True]
    assert result.heard.tolist() == [[0, 1, 0, 0, 2, 1]]
