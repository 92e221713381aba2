"""The paper's algorithms again, step by step, in NumPy and float64: slow, small and independent of the library.

The model is softmax regression; theta is one matrix, whose last column is the bias. As the paper has it, *every* client
takes its local steps in every round, and those that do not get through are erased afterwards. The arrivals and the
mini-batches are the run's own (`federage.testing.arrivals` and `rows`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

from federage.core.problem import Problem
from federage.testing import arrivals, rows

Project = Callable[[Any], Any]


def free(point):
    return point


def ball(radius: float) -> Project:
    return lambda point: point * min(1.0, radius / max(np.sqrt((point**2).sum()), 1e-300))


def box(low: float, high: float) -> Project:
    return lambda point: np.minimum(np.maximum(point, low), high)


class Moment(NamedTuple):
    """What there is after a round; `tail` is the mean indicator over the arrivals' steps (a client's mean first).

    `narrowest` is the least |f - beta| of the round: float32 would decide otherwise only below its rounding.
    """

    theta: np.ndarray
    beta: float = 0.0
    c: Any = None
    c_i: Any = None
    tail: float = 0.0
    narrowest: float = np.inf


class World:
    """The examples and draws of one run."""

    def __init__(self, problem: Problem, rounds: int, seed: int = 0):
        x = np.asarray(problem.clients.inputs(problem.clients.train.x), np.float64)
        self.x = np.concatenate([x, np.ones((len(x), 1))], axis=1)
        self.y = np.asarray(problem.clients.train.y)
        self.clients = len(problem.clients)
        self.start = np.zeros((problem.clients.classes, self.x.shape[1]))
        self.rounds = list(zip(arrivals(problem.law, seed, rounds), rows(problem, seed, rounds), strict=True))

    def f(self, theta, batch) -> tuple[float, np.ndarray]:
        """The mean loss of one mini-batch, -log softmax(theta x)[y], and its gradient."""
        x, y = self.x[batch], self.y[batch]
        z = x @ theta.T
        z -= z.max(axis=1, keepdims=True)
        share = np.exp(z) / np.exp(z).sum(axis=1, keepdims=True)
        hit = np.eye(len(theta))[y]
        return -np.log((share * hit).sum(axis=1)).mean(), (share - hit).T @ x / len(batch)


def fedavg(world: World, lr, C: Project = free) -> Iterator[Moment]:
    """Algorithm 1."""
    theta = world.start
    for came, draws in world.rounds:
        trained = []
        for batches in draws:
            own = theta
            for batch in batches:
                own = C(own - lr * world.f(own, batch)[1])
            trained.append(own)
        theta = np.mean([trained[i] for i in came], axis=0)
        yield Moment(theta)


def fedprox(world: World, lr, mu, C: Project = free) -> Iterator[Moment]:
    """Li et al., eq. (2), by SGD: each client descends f_i + mu/2 |theta - x|^2."""
    x = world.start
    for came, draws in world.rounds:
        trained = []
        for batches in draws:
            own = x
            for batch in batches:
                own = C(own - lr * (world.f(own, batch)[1] + mu * (own - x)))
            trained.append(own)
        x = np.mean([trained[i] for i in came], axis=0)
        yield Moment(x)


def scaffold(world: World, lr, server_lr=1.0, C: Project = free) -> Iterator[Moment]:
    """Karimireddy et al., Algorithm 1 with option II; only the arrivals are communicated with."""
    x, c = world.start, np.zeros_like(world.start)
    c_i = [np.zeros_like(x) for _ in range(world.clients)]
    for came, draws in world.rounds:
        moves, changes = [], []
        for i in came:
            own = x
            for batch in draws[i]:
                own = C(own - lr * (world.f(own, batch)[1] - c_i[i] + c))
            new = c_i[i] - c + (x - own) / (len(draws[i]) * lr)
            moves.append(own - x)
            changes.append(new - c_i[i])
            c_i[i] = new
        x = x + server_lr * np.mean(moves, axis=0)
        c = c + len(came) / world.clients * np.mean(changes, axis=0)
        yield Moment(x, c=c, c_i=np.array(c_i))


def federage(world: World, lr, beta_lr, alpha, gamma, C: Project = free, B: Project = free) -> Iterator[Moment]:
    """Algorithm 2."""
    theta, beta = world.start, 0.0
    for came, draws in world.rounds:
        trained = []
        for batches in draws:
            own, own_beta, tails, gaps = theta, beta, [], []
            for batch in batches:
                f, gradient = world.f(own, batch)
                tail = float(f >= own_beta)
                gaps.append(abs(f - own_beta))
                tails.append(tail)
                w = (1 - gamma) + gamma / alpha * tail
                own, own_beta = C(own - lr * w * gradient), B(own_beta - beta_lr * (1 - w))
            trained.append((own, own_beta, np.mean(tails), min(gaps)))
        thetas, betas, tails, gaps = zip(*[trained[i] for i in came], strict=True)
        theta, beta = np.mean(thetas, axis=0), np.mean(betas)
        yield Moment(theta, beta, tail=np.mean(tails), narrowest=min(gaps))


def federage_cv(world: World, lr, beta_lr, alpha, gamma, C: Project = free, B: Project = free) -> Iterator[Moment]:
    """Algorithm 2, whose step in theta is corrected as SCAFFOLD corrects it, by mean gradients of the risk."""
    theta, beta, c = world.start, 0.0, np.zeros_like(world.start)
    c_i = np.zeros((world.clients, *theta.shape))
    for came, draws in world.rounds:
        trained, remembered = [], c_i.copy()
        for i in came:
            own, own_beta, tails, gaps = theta, beta, [], []
            for batch in draws[i]:
                f, gradient = world.f(own, batch)
                tail = float(f >= own_beta)
                gaps.append(abs(f - own_beta))
                tails.append(tail)
                w = (1 - gamma) + gamma / alpha * tail
                own, own_beta = C(own - lr * (w * gradient - c_i[i] + c)), B(own_beta - beta_lr * (1 - w))
            remembered[i] = c_i[i] - c + (theta - own) / (len(draws[i]) * lr)
            trained.append((own, own_beta, np.mean(tails), min(gaps)))
        c, c_i = c + (remembered - c_i).sum(axis=0) / world.clients, remembered
        thetas, betas, tails, gaps = zip(*trained, strict=True)
        theta, beta = np.mean(thetas, axis=0), np.mean(betas)
        yield Moment(theta, beta, c, c_i, np.mean(tails), min(gaps))


def trained(world: World, x, came, draws, lr) -> dict[int, np.ndarray]:
    """The changes D_i of the arrivals under plain SGD."""
    moves = {}
    for i in came:
        own = x
        for batch in draws[i]:
            own = own - lr * world.f(own, batch)[1]
        moves[i] = own - x
    return moves


def fedavgm(world: World, lr, server_lr, beta1) -> Iterator[Moment]:
    """Hsu et al., Section 4.3, with a server step size."""
    x, m = world.start, 0.0
    for came, draws in world.rounds:
        m = beta1 * m + np.mean(list(trained(world, x, came, draws, lr).values()), axis=0)
        x = x + server_lr * m
        yield Moment(x)


def fedopt(world: World, kind, lr, server_lr, beta1, tau, beta2=0.0) -> Iterator[Moment]:
    """Reddi et al., Algorithm 2."""
    x = world.start
    m, v = np.zeros_like(x), np.full_like(x, tau**2)
    for came, draws in world.rounds:
        change = np.mean(list(trained(world, x, came, draws, lr).values()), axis=0)
        m = beta1 * m + (1 - beta1) * change
        if kind == "adagrad":
            v = v + change**2
        elif kind == "yogi":
            v = v - (1 - beta2) * change**2 * np.sign(v - change**2)
        else:
            v = beta2 * v + (1 - beta2) * change**2
        x = x + server_lr * m / (np.sqrt(v) + tau)
        yield Moment(x)


def fednova(world: World, lr) -> Iterator[Moment]:
    """Wang et al., Section 4, plain SGD: tau_eff sum_i w_i D_i / tau_i with w_i = 1/|S|."""
    x = world.start
    for came, draws in world.rounds:
        moves = trained(world, x, came, draws, lr)
        taus = {i: len(draws[i]) for i in came}
        tau_eff = sum(taus.values()) / len(came)
        x = x + tau_eff * sum(moves[i] / taus[i] / len(came) for i in came)
        yield Moment(x)


def generalised_fedavg(world: World, lr, server_lr, period) -> Iterator[Moment]:
    """Wang & Ji, Algorithm 1, by the checkpoints: x_{t+1} <- x_{t+1} + (eta - 1)(x_{t+1} - x_{t+1-P}), P | t + 1."""
    x = before = world.start
    for t, (came, draws) in enumerate(world.rounds):
        x = x + np.mean(list(trained(world, x, came, draws, lr).values()), axis=0)
        if (t + 1) % period == 0:
            x = x + (server_lr - 1) * (x - before)
            before = x
        yield Moment(x)


def chances(world: World) -> np.ndarray:
    """The inclusion probabilities of arrivals written down: how often each client is among them."""
    return np.array([np.mean([i in came for came, _ in world.rounds]) for i in range(world.clients)])


def horvitz_thompson(world: World, lr) -> Iterator[Moment]:
    """The change (1/N) sum_S D_i / pi_i."""
    x, pi = world.start, chances(world)
    for came, draws in world.rounds:
        moves = trained(world, x, came, draws, lr)
        x = x + sum(moves[i] / pi[i] for i in came) / world.clients
        yield Moment(x)


def self_normalised(world: World, lr) -> Iterator[Moment]:
    """The arrivals' mean with weights 1 / pi_i."""
    x, pi = world.start, chances(world)
    for came, draws in world.rounds:
        moves = trained(world, x, came, draws, lr)
        x = x + np.average([moves[i] for i in came], axis=0, weights=1 / pi[came])
        yield Moment(x)


