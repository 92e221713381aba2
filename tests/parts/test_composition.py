"""Parts are orthogonal: any sentence made of them plays, and means what its words mean."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

import federage as fr
from federage.core.record import record
from federage.data import synthetic
from federage.participation import Trace, uniform
from federage.parts import chain_corrections, control_variates, mean_cvar, no_correction, proximal
from federage.testing import rows, tiny

CAME = [[0, 3], [1, 2, 4], [5], [0, 1, 2, 3, 4, 5], [2, 5], [4]]
PROBLEM = tiny(Trace(CAME), local_steps=3)
ALPHA, GAMMA, LR = 1 / 4, 1 / 2, 1 / 16  # exact in float32, so that constants and arguments compile to the same numbers


def play(algorithm, rounds: int = 12, problem: fr.Problem = PROBLEM) -> fr.Result:
    return fr.run(problem, algorithm, rounds=rounds, every=1)


def assert_same(a, b) -> None:
    for x, y in zip(*map(jax.tree.leaves, (a, b)), strict=True):
        np.testing.assert_array_equal(x, y)


def test_everything_at_once():
    """Adam at the clients and at the server, a risk, a correction: nobody has written this algorithm down before."""
    algorithm = fr.compose(
        optax.adam(0.05),
        risk=mean_cvar(0.3, 0.9),
        correction=control_variates(0.05),
        server=optax.adam(0.02),
    )
    result = play(algorithm, rounds=40)
    assert result.finite.all()
    assert result.loss[0, -1] < 0.8 * np.log(3)  # log 3 is the loss at the start
    assert 0 < result.tail[0, -1] < 1
    assert all(np.any(leaf) for leaf in jax.tree.leaves((result.state.server, result.state.correction)))


@record
class Spelled:
    """FedeRageCV, by somebody else."""

    lr: float
    beta_lr: float = 0.03
    alpha: float = 0.3
    gamma: float = 0.9

    def parts(self) -> fr.Algorithm:
        return fr.compose(
            fr.parts.per_part(theta=optax.sgd(self.lr), dual=optax.sgd(self.beta_lr)),
            risk=mean_cvar(self.alpha, self.gamma),
            correction=control_variates(self.lr),
        )


def test_federage_with_control_variates_is_a_sentence():
    came, expected = play(Spelled(0.1)), play(fr.FedeRageCV(0.1))
    assert_same((came.state, came.looks, came.legs), (expected.state, expected.looks, expected.legs))
    # A bare Algorithm has its numbers compiled in.
    method = fr.FedeRageCV(LR, beta_lr=LR, alpha=ALPHA, gamma=GAMMA)
    bare = fr.compose(optax.sgd(LR), risk=mean_cvar(ALPHA, GAMMA), correction=control_variates(LR))
    for a, b in zip(*map(jax.tree.leaves, (play(bare).state, play(method).state)), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-5)


def test_a_short_server_step_goes_half_way():
    whole = play(fr.FedAvg(LR), rounds=1).last.theta
    half = play(fr.compose(optax.sgd(LR), server=optax.sgd(0.5)), rounds=1).last.theta
    assert_same(half, jax.tree.map(lambda a: a / 2, whole))  # theta starts at 0, and halves are exact
    assert all(np.any(leaf) for leaf in jax.tree.leaves(half))


QUADRATICS = synthetic.quadratics(6, 3, examples=8, noise=0.5, seed=2)


def quadratic_problem() -> fr.Problem:
    return fr.Problem(fr.models.quadratic(), QUADRATICS.clients, Trace(CAME), local_steps=3, batch=4)


def gradient(i: int, theta, batch) -> np.ndarray:
    """Of the mean loss of some rows of client i, which share A_i."""
    centres = np.asarray(QUADRATICS.clients.train.x, float)[batch, 9:]
    return QUADRATICS.matrices[i] @ (theta - centres.mean(axis=0))


class Adam:
    """Kingma & Ba, with bias correction, on plain arrays."""

    def __init__(self, lr: float):
        self.lr, self.t, self.m, self.v = lr, 0, 0.0, 0.0

    def __call__(self, g) -> Any:
        self.t += 1
        self.m = 0.9 * self.m + 0.1 * g
        self.v = 0.999 * self.v + 0.001 * g**2
        return -self.lr * (self.m / (1 - 0.9**self.t)) / (np.sqrt(self.v / (1 - 0.999**self.t)) + 1e-8)


class Momentum:
    """Heavy ball: m <- decay m + g, and a step of lr along -m."""

    def __init__(self, lr: float, decay: float):
        self.lr, self.decay, self.m = lr, decay, 0.0

    def __call__(self, g) -> Any:
        self.m = self.decay * self.m + g
        return -self.lr * self.m


def by_hand(local, server, mu: float = 0.0, lr: float | None = None, rounds: int = 12) -> np.ndarray:
    """The checkpoints; each client begins a round with a new local optimizer, the server keeps its own.

    mu pulls to the broadcast; lr, if given, is that of the control variates.
    """
    draws = rows(quadratic_problem(), 0, rounds)
    x, step, c, c_i = np.zeros(3), server(), np.zeros(3), np.zeros((6, 3))
    checkpoints = []
    for t in range(rounds):
        came, moves, remembered = CAME[t % len(CAME)], [], c_i.copy()
        for i in came:
            own, walk = x, local()
            for batch in draws[t][i]:
                own = own + walk(gradient(i, own, batch) + mu * (own - x) + c - c_i[i])
            moves.append(own - x)
            if lr is not None:
                remembered[i] = c_i[i] - c + (x - own) / (3 * lr)
        x = x + step(-np.mean(moves, axis=0))
        c, c_i = c + (remembered - c_i).sum(axis=0) / 6, remembered
        checkpoints.append(x)
    return np.array(checkpoints)


SGD = (lambda: Momentum(0.02, 0), optax.sgd(0.02))
WHOLE = (lambda: Momentum(1, 0), None)
SENTENCES = {
    "local momentum": ((lambda: Momentum(0.02, 0.9), optax.sgd(0.02, momentum=0.9)), WHOLE, {}, None),
    "local Adam": ((lambda: Adam(0.05), optax.adam(0.05)), WHOLE, {}, None),
    "server momentum": (SGD, (lambda: Momentum(0.7, 0.5), optax.sgd(0.7, momentum=0.5)), {}, None),
    "server Adam": (SGD, (lambda: Adam(0.1), optax.adam(0.1)), {}, None),
    "a pull and control variates": (
        SGD,
        WHOLE,
        {"mu": 0.5, "lr": 0.02},
        chain_corrections(proximal(0.5), control_variates(0.02)),
    ),
    "control variates and a pull": (
        SGD,
        WHOLE,
        {"mu": 0.5, "lr": 0.02},
        chain_corrections(control_variates(0.02), proximal(0.5)),
    ),
    "momentum, a pull, control variates and a server's Adam": (
        (lambda: Momentum(0.02, 0.5), optax.sgd(0.02, momentum=0.5)),
        (lambda: Adam(0.1), optax.adam(0.1)),
        {"mu": 0.5, "lr": 0.02},
        chain_corrections(proximal(0.5), control_variates(0.02)),
    ),
}


@pytest.mark.parametrize("name", SENTENCES)
def test_a_sentence_is_what_its_words_say(name: str):
    """Written out in NumPy. 36 steps of a few roundings each (6e-8) of numbers of size 1, which Adam, dividing by the
    root of a mean square, may magnify some ten times: 36 * 5 * 6e-8 * 10 = 1e-4.
    """
    (local, transformation), (server, server_transformation), numbers, correction = SENTENCES[name]
    algorithm = fr.compose(transformation, correction=correction, server=server_transformation)
    result = play(algorithm, problem=quadratic_problem())
    checkpoints = by_hand(local, server, **numbers)
    atol = 1e-4 if "Adam" in name else 1e-5
    np.testing.assert_allclose(result.last.theta[0], checkpoints[-1], rtol=0, atol=atol)
    np.testing.assert_allclose(result.average.theta[0], checkpoints.mean(axis=0), rtol=0, atol=atol)
    plain = by_hand(SGD[0], WHOLE[0])
    assert np.abs(checkpoints[-1] - plain[-1]).max() > 0.03  # and the words make a difference


def test_a_chain_of_one_is_its_link():
    link = control_variates(LR)
    chained = play(fr.compose(optax.sgd(LR), correction=chain_corrections(link)))
    alone = play(fr.compose(optax.sgd(LR), correction=link))
    assert_same(chained.last, alone.last)
    assert chain_corrections(link, proximal(1.0)).reads == link.reads
    assert chain_corrections(proximal(1.0), no_correction()).reads == frozenset()


def test_corrections_leave_the_dual_alone():
    """The gradient in beta is what it was, whatever is added to that in theta."""
    algorithm = fr.compose(
        optax.sgd(1.0),
        risk=mean_cvar(ALPHA, GAMMA),
        correction=chain_corrections(proximal(1.0), control_variates(1.0)),
    )
    problem = tiny(uniform(6, 6), local_steps=1)
    result = fr.run(problem, algorithm, rounds=1)
    # One step of all clients, every batch in the tail: beta goes up by kappa - 1 = 3/2.
    np.testing.assert_array_equal(result.last.dual, [1.5])
    assert jnp.shape(result.state.correction.server[1]["bias"]) == (1, 3)
