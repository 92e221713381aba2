"""Where every mini-batch is a client's whole data, an outcome is a client: the mean-CVaR is over six numbers."""

import numpy as np
import pytest
from optima_by_hand import mean_cvar

import federage as fr
from federage.data import synthetic
from federage.participation import Weighted

EXAMPLES, ROUNDS = 3, 20_000
CENTRES = [[0.0], [0.2], [0.4], [0.5], [1.5], [2.0]]
STRENGTHS = [1.0, 1.5, 1.0, 2.0, 1.0, 1.0]
DATA = synthetic.quadratics(
    matrices=np.reshape(STRENGTHS, (6, 1, 1)), centres=CENTRES, examples=EXAMPLES, noise=0.3, seed=1
)
LAW = Weighted([8, 6, 4, 3, 2, 1], arrivals=2)
P = np.asarray(LAW.weights())
PROBLEM = fr.Problem(fr.models.quadratic(), DATA.clients, LAW, local_steps=1, batch=EXAMPLES)


def losses(theta: float) -> np.ndarray:
    """f_i(theta) of every client, over all its examples."""
    strength, centre = np.asarray(DATA.clients.train.x, float).T
    return (strength * (theta - centre) ** 2 / 2).reshape(6, EXAMPLES).mean(axis=1)


def scan(alpha: float, gamma: float) -> tuple[float, float]:
    """The minimiser of the mean-CVaR and its value, to 1e-4 in theta."""
    grid = np.linspace(-1, 3, 40_001)
    values = [mean_cvar(losses(theta), P, alpha, gamma) for theta in grid]
    return grid[np.argmin(values)], np.min(values)


@pytest.mark.parametrize(("alpha", "gamma"), [(0.3, 0.9), (0.3, 0.5), (0.1, 0.5)])
def test_federage_reaches_the_mean_cvar_optimum(alpha: float, gamma: float):
    best, least = scan(alpha, gamma)
    mean_best, _ = scan(1, 0)
    given_up = mean_cvar(losses(mean_best), P, alpha, gamma) - least  # by the risk-neutral optimum
    assert best - mean_best > 0.15

    lr = 1 / (fr.FedeRage(1, alpha=alpha, gamma=gamma).kappa * ROUNDS**0.5)
    method = fr.FedeRage(lr, beta_lr=lr, alpha=alpha, gamma=gamma)
    average = fr.run(PROBLEM, method, rounds=ROUNDS, every=ROUNDS, seeds=4).average
    for theta in average.theta[:, 0]:
        assert abs(theta - best) < 0.15 * (best - mean_best)
        assert mean_cvar(losses(theta), P, alpha, gamma) - least < 0.03 * given_up

    neutral = fr.run(PROBLEM, fr.FedAvg(lr), rounds=ROUNDS, every=ROUNDS, seeds=4).average
    assert np.abs(neutral.theta[:, 0] - mean_best).max() < 0.15 * (best - mean_best)