def fedau(world: World, lr, server_lr, cutoff) -> Iterator[Moment]:
    """Wang & Ji, Algorithms 1 and 2: every client's interval is counted up in every round, come or not."""
    x = world.start
    weight, ended, waited = np.ones(world.clients), np.zeros(world.clients), np.zeros(world.clients)
    for came, draws in world.rounds:
        moves = trained(world, x, came, draws, lr)
        x = x + server_lr / world.clients * sum(weight[i] * moves[i] for i in came)
        for n in range(world.clients):
            waited[n] += 1
            if n in came or waited[n] == cutoff:
                weight[n] = waited[n] if ended[n] == 0 else (ended[n] * weight[n] + waited[n]) / (ended[n] + 1)
                ended[n] += 1
                waited[n] = 0
        yield Moment(x)


def mifa(world: World, lr, server_lr) -> Iterator[Moment]:
    """Gu et al., Algorithm 1, from a table of zeros."""
    x = world.start
    table = np.zeros((world.clients, *x.shape))
    for came, draws in world.rounds:
        for i, move in trained(world, x, came, draws, lr).items():
            table[i] = move
        x = x + server_lr * table.mean(axis=0)
        yield Moment(x)


def fedvarp(world: World, lr, server_lr) -> Iterator[Moment]:
    """Jhunjhunwala et al., Algorithm 1."""
    x = world.start
    y = np.zeros((world.clients, *x.shape))
    for came, draws in world.rounds:
        moves = trained(world, x, came, draws, lr)
        x = x + server_lr * (np.mean([moves[i] - y[i] for i in came], axis=0) + y.mean(axis=0))
        for i in came:
            y[i] = moves[i]
        yield Moment(x)


