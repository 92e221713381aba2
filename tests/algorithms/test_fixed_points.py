"""Quadratics that pull apart: where local steps lead, in closed form.

One local step of client i is affine, so K of them are too, and the point at which a method's full round stands still
solves a linear equation: the optimum for SCAFFOLD, elsewhere for FedAvg and FedProx when K > 1.
"""

from functools import cache

import numpy as np
import pytest

import federage as fr
from federage.data import synthetic
from federage.participation import Prescribed, uniform

CLIENTS, STEPS, LR, MU = 5, 10, 0.04, 20.0
DATA = synthetic.quadratics(CLIENTS, 3, condition=10, seed=3)
OPTIMUM = DATA.optimum()

# Near its fixed point a round is a contraction whose errors are a few roundings (6e-8) of numbers of size 1 in each of
# K steps, and are magnified by 1/(1 - contraction), some 10 here: 5 * 10 * 6e-8 = 3e-6.
NEAR = 3e-6


@cache
def where(method, law=None, steps: int | tuple[int, ...] = STEPS, rounds: int = 1000) -> np.ndarray:
    """The last checkpoint."""
    problem = fr.Problem(fr.models.quadratic(), DATA.clients, law or uniform(CLIENTS, CLIENTS), steps, batch=1)
    return fr.run(problem, method, rounds=rounds, every=rounds).last.theta[0]


def away(theta) -> float:
    return float(np.abs(theta - OPTIMUM).max())


def by_step(counts) -> np.ndarray:
    """Where the mean of D_i(x) / K_i is zero, D_i(x) = (P_i^K_i - I)(x - b_i) with P_i = I - lr A_i."""
    one = np.eye(3)
    pulls = [(one - np.linalg.matrix_power(one - LR * a, k)) / k for a, k in zip(DATA.matrices, counts, strict=True)]
    return np.linalg.solve(sum(pulls), sum(p @ b for p, b in zip(pulls, DATA.centres, strict=True)))


def stands_still(mu: float = 0.0) -> np.ndarray:
    """X = mean_i x_i(x), x_i being where K steps on f_i + mu/2 |theta - x|^2 lead from x.

    With H = A_i + mu I, each step keeps the share P = I - lr H of the distance to H^-1 (A_i b_i + mu x). So
    x_i = P^K x + (I - P^K) H^-1 (A_i b_i + mu x): affine in x.
    """
    one = np.eye(3)
    slopes, offsets = [], []
    for a, b in zip(DATA.matrices, DATA.centres, strict=True):
        h = a + mu * one
        kept = np.linalg.matrix_power(one - LR * h, STEPS)
        slopes.append(kept + mu * (one - kept) @ np.linalg.inv(h))
        offsets.append((one - kept) @ np.linalg.solve(h, a @ b))
    return np.linalg.solve(one - np.mean(slopes, axis=0), np.mean(offsets, axis=0))


def test_fedavg_stands_still_elsewhere():
    assert np.abs(where(fr.FedAvg(LR)) - stands_still()).max() < NEAR
    assert away(where(fr.FedAvg(LR))) > 0.01


def test_one_local_step_has_no_drift():
    assert away(where(fr.FedAvg(LR), steps=1)) < NEAR


def test_fedprox_drifts_less_but_drifts():
    assert np.abs(where(fr.FedProx(LR, mu=MU)) - stands_still(MU)).max() < NEAR
    assert 0.01 < away(where(fr.FedProx(LR, mu=MU))) < away(where(fr.FedAvg(LR)))


@pytest.mark.parametrize(
    "method",
    [fr.Scaffold(LR), fr.Scaffold(LR, server_lr=0.5), fr.FedeRageCV(LR, gamma=0.0)],
    ids=["SCAFFOLD", "short server steps", "FedeRageCV without CVaR"],
)
def test_control_variates_reach_the_optimum(method):
    assert away(where(method)) < NEAR


@pytest.mark.parametrize(
    "law",
    [uniform(CLIENTS, 2), Prescribed([0.8, 0.6, 0.3, 0.2, 0.1])],
    ids=["uniform", "skewed"],
)
def test_control_variates_reach_the_optimum_of_all_whoever_comes(law):
    """Once every c_i is client i's gradient at the optimum, each of them stands still there: the law has no say.

    FedAvg is drawn towards whoever is heard, and never settles.
    """
    assert away(where(fr.Scaffold(LR), law, rounds=4000)) < NEAR
    assert away(where(fr.FedAvg(LR), law)) > 0.05


def test_fednova_stands_still_where_clients_weigh_alike_by_step():
    """FedAvg weighs clients by how many steps they take, and ends elsewhere."""
    counts = (1, 2, 4, 8, 16)
    assert np.abs(where(fr.FedNova(LR), steps=counts) - by_step(counts)).max() < NEAR
    assert np.abs(where(fr.FedAvg(LR), steps=counts) - by_step(counts)).max() > 0.01


@pytest.mark.parametrize(
    "law",
    [uniform(CLIENTS, 2), Prescribed([0.8, 0.6, 0.3, 0.2, 0.1])],
    ids=["uniform", "skewed"],
)
@pytest.mark.parametrize("method", [fr.MIFA, fr.FedVARP], ids=lambda m: m.__name__)
def test_last_updates_lead_where_everybody_leads_whoever_comes(method, law):
    """Once every entry is D_i at the point where they add up to zero, nothing moves: the law has no say."""
    rare = where(method(LR, server_lr=0.2), law, rounds=8000)
    assert np.abs(rare - stands_still()).max() < NEAR
    assert np.abs(where(fr.FedAvg(LR), law) - stands_still()).max() > 0.05
