"""FedOpt: FedAvg whose server takes a step of its own along the mean change, with momentum or adaptive.

Reference: Reddi et al., arXiv:2003.00295, Algorithm 2 (FedAdagrad, FedYogi, FedAdam); FedAvgM: Hsu et al.,
arXiv:1909.06335. Their means are weighted by n_i; here uniform over arrivals.
"""

from typing import Any

import optax

from federage.core.algorithm import Algorithm
from federage.core.record import fraction, positive, record, require
from federage.parts import adagrad_moment, adam_moment, adaptive, compose, momentum, yogi_moment
from federage.parts.server import Second


def _decay(name: str, value: Any) -> None:
    require(name, value, lambda v: 0 <= v < 1, "a decay in [0, 1)")


@record
class FedAvgM:
    """FedAvg with momentum at the server; beta1 = 0 and server_lr = 1 is FedAvg.

    Attributes:
      lr: the local step size.
      server_lr: eta, that of the server.
      beta1: how much of the server's momentum is kept; the steps it leads to are 1 / (1 - beta1) times as long.
    """

    lr: float
    server_lr: float = 1.0
    beta1: float = 0.9

    def __post_init__(self) -> None:
        positive("lr", self.lr)
        positive("server_lr", self.server_lr)
        _decay("beta1", self.beta1)

    def parts(self) -> Algorithm:
        return compose(optax.sgd(self.lr), server=momentum(self.server_lr, self.beta1))


@record
class FedAdagrad:
    """FedAvg with Adagrad at the server; a large tau with server_lr = 2 tau is FedAvg.

    Attributes:
      lr: the local step size.
      server_lr: eta, that of the server.
      beta1: how much of the first moment is kept; 0 in the paper's experiments.
      tau: adaptivity; the second moment starts at tau^2.
    """

    lr: float
    server_lr: float = 0.1
    beta1: float = 0.0
    tau: float = 1e-3

    def __post_init__(self) -> None:
        positive("lr", self.lr)
        positive("server_lr", self.server_lr)
        _decay("beta1", self.beta1)
        positive("tau", self.tau)

    def parts(self) -> Algorithm:
        return compose(optax.sgd(self.lr), server=adaptive(adagrad_moment(), self.server_lr, self.beta1, self.tau))


@record
class FedAdam:
    """FedAvg with Adam at the server, uncorrected; beta1 = 0, beta2 = 1 and server_lr = 2 tau is FedAvg.

    Attributes:
      lr: the local step size.
      server_lr: eta, that of the server.
      beta1: how much of the first moment is kept.
      beta2: how much of the second moment is kept.
      tau: adaptivity; the second moment starts at tau^2.
    """

    lr: float
    server_lr: float = 0.1
    beta1: float = 0.9
    beta2: float = 0.99
    tau: float = 1e-3

    def __post_init__(self) -> None:
        positive("lr", self.lr)
        positive("server_lr", self.server_lr)
        _decay("beta1", self.beta1)
        fraction("beta2", self.beta2)
        positive("tau", self.tau)

    @property
    def second(self) -> Second:
        return adam_moment(self.beta2)

    def parts(self) -> Algorithm:
        return compose(optax.sgd(self.lr), server=adaptive(self.second, self.server_lr, self.beta1, self.tau))


@record
class FedYogi(FedAdam):
    """FedAdam whose second moment moves by no more than (1 - beta2) D^2; fields as FedAdam's."""

    @property
    def second(self) -> Second:
        return yogi_moment(self.beta2)