def fedstale(world: World, lr, server_lr, stale) -> Iterator[Moment]:
    """Rodio & Neglia: the arrivals' fresh updates over pi_i, and everybody's stale ones."""
    x, pi = world.start, chances(world)
    h = np.zeros((world.clients, *x.shape))
    for came, draws in world.rounds:
        moves = trained(world, x, came, draws, lr)
        fresh = sum((moves[i] - stale * h[i]) / pi[i] for i in came) / world.clients
        x = x + server_lr * (fresh + stale * h.mean(axis=0))
        for i in came:
            h[i] = moves[i]
        yield Moment(x)


def federage_varp(world: World, lr, beta_lr, alpha, gamma) -> Iterator[Moment]:
    """Algorithm 2, whose server merges v = (theta, beta) as FedVARP does."""
    theta, beta = world.start, 0.0
    y, y_beta = np.zeros((world.clients, *theta.shape)), np.zeros(world.clients)
    for came, draws in world.rounds:
        moves, beta_moves, shares, gaps = {}, {}, [], []
        for i in came:
            own, own_beta, tails = theta, beta, []
            for batch in draws[i]:
                f, gradient = world.f(own, batch)
                tails.append(float(f >= own_beta))
                gaps.append(abs(f - own_beta))
                w = (1 - gamma) + gamma / alpha * tails[-1]
                own, own_beta = own - lr * w * gradient, own_beta - beta_lr * (1 - w)
            moves[i], beta_moves[i] = own - theta, own_beta - beta
            shares.append(np.mean(tails))
        theta = theta + np.mean([moves[i] - y[i] for i in came], axis=0) + y.mean(axis=0)
        beta = beta + np.mean([beta_moves[i] - y_beta[i] for i in came]) + y_beta.mean()
        for i in came:
            y[i], y_beta[i] = moves[i], beta_moves[i]
        yield Moment(theta, beta, tail=np.mean(shares), narrowest=min(gaps))
