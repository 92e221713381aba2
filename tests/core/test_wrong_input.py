"""What cannot be played is refused before anything is compiled, in one sentence that says what to do."""

import dataclasses
from typing import Any

import jax.numpy as jnp
import numpy as np
import optax
import pytest

import federage as fr
from federage.errors import DataError, FederageError, RecordError
from federage.testing import federation, tiny


def linear(outputs: int, inputs: int = 4) -> fr.Model:
    return fr.Model.of(lambda key: jnp.zeros((inputs, outputs)), lambda theta, x: x @ theta)


def without_examples(client: int) -> fr.Clients:
    clients = federation()
    return dataclasses.replace(clients, train=clients.train._replace(lengths=clients.train.lengths.at[client].set(0)))


def problem(
    model: fr.Model | None = None, clients: fr.Clients | None = None, law: Any = None, **how: Any
) -> fr.Problem:
    return fr.Problem(
        model or fr.models.softmax(),
        clients or federation(),
        law or fr.participation.uniform(6, 2),
        **{"local_steps": 2, "batch": 4, **how},
    )


@pytest.mark.parametrize(
    ("wrong", "sentence"),
    [
        ({"law": fr.participation.uniform(5, 2)}, "the law is over 5 clients, the data over 6; make them agree"),
        (
            {"batch": 9},
            "batch=9 exceeds the 8 training examples of client 0, and mini-batches are drawn without replacement; "
            "pass batch <= 8, or give every client at least 9",
        ),
        ({"batch": 0}, "batch=0 is not a whole number of at least 1"),
        ({"clients": without_examples(2)}, "client 2 has no training examples; drop it or give it some"),
        (
            {"model": linear(2)},
            "the labels go up to 2, but the model custom has 2 outputs; give it at least 3",
        ),
        (
            {"local_epochs": 1},
            "both local_steps and local_epochs were given; pass one of them",
        ),
        ({"local_steps": None, "local_epochs": 0}, "local_epochs=0 is not a positive number"),
        ({"local_steps": None, "local_epochs": float("nan")}, "local_epochs=nan is not a positive number"),
        ({"local_steps": 1.5}, "local_steps=1.5 is not a whole number of at least 1, or one for each client"),
        ({"local_steps": 0}, "local_steps=0 is not a whole number of at least 1, or one for each client"),
        (
            {"local_steps": [1, 2, 3, 0, 1, 1]},
            "local_steps=[1, 2, 3, 0, 1, 1] is not a whole number of at least 1, or one for each client",
        ),
        ({"local_steps": [1, 2]}, "local_steps has shape (2,), but there are 6 clients; pass one number, or 6"),
        ({"look_at": "tests"}, "look_at='tests' is not one of 'train', 'validation', 'test'"),
        ({"precision": "float64"}, "precision='float64' is not one of 'float32', 'tensorfloat32', 'bfloat16'"),
        ({"chunk": 0}, "chunk=0 is not a whole number of at least 1"),
        (
            {"model": linear(3)._replace(loss=lambda outputs, y: jnp.mean(outputs))},
            "the model's loss gave shape () for a batch of 1; it must give one loss an example, shape (1,)",
        ),
    ],
)
def test_problems_that_cannot_be(wrong: dict[str, Any], sentence: str):
    with pytest.raises((RecordError, DataError)) as error:
        problem(**wrong)
    assert str(error.value) == sentence


def test_a_model_that_does_not_take_the_examples():
    with pytest.raises(DataError, match=r"^the model custom does not take examples of shape \(4,\): "):
        problem(model=linear(3, inputs=5))


@pytest.mark.parametrize(
    ("how", "sentence"),
    [
        ({"rounds": 0}, "rounds=0 is not a whole number of at least 1"),
        ({"every": 0}, "every=0 is not a whole number of at least 1"),
        *[
            (
                {"smooth": s},
                f"smooth={s} is not a decay in (0, 1); pass smooth=.99 for an average over about 100 rounds",
            )
            for s in (0, 1.0, -0.5, float("nan"))
        ],
        ({"watch": ["smooth"]}, "watch has 'smooth', but no decay was given; pass smooth=.99"),
        ({"watch": ["first"]}, "watch has 'first', which is none of 'last', 'average', 'smooth'"),
        *[
            (
                {"seeds": s},
                f"seeds={s!r} is neither a number of at least 1 nor a list of different non-negative numbers",
            )
            for s in (0, -1, [], [1, 1], [0, -2])
        ],
    ],
)
def test_runs_that_cannot_be(how: dict[str, Any], sentence: str):
    for play in (fr.run, lambda *given, **how: list(fr.stream(*given, **how))):
        with pytest.raises(RecordError) as error:
            play(tiny(), fr.FedAvg(lr=0.1), **{"rounds": 4, **how})
        assert str(error.value) == sentence


@pytest.mark.parametrize(
    ("methods", "names"),
    [
        ([fr.FedAvg(lr=0.1), fr.FedProx(lr=0.1)], "FedAvg, FedProx"),
        ([fr.FedAvg(lr=0.1), fr.FedAvg(lr=0.1, within=fr.Ball(1.0))], "FedAvg"),
        ([fr.FedAvg(lr=0.1), fr.compose(optax.sgd(0.1))], "Composed, FedAvg"),
    ],
)
def test_sweeps_of_different_kinds(methods: list[Any], names: str):
    with pytest.raises(RecordError) as error:
        fr.sweep(tiny(), methods, rounds=1)
    assert str(error.value) == (
        f"one sweep takes records of one kind that differ in numbers only, but came {names}; sweep each kind"
    )


def test_no_method():
    with pytest.raises(RecordError) as error:
        fr.sweep(tiny(), [], rounds=1)
    assert str(error.value) == "no method was given; pass at least one record, such as FedAvg(lr=.1)"


def test_what_is_refused_is_an_error_of_the_library_and_of_python():
    for kind in (RecordError, DataError):
        assert issubclass(kind, FederageError)
        assert issubclass(kind, ValueError)


def test_what_can_be():
    """Whole floats are whole numbers; batches may be whole clients; labels may be fewer than outputs."""
    assert problem(local_steps=2.0).local_steps == 2
    assert problem(batch=8).batch == 8
    assert problem(model=linear(7)).model.name == "custom"
    assert problem(local_steps=np.arange(1, 7)).local_steps is None
