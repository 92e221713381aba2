"""Theorems 1 and 2: with a step size ~ 1/(kappa sqrt(T K)), the mean checkpoint's gap falls like 1/sqrt(T) or faster.

The law is skewed, and the optimum is that of the objective it induces, sum_i p_i f_i, not of the plain mean over
clients. Optima come from linear programming and from SciPy, in float64.
"""

from functools import cache, partial

import numpy as np
import pytest
from optima_by_hand import hinge, hinge_optimum, mean_cvar, variational
from scipy.optimize import minimize

import federage as fr
from federage.data import synthetic
from federage.participation import Weighted

LAW = Weighted([8, 6, 4, 2, 1, 1], arrivals=2)
P = np.asarray(LAW.weights())
UNIFORM = np.full(6, 1 / 6)
EXAMPLES, STEPS, SEEDS, BOUND = 10, 4, 16, 0.6
HORIZONS = (64, 384, 2304, 13824)
CLIENTS = synthetic.margin(6, 3, examples=EXAMPLES, flipped=0.1, seed=1).clients
Z = (2.0 * np.asarray(CLIENTS.train.y) - 1)[:, None] * np.asarray(CLIENTS.train.x, float)


@cache
def averages(model, kind, **numbers) -> list[fr.Vars]:
    """The mean checkpoints of all seeds at each horizon; the step size is that of the theorems."""
    played = []
    for rounds in HORIZONS:
        lr = 1 / (STEPS * rounds) ** 0.5
        problem = fr.Problem(model, CLIENTS, LAW, STEPS, batch=1)
        played.append(fr.run(problem, kind(lr, **numbers), rounds=rounds, every=HORIZONS[0], seeds=SEEDS).average)
    return played


def each(weights) -> np.ndarray:
    """The weight of each example: with b = 1, an example is an outcome."""
    return np.repeat(weights / EXAMPLES, EXAMPLES)


def slope(gaps) -> float:
    """Of log gap over log T, the gaps' mean over seeds; their errors move it by 0.02 or so."""
    return np.polyfit(np.log(HORIZONS), np.log(np.mean(gaps, axis=1)), 1)[0]


def distance(averages: fr.Vars, point) -> float:
    return float(np.linalg.norm(averages.theta.mean(axis=0) - point))


def test_fedavg_on_the_hinge_loss_in_a_box():
    """Nonsmooth, and the box binds at the optimum: just the rate of the theorem, and no better."""
    least, optimum = hinge_optimum(Z, each(P), 1, 0, BOUND)
    assert np.abs(optimum).max() == pytest.approx(BOUND)
    played = averages(fr.models.hinge_svm(), fr.FedAvg, within=fr.Box(-BOUND, BOUND))
    gaps = [[each(P) @ hinge(Z, theta) - least for theta in at.theta] for at in played]
    assert -0.6 < slope(gaps) < -0.45
    # The same iterates do not approach the optimum of the plain mean over clients.
    other, elsewhere = hinge_optimum(Z, each(UNIFORM), 1, 0, BOUND)
    gaps = [[each(UNIFORM) @ hinge(Z, theta) - other for theta in at.theta] for at in played]
    assert slope(gaps) > -0.3
    assert distance(played[-1], optimum) < 0.05 < 0.15 < distance(played[-1], elsewhere)


def test_fedavg_on_the_logistic_loss():
    """Smooth, with one optimum: the rate is better than the theorem's."""

    def risk(weights, theta) -> float:
        return each(weights) @ np.logaddexp(0, -(Z @ theta[:3] + signs * theta[3]))

    signs = 2.0 * np.asarray(CLIENTS.train.y) - 1
    best, elsewhere = (minimize(partial(risk, w), np.zeros(4), tol=1e-10, options={"gtol": 1e-7}) for w in (P, UNIFORM))
    played = averages(fr.models.logistic(), fr.FedAvg)
    assert slope([[risk(P, theta) - best.fun for theta in at.theta] for at in played]) < -0.45
    assert distance(played[-1], best.x) < 0.03 < 0.15 < distance(played[-1], elsewhere.x)


def test_federage_on_the_hinge_loss_in_a_box():
    """Theorem 2; the gap is of the joint objective in (theta, beta), and so bounds the mean-CVaR's from above."""
    alpha, gamma = 0.5, 0.5
    kappa = 1.5
    least, optimum = hinge_optimum(Z, each(P), alpha, gamma, BOUND)
    assert mean_cvar(hinge(Z, optimum), each(P), alpha, gamma) == pytest.approx(least, abs=1e-9)
    sets = {"within": fr.Box(-BOUND, BOUND), "beta_within": fr.Interval(0, 5)}
    played = averages(fr.models.hinge_svm(), partial(risk_averse, kappa, alpha, gamma), **sets)
    gaps = [
        [
            variational(hinge(Z, theta), beta, each(P), alpha, gamma) - least
            for theta, beta in zip(at.theta, at.dual, strict=True)
        ]
        for at in played
    ]
    assert np.min(gaps) > -1e-6  # nothing is better than the linear program's optimum, float32 aside
    assert slope(gaps) < -0.45
    # Neither FedAvg's optimum, nor that of all clients alike, is as good.
    reached = np.mean(gaps[-1])
    assert reached < 1e-3
    for weights, a, g in ((P, 1, 0), (UNIFORM, alpha, gamma)):
        other = hinge_optimum(Z, each(weights), a, g, BOUND)[1]
        assert mean_cvar(hinge(Z, other), each(P), alpha, gamma) - least > 5 * reached
        assert distance(played[-1], other) > 4 * distance(played[-1], optimum)


def risk_averse(kappa, alpha, gamma, lr, **sets) -> fr.FedeRage:
    return fr.FedeRage(lr / kappa, beta_lr=lr / kappa, alpha=alpha, gamma=gamma, **sets)
