"""`nearest` is the Euclidean projection, and a run never leaves its sets."""

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import federage as fr
from federage.core.types import Vars
from federage.participation import uniform
from federage.parts import per_part, project
from federage.testing import tiny

FEW = settings(max_examples=60, deadline=None)
NUMBERS = st.floats(-100, 100, width=32, allow_subnormal=False)  # XLA takes subnormal numbers for 0
POINTS = st.tuples(st.lists(NUMBERS, min_size=2, max_size=2), NUMBERS)
RADII = st.floats(2**-7, 200, width=32)
ULP = 2.0**-23  # float32's spacing, relative


def tree(point) -> dict[str, jnp.ndarray]:
    """Parameters in two pieces: a set is one of all of them together."""
    return {"weights": jnp.asarray(point[0], jnp.float32), "bias": jnp.asarray(point[1], jnp.float32)}


def flat(tree) -> np.ndarray:
    return np.concatenate([np.ravel(np.asarray(leaf, np.float64)) for leaf in jax.tree.leaves(tree)])


def assert_nearest(within, point, other) -> None:
    """No point of the set is nearer than the projection, whatever `other` is; and the set is left alone."""
    there, near = flat(tree(point)), within.nearest(tree(point))
    feasible = within.nearest(tree(other))
    slack = 8 * ULP * (1 + np.abs(there).max() + np.abs(flat(feasible)).max())
    assert np.linalg.norm(there - flat(near)) <= np.linalg.norm(there - flat(feasible)) + slack
    # The angle between where the projection comes from and any other point of the set is not acute.
    away, along = there - flat(near), flat(feasible) - flat(near)
    assert away @ along <= slack * (1 + np.linalg.norm(away) + np.linalg.norm(along))
    np.testing.assert_allclose(flat(within.nearest(near)), flat(near), rtol=4 * ULP, atol=0)


@FEW
@given(POINTS, POINTS, RADII)
def test_the_ball(point, other, radius: float):
    ball = fr.Ball(radius)
    assert_nearest(ball, point, other)
    near = flat(ball.nearest(tree(point)))
    assert np.linalg.norm(near) <= radius * (1 + 4 * ULP)
    # In a ball the projection is known: shorten to the radius, keep the direction.
    there = flat(tree(point))
    length = np.linalg.norm(there)
    np.testing.assert_allclose(near, there * min(1, radius / length if length else 1), rtol=8 * ULP, atol=1e-37)
    if length < radius * (1 - 4 * ULP):
        np.testing.assert_array_equal(near, there)


@FEW
@given(POINTS, POINTS, NUMBERS, st.floats(0, 100, width=32, allow_subnormal=False))
def test_the_box(point, other, low: float, length: float):
    low, high = float(np.float32(low)), float(np.float32(low + length))
    box = fr.Box(low, high)
    assert_nearest(box, point, other)
    np.testing.assert_array_equal(flat(box.nearest(tree(point))), np.clip(flat(tree(point)), low, high))


def test_at_the_origin_and_in_a_degenerate_box():
    np.testing.assert_array_equal(flat(fr.Ball(1.0).nearest(tree([[0, 0], 0]))), 0)
    np.testing.assert_array_equal(flat(fr.Box(0.5, 0.5).nearest(tree([[-1, 0.5], 3]))), 0.5)


def test_a_step_ends_on_both_sets():
    """Each set minds its own part of v; None minds nothing."""
    v = Vars(tree([[3, 0], 0]), jnp.float32(0.5))
    u = Vars(tree([[0, 4], 0]), jnp.float32(7))

    def landed(theta, dual):
        update, _ = project(theta, dual).update(u, optax.EmptyState(), v)
        return optax.apply_updates(v, update)

    assert flat(landed(None, None)).tolist() == [0, 3, 4, 7.5]
    np.testing.assert_allclose(flat(landed(fr.Ball(1), None)), [0, 0.6, 0.8, 7.5], rtol=1e-6)
    np.testing.assert_allclose(flat(landed(None, fr.Interval(0, 1))), [0, 3, 4, 1], rtol=1e-6)
    with pytest.raises(ValueError, match=r"project\(\) needs the parameters"):
        project(fr.Ball(1)).update(u, optax.EmptyState())


def test_each_part_steps_on_its_own():
    v = Vars(jnp.ones(2), jnp.ones(()))
    both = per_part(theta=optax.sgd(0.5), dual=optax.adam(0.25))
    update, memory = both.update(v, both.init(v), v)
    np.testing.assert_allclose(update.theta, -0.5)
    np.testing.assert_allclose(update.dual, -0.25, rtol=1e-5)  # Adam's first step has the length of its step size
    np.testing.assert_allclose(both.update(v, memory)[0].theta, -0.5)


@pytest.mark.parametrize(
    ("within", "norm"),
    [(fr.Ball(0.2), lambda flat: np.linalg.norm(flat)), (fr.Box(-0.05, 0.05), lambda flat: np.abs(flat).max())],
    ids=["ball", "box"],
)
def test_a_run_stays_inside(within, norm):
    """One client, one step: every checkpoint is one projected step, so it is on the border or inside."""
    problem = tiny(uniform(6, 1), local_steps=1)
    method = fr.FedeRage(1.0, beta_lr=3.0, within=within, beta_within=fr.Interval(-0.1, 2.0))
    largest = 0.2 if isinstance(within, fr.Ball) else 0.05
    norms, betas = [], []
    for leg in fr.stream(problem, method, rounds=30, every=1):
        norms.append(norm(flat(leg.state.vars.theta)))
        betas.append(float(leg.state.vars.dual[0]))
    assert max(norms) <= largest * (1 + 8 * ULP)
    assert np.mean(np.array(norms) > largest * (1 - 8 * ULP)) > 0.5  # on the border, most of the time
    # Steps of beta are longer than its interval: up to the top while losses are above, then down to the bottom.
    np.testing.assert_allclose(sorted(set(np.round(betas, 5))), [-0.1, 2.0])
