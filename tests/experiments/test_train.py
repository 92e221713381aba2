"""A run that is stopped and goes on ends as if nothing had happened, and goes on as nothing but itself."""

from pathlib import Path
from typing import Any

import jax
import numpy as np
import optax
import pytest

import federage as fr
from federage.errors import CheckpointError, CheckpointMismatch, StoreError
from federage.experiments import checkpoint, train
from federage.experiments.identity import describe, differences


class Stopped(Exception):
    pass


def clients(shift: float = 0.0) -> fr.Clients:
    rng = np.random.default_rng(0)
    data = [(rng.normal(size=(n, 3)) + shift, rng.integers(0, 2, n)) for n in (4, 5, 6)]
    return fr.partition.from_lists(data, data, classes=2, validation=0)


def problem_with(**changes: Any) -> fr.Problem:
    return fr.Problem(
        **{
            "model": fr.models.softmax(),
            "clients": clients(),
            "law": fr.participation.Markov([0.3, 0.4, 0.5], 0.4),
            "local_steps": 2,
            "batch": 2,
            **changes,
        }
    )


PROBLEM = problem_with()
METHOD = fr.FedeRageCV(lr=0.1)  # remembers something about every client
HOW: dict[str, Any] = {"seeds": 2, "every": 2, "watch": ("average",), "smooth": 0.9}
ROUNDS = 6  # three legs of one compiled program


@pytest.fixture(scope="module")
def undisturbed() -> fr.Result:
    *_, last = fr.stream(PROBLEM, METHOD, rounds=ROUNDS, **HOW)
    return fr.result_of(PROBLEM, METHOD, HOW["seeds"], last)


def assert_same(a: fr.Result, b: fr.Result) -> None:
    assert (a.name, a.method, a.seeds) == (b.name, b.method, b.seeds)
    numbers = [(r.legs, r.looks, r.state) for r in (a, b)]
    assert jax.tree.structure(numbers[0]) == jax.tree.structure(numbers[1])
    for x, y in zip(*map(jax.tree.leaves, numbers), strict=True):
        assert x.dtype == y.dtype
        assert x.shape == y.shape
        assert x.tobytes() == y.tobytes()


def stop_at_once(progress: fr.Progress) -> None:
    raise Stopped


def play(folder: Path, rounds: int = ROUNDS, problem: fr.Problem = PROBLEM, method: Any = METHOD, **how: Any) -> Any:
    return train(problem, method, folder=folder, rounds=rounds, **{**HOW, **how})


def test_stopped_after_every_leg(undisturbed: fr.Result, tmp_path: Path):
    played: list[int] = []

    def stop(progress: fr.Progress) -> None:
        played.append(progress.round)
        raise Stopped

    for _ in range(3):
        with pytest.raises(Stopped):
            play(tmp_path, progress=stop)
    assert played == [2, 4, 6]  # no leg twice
    assert_same(play(tmp_path), undisturbed)
    assert undisturbed.rounds.tolist() == [2, 4, 6]
    assert all(np.any(leaf) for leaf in jax.tree.leaves(undisturbed.state.correction.clients))  # there was a memory


