"""Records are values, are checked once, and go through compiled programs without being checked again."""

import dataclasses
from typing import Any

import jax
import jax.numpy as jnp
import pytest

from federage.core.record import fraction, non_negative, positive, record, static, tail_mass
from federage.errors import RecordError

MADE: list[str] = []


@record
class Wheel:
    """A record that notes when its constructor is called."""

    radius: float
    name: str = static("wheel")

    def __post_init__(self) -> None:
        MADE.append(self.name)
        positive("radius", self.radius)


@record
class Cart:
    front: Wheel
    load: float = 0.0
    wheels: int = static(2)


@pytest.fixture
def cart() -> Cart:
    cart = Cart(Wheel(2.0, name="front"), load=5.0)
    MADE.clear()
    return cart


def test_numbers_are_leaves_and_static_fields_are_structure(cart: Cart):
    assert jax.tree.leaves(cart) == [2.0, 5.0]
    paths = [jax.tree_util.keystr(path) for path, _ in jax.tree_util.tree_leaves_with_path(cart)]
    assert paths == [".front.radius", ".load"]
    heavier = dataclasses.replace(cart, load=6.0)
    assert jax.tree.structure(heavier) == jax.tree.structure(cart)
    for other in (dataclasses.replace(cart, wheels=4), dataclasses.replace(cart, front=Wheel(2.0, name="rear"))):
        assert jax.tree.leaves(other) == jax.tree.leaves(cart)
        assert jax.tree.structure(other) != jax.tree.structure(cart)


def test_a_record_is_rebuilt_without_its_constructor(cart: Cart):
    """Also of values that the constructor would refuse: an update, a tracer, a placeholder."""
    assert jax.tree.map(lambda number: number, cart) == cart
    negative = jax.tree.map(lambda number: -number, cart)
    assert negative.front.radius == -2.0
    assert (negative.wheels, negative.front.name) == (2, "front")
    assert jax.tree.map(lambda number: None, cart).load is None
    assert MADE == []


def test_records_go_through_jit(cart: Cart):
    traces = []

    @jax.jit
    def double(cart: Cart) -> Cart:
        traces.append(None)
        return jax.tree.map(lambda number: 2 * number, cart)

    doubled = double(cart)
    assert isinstance(doubled, Cart)
    assert isinstance(doubled.front, Wheel)
    assert jax.tree.leaves(doubled) == [4.0, 10.0]
    assert double(doubled).load == 20
    double(jax.tree.map(lambda number: number + 1, doubled))
    assert len(traces) == 1
    double(dataclasses.replace(doubled, wheels=4))
    assert len(traces) == 2
    assert MADE == []


def test_records_are_an_axis_of_vmap(cart: Cart):
    stacked = jax.tree.map(lambda *numbers: jnp.stack([jnp.float32(n) for n in numbers]), cart, cart, cart)
    spread = dataclasses.replace(stacked, load=jnp.array([1.0, 2.0, 3.0]))
    assert jax.vmap(lambda cart: cart.front.radius * cart.load)(spread).tolist() == [2, 4, 6]
    back = jax.vmap(lambda cart: cart)(spread)
    assert back.load.tolist() == [1, 2, 3]
    assert back.wheels == 2


def test_records_are_values(cart: Cart):
    same = Cart(Wheel(2.0, name="front"), load=5.0)
    assert same == cart
    assert hash(same) == hash(cart)
    assert {cart: 1}[same] == 1
    assert cart != dataclasses.replace(cart, load=6.0)
    assert cart != dataclasses.replace(cart, wheels=3)
    with pytest.raises(dataclasses.FrozenInstanceError):
        cart.load = 1.0  # pyright: ignore[reportAttributeAccessIssue]


def test_a_record_is_checked_when_it_is_made():
    with pytest.raises(RecordError, match=r"^radius=0 is not a positive, finite number$"):
        Wheel(0)


@pytest.mark.parametrize(
    ("check", "good", "bad", "sentence"),
    [
        (positive, [1e-30, 5], [0, -1, float("inf"), float("nan")], "is not a positive, finite number"),
        (non_negative, [0, 5], [-1e-9, float("inf"), float("nan")], "is not a finite number of at least 0"),
        (fraction, [0, 0.5, 1], [-0.1, 1.1, float("nan")], "is not a weight in [0, 1]"),
        (
            tail_mass,
            [1e-9, 1],
            [0, 1.5, float("nan")],
            "is not a tail mass in (0, 1]; for a confidence level c pass alpha = 1 - c",
        ),
    ],
)
def test_domains(check: Any, good: list[float], bad: list[float], sentence: str):
    for value in good:
        check("x", value)
    for value in bad:
        with pytest.raises(RecordError) as error:
            check("x", value)
        assert str(error.value) == f"x={value} {sentence}"
    for value in ("1", None, True):
        with pytest.raises(RecordError, match=f"^x={value!r} is not a number; pass a"):
            check("x", value)
    check("x", jnp.array([-1.0, 2.0]))  # a stack of records inside a program was checked as numbers
