"""What every algorithm promises, checked on an algorithm at hand."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from federage.core.algorithm import Algorithm, Facts, Knowledge, Method
from federage.core.cast import Composed
from federage.core.model import Model
from federage.core.problem import Problem
from federage.core.result import Result
from federage.core.run import result_of, run, stream, sweep
from federage.core.state import State, initial
from federage.core.types import PyTree
from federage.errors import KnowledgeError
from federage.participation import Law, Trace
from federage.testing import problems
from federage.testing.draws import arrivals
from federage.testing.erase import train_all_then_erase

CHANGE, SCALE = 1e-3, 1e-6
"""Two roads may differ by this fraction of the largest change since the start, plus this fraction of the values.

Both are rounding: sums are taken in another order. A wrong divisor or a forgotten client is of the size of the change.
"""


def check_algorithm(
    method: Method | Algorithm, *, laws: Mapping[str, Law] | None = None, rounds: int = 4, seed: int = 0
) -> None:
    """Raise an AssertionError, in words, unless `method` keeps the promises of an algorithm.

    It plays some rounds of a small problem and stays finite; `run` and `stream` agree to the bit, also when the stream
    is taken up from one of its legs; legs do not recompile; a seed in a batch of runs is the seed alone; a record in a
    sweep is the record alone; it reads what it declares, and declares what it reads. And under every law: what becomes
    of a round does not depend on how many arrivals are worked on at once, and is what comes of training all clients
    and erasing those that did not get through.

    Args:
      method: a record with `parts()`, or an `Algorithm` composed of parts.
      laws: by name, over six clients; one of every kind in the library, if None.
      rounds: how many to play, an even number.
      seed: of the runs; the next one is played as well.
    """
    assert isinstance(method, Method | Algorithm), (
        f"expected a record with parts() or an Algorithm, but {method!r} came; give the record a method parts()"
    )
    record = Composed(method) if isinstance(method, Algorithm) else method
    model, traces = _counted(problems.tiny().model)
    replays = {
        name: _replay(law, model, seed, rounds) for name, law in (problems.laws() if laws is None else laws).items()
    }
    first = next(iter(replays.values()))
    _check_record(record)
    _check_knowledge(record, first)
    played = _check_legs(method, first, traces, rounds, seed)
    _check_alone(method, first, played, rounds, seed)
    if isinstance(method, Method):
        _check_sweep(method, first, played, rounds, seed)
    for name, problem in replays.items():
        _check_arrivals(record, problem, rounds, seed, f"under the law {name!r}")


def _replay(law: Law, model: Model, seed: int, rounds: int) -> Problem:
    """A small problem with the arrivals of this law, drawn beforehand: one program plays those of all laws.

    Clients differ in their number of local steps.
    """
    everybody = list(range(law.clients))  # one round more, never played: it gives all replays one shape
    recorded = Trace([*arrivals(law, seed, rounds), everybody])
    return dataclasses.replace(problems.tiny(recorded, local_steps=[1, 2, 3, 3, 2, 4], chunk=4), model=model)


def _counted(model: Model) -> tuple[Model, Callable[[], int]]:
    """The model, and how often Python has come by it: that happens only while a program is traced."""
    passes = []

    def apply(theta: PyTree, x: Array) -> Any:
        passes.append(None)
        return model.apply(theta, x)

    return model._replace(apply=apply), lambda: len(passes)


def _check_record(record: Method) -> None:
    try:
        leaves, structure = jax.tree.flatten(record)
        rebuilt = jax.tree.unflatten(structure, leaves)
        same = jax.tree.leaves(rebuilt) == leaves and jax.tree.structure(rebuilt) == structure
    except Exception as error:
        raise AssertionError(f"{_name(record)} is not rebuilt from its own leaves: {error}") from error
    assert same, f"{_name(record)} is rebuilt with other values from its own leaves; register it with `record`"
    odd = [leaf for leaf in leaves if np.shape(leaf) != () or np.asarray(leaf).dtype.kind not in "iuf"]
    assert not odd, f"{_name(record)} has {odd[0]!r} among its numbers; declare that field with `static()`"


def _check_knowledge(record: Method, problem: Problem) -> None:
    algorithm = record.parts()
    try:
        before, after = _rehearse(record, problem)
    except KnowledgeError as error:
        raise AssertionError(f"{_name(record)} reads what it does not declare: {error}") from error
    except Exception as error:
        raise AssertionError(f"{_name(record)} cannot play a round: {type(error).__name__}: {error}") from error
    for name, old, new in _changed(before, after):
        raise AssertionError(
            f"{_name(record)} cannot play two rounds: {name} begins as {old} and becomes {new}; "
            "start memories as what they will be, such as jnp.zeros(()) for a float32 number"
        )
    for part in ("correction", "aggregation"):
        for known in getattr(algorithm, part).reads:
            poorer = getattr(algorithm, part)._replace(reads=getattr(algorithm, part).reads - {known})
            try:
                _rehearse(Composed(algorithm._replace(**{part: poorer})), problem)
            except KnowledgeError:
                continue
            raise AssertionError(
                f"the {part} of {_name(record)} declares to read {known!s}, but does without; drop it from `reads`"
            )


def _rehearse(record: Method, problem: Problem) -> tuple[State, State]:
    """One round, abstractly: nothing is compiled. The state's shapes and dtypes before and after."""

    def both(record: Method, seed: Array) -> tuple[State, State]:
        algorithm = record.parts()
        state = initial(algorithm, problem, seed, False)
        return state, train_all_then_erase(algorithm, problem, _facts(algorithm, problem), seed, state)

    return jax.eval_shape(both, record, jax.ShapeDtypeStruct((), jnp.uint32))