def test_a_finished_run_is_read_not_played(undisturbed: fr.Result, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    told: list[int] = []
    assert_same(play(tmp_path, progress=lambda at: told.append(at.round)), undisturbed)
    assert told == [2, 4, 6]
    before = (tmp_path / checkpoint.FILE).stat()
    monkeypatch.setattr(checkpoint, "save", lambda *_: pytest.fail("it wrote"))
    assert_same(play(tmp_path, progress=lambda at: told.append(at.round)), undisturbed)
    assert told == [2, 4, 6]
    assert (tmp_path / checkpoint.FILE).stat().st_mtime_ns == before.st_mtime_ns


def test_a_run_is_extended(undisturbed: fr.Result, tmp_path: Path):
    play(tmp_path, rounds=2)
    assert_same(play(tmp_path), undisturbed)
    with pytest.raises(CheckpointMismatch, match="has played 6 rounds, more than rounds=4; pass rounds=6 or more"):
        play(tmp_path, rounds=4)
    with pytest.raises(CheckpointMismatch, match="every was 2, is 1;"):
        play(tmp_path, rounds=20, every=None)
    assert_same(play(tmp_path), undisturbed)


def test_a_run_is_not_extended_from_inside_a_leg(tmp_path: Path):
    """An undisturbed run of 6 rounds looks at rounds 3 and 6: not at 2, where this one ended, nor at 5."""
    short = play(tmp_path, rounds=2, every=3)
    with pytest.raises(CheckpointMismatch, match="ended at round 2, inside a leg of every=3 rounds"):
        play(tmp_path, rounds=6, every=3)
    assert_same(play(tmp_path, rounds=2, every=3), short)


def test_what_a_killed_program_left_is_cleared_away(undisturbed: fr.Result, tmp_path: Path):
    with pytest.raises(Stopped):
        play(tmp_path, progress=stop_at_once)
    (tmp_path / "checkpoint.safetensors.new").write_bytes((tmp_path / checkpoint.FILE).read_bytes()[:100])
    assert_same(play(tmp_path), undisturbed)
    assert [path.name for path in tmp_path.iterdir()] == [checkpoint.FILE]


def test_a_damaged_checkpoint_is_named_and_kept(tmp_path: Path):
    with pytest.raises(Stopped):
        play(tmp_path, progress=stop_at_once)
    path = tmp_path / checkpoint.FILE
    path.write_bytes(path.read_bytes()[:-1])
    with pytest.raises(CheckpointError, match=f"{path} is damaged"):
        play(tmp_path)
    assert path.exists()


def test_two_programs_do_not_play_one_run(tmp_path: Path):
    def intrude(progress: fr.Progress) -> None:
        with pytest.raises(StoreError, match="another program is at work"):
            play(tmp_path)

    play(tmp_path, rounds=2, progress=intrude)


def test_a_bad_argument_leaves_the_folder_alone(tmp_path: Path):
    with pytest.raises(fr.FederageError, match="rounds=0 is not"):
        play(tmp_path / "new", rounds=0)
    with pytest.raises(fr.FederageError, match="seeds=0 is neither"):
        play(tmp_path / "new", seeds=0)
    assert not (tmp_path / "new" / checkpoint.FILE).exists()


def _init(key: jax.Array) -> jax.Array:
    return jax.numpy.zeros((3, 2))


def model_of(power: float) -> fr.Model:
    return fr.Model.of(_init, lambda theta, x: x**power @ theta)


def identity(problem: fr.Problem = PROBLEM, method: Any = METHOD, **how: Any) -> dict[str, Any]:
    whole = {"seeds": (0, 1), "every": 2, "watch": ("last",), "smooth": None, **how}
    return describe(problem, method, **whole)


def told(**changes: Any) -> str:
    return differences(identity(), identity(**changes))


def test_what_differs_in_the_method_is_named():
    assert told() == ""
    assert told(method=fr.FedeRageCV(lr=0.3)) == "method.lr was 0.1, is 0.3"
    assert told(method=fr.FedeRage(lr=0.1)) == "method was FedeRageCV, is FedeRage"
    bounded = told(method=fr.FedeRageCV(lr=0.1, within=fr.Ball(2.0)))
    assert bounded == "method.within was None, is Ball; method.within.radius was absent, is 2"


def test_what_differs_in_the_course_is_named():
    assert told(seeds=(0, 2)) == "seeds was [0, 1], is [0, 2]"
    assert told(watch=("last", "average")) == "watch was ['last'], is ['last', 'average']"
    assert told(smooth=0.9) == "smooth was None, is 0.9"
    assert told(every=3) == "every was 2, is 3"


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"local_steps": 3}, "local_steps was 2, is 3"),
        ({"local_steps": [1, 2, 3]}, "local_steps was 2, is None; problem.steps_each was None, is int32[3] sha256:"),
        ({"batch": 3}, "batch was 2, is 3"),
        ({"look_at": "train"}, "look_at was test, is train"),
        ({"clients": clients(1e-3)}, "clients.train.x was float32[15, 3] sha256:"),
        ({"law": fr.participation.Markov([0.3, 0.4, 0.6], 0.4)}, "law.leaving was float64[3] sha256:"),
        ({"law": fr.participation.uniform(3, 2)}, "law was Markov, is Weighted"),
        ({"model": fr.models.mlp((4,))}, "model.init was softmax.<locals>.init, is _mlp.<locals>.init"),
    ],
)
def test_what_differs_in_the_problem_is_named(change: dict[str, Any], named: str):
    assert told(problem=problem_with(**change)).startswith("problem." + named)


def test_functions_are_told_apart_by_what_they_close_over():
    def composed(lr: float, alpha: float = 0.3) -> fr.Algorithm:
        return fr.compose(optax.adam(lr), risk=fr.parts.mean_cvar(alpha, 0.9))

    def between(a: fr.Algorithm, b: fr.Algorithm) -> str:
        return differences(identity(method=a), identity(method=b))

    assert between(composed(0.1), composed(0.1)) == ""
    assert "step_size was -0.1, is -0.2" in between(composed(0.1), composed(0.2))
    assert between(composed(0.1), composed(0.1, 0.5)) == "method.risk.objective.alpha was 0.3, is 0.5"
    models = [identity(problem_with(model=model_of(power))) for power in (1.0, 1.0, 2.0)]
    assert differences(models[0], models[1]) == ""
    assert differences(models[0], models[2]) == "problem.model.apply.power was 1, is 2"


def test_how_a_number_is_written_does_not_matter():
    assert identity() == identity(method=fr.FedeRageCV(lr=np.float64(0.1), beta_lr=0.03), seeds=(np.int64(0), 1))
    assert identity() == identity(
        problem_with(clients=clients(), law=fr.participation.Markov([0.3, 0.4, 0.5], [0.4] * 3))
    )


def test_anything_can_be_described():
    """No exotic value stops a run: what cannot be looked into is known by its type."""
    loop: list[Any] = []
    loop.append(loop)
    odd = [loop, object(), np, {1, 2}, {"a": b"b"}, jax.random.key(0), np.array([None]), np.nan, 2**70, jax.jit(_init)]
    odd += [print, "text".upper, fr.Ball, optax.EmptyState(), fr.participation.Law, range(3), 1j, np.float16(2)]
    model = fr.Model.of(_init, lambda theta, x, odd=odd: x @ theta)
    once, again = (identity(problem_with(model=model)) for _ in range(2))
    assert differences(once, again) == ""
    assert once["problem.model.apply.odd.7"] == "nan"
    assert once["problem.model.apply.odd.9"].endswith("_init")