def _changed(before: State, after: State) -> Iterator[tuple[str, str, str]]:
    """What of a state is of another shape or dtype after a round: its name, what it was, what it is."""
    ends = [dict(jax.tree_util.tree_leaves_with_path(_carried(state))) for state in (before, after)]
    for path in ends[0] | ends[1]:
        old, new = (f"{end[path].dtype}{list(end[path].shape)}" if path in end else "nothing" for end in ends)
        if old != new:
            yield jax.tree_util.keystr(path, simple=True, separator="."), old, new


def _check_legs(method: Any, problem: Problem, traces: Callable[[], int], rounds: int, seed: int) -> Result:
    """Run = stream = a stream taken up again, to the bit, and no leg but the first compiles anything."""
    two: tuple[int, int] = (seed, seed + 1)
    cut: dict[str, Any] = {"rounds": rounds, "every": rounds // 2}
    played = run(problem, method, seeds=two, **cut)
    assert played.finite.all(), (
        f"{played.name} was no longer finite after {played.broke.max()} of {rounds} rounds of softmax regression; "
        "try a smaller step size"
    )
    legs, passes = [], []
    for leg in stream(problem, method, seeds=two, **cut):
        legs.append(leg)
        passes.append(traces())
    assert passes[0] == passes[-1], (
        f"{played.name} is compiled anew from leg to leg: a memory changes its type; start memories as float32 arrays, "
        "jnp.zeros(()) rather than 0.0"
    )
    _assert_same(played, result_of(problem, method, two, legs[-1]), "`run` and `stream` differ")
    *_, taken_up = stream(problem, method, seeds=two, start=legs[0], **cut)
    _assert_same(played, result_of(problem, method, two, taken_up), "a stream taken up from a leg is another one")
    again = traces()
    _assert_same(played, run(problem, method, seeds=two, **cut), "a second run of the same seeds differs")
    assert traces() == again, f"{played.name} is compiled anew at a second run"
    return played


def _check_alone(method: Any, problem: Problem, played: Result, rounds: int, seed: int) -> None:
    """The second of the two seeds, alone: a program of its own, so the last bit is not promised."""
    alone = run(problem, method, rounds=rounds, every=rounds // 2, seeds=[seed + 1])
    batched = jax.tree.map(lambda a: a[1:], played.state)
    start = jax.tree.map(np.zeros_like, batched)
    _assert_close(start, batched, alone.state, "a seed in a batch of runs is not the seed alone")


def _check_sweep(method: Method, problem: Problem, played: Result, rounds: int, seed: int) -> None:
    """Two records of one seed against each of them on two seeds: the same program, so to the bit."""
    cut: dict[str, Any] = {"rounds": rounds, "every": rounds // 2}
    other = jax.tree.map(lambda number: 0.9 * number, method)
    swept = sweep(problem, [method, other], seeds=[seed], **cut)
    for result, alone in zip(swept, (played, run(problem, other, seeds=(seed, seed + 1), **cut)), strict=True):
        first = dataclasses.replace(alone, **jax.tree.map(lambda a: a[:1], _contents(alone)))
        _assert_same(first, result, "a record in a sweep is not the record alone")


def _check_arrivals(record: Method, problem: Problem, rounds: int, seed: int, where: str) -> None:
    """Three ways: as the engine plays it, one arrival after another, and all clients trained, then erased."""
    cut: dict[str, Any] = {"rounds": rounds, "every": rounds // 2, "seeds": [seed]}
    played, pieces = (run(p, record, **cut) for p in (problem, dataclasses.replace(problem, chunk=1)))
    assert played.finite.all(), f"{_name(record)} was not finite {where}; try a smaller step size"
    start = state = _begin(record, problem, seed)
    facts = _facts(record.parts(), problem)
    for _ in range(rounds):
        state = _erase(record, problem, facts, seed, state)
    came, in_pieces = (jax.tree.map(lambda a: a[0], result.state) for result in (played, pieces))
    _assert_close(start, came, in_pieces, f"{where}, the result depends on `chunk`")
    _assert_close(start, came, state, f"{where}, training all clients and erasing gives something else")


@jax.jit
def _begin(record: Method, problem: Problem, seed: Array) -> State:
    return initial(record.parts(), problem, seed, False)


@jax.jit
def _erase(record: Method, problem: Problem, facts: Facts, seed: Array, state: State) -> State:
    return train_all_then_erase(record.parts(), problem, facts, seed, state)


def _facts(algorithm: Algorithm, problem: Problem) -> Facts:
    """What the engine hands to a method of these declarations."""
    known: dict[Knowledge, dict[str, Any]] = {
        Knowledge.SIZES: {"size": problem.clients.train.lengths},
        Knowledge.LAW: {"inclusion": problem.law.inclusion(), "weight": problem.law.weights()},
    }
    given = [facts for read, facts in known.items() if read in algorithm.reads]
    return {name: jnp.asarray(np.asarray(values), jnp.float32) for facts in given for name, values in facts.items()}


def _name(record: Method) -> str:
    return "the composed algorithm" if isinstance(record, Composed) else type(record).__name__


def _contents(result: Result) -> dict[str, PyTree]:
    return {"legs": result.legs, "looks": result.looks, "state": result.state}


def _carried(state: State) -> dict[str, PyTree]:
    """What the next round needs."""
    return {name: getattr(state, name) for name in ("round", "vars", "server", "correction", "aggregation", "heard")}


def _assert_same(expected: Result, came: Result, complaint: str) -> None:
    for path, a, b in _pairs(_contents(expected), _contents(came)):
        assert np.array_equal(a, b, equal_nan=a.dtype.kind == "f"), f"{complaint}: {path} is {b}, expected {a}"


def _assert_close(start: State, expected: State, came: State, complaint: str) -> None:
    starts = jax.tree.leaves(_carried(start))
    for old, (path, a, b) in zip(starts, _pairs(_carried(expected), _carried(came)), strict=True):
        allowed = CHANGE * np.abs(a - np.asarray(old)).max(initial=0) + SCALE * np.abs(a).max(initial=0)
        off = np.abs(a - b).max(initial=0)
        assert off <= allowed, f"{complaint}: {path} is {b}, expected {a} up to {allowed:.2g}"


def _pairs(expected: PyTree, came: PyTree) -> list[tuple[str, np.ndarray, np.ndarray]]:
    paths, others = jax.tree_util.tree_leaves_with_path(expected), jax.tree.leaves(came)
    return [
        (jax.tree_util.keystr(path, simple=True, separator="."), np.asarray(a), np.asarray(b))
        for (path, a), b in zip(paths, others, strict=True)
    ]
