"""Generalised FedAvg: FedAvg that every P rounds moves on along the way it has come since.

Reference: Wang & Ji, arXiv:2205.13648, Algorithm 1.
"""

import optax

from federage.core.algorithm import Algorithm
from federage.core.record import count, positive, record
from federage.parts import amplified, compose


@record
class GeneralisedFedAvg:
    """FedAvg with amplified updates; server_lr = 1 is FedAvg.

    Attributes:
      lr: the local step size.
      server_lr: eta, how many times as far P rounds lead together.
      period: P, in rounds; as long as it takes for all clients to be heard about equally.
    """

    lr: float
    server_lr: float = 2.0
    period: int = 10

    def __post_init__(self) -> None:
        positive("lr", self.lr)
        positive("server_lr", self.server_lr)
        count("period", self.period)

    def parts(self) -> Algorithm:
        return compose(optax.sgd(self.lr), server=amplified(self.server_lr, self.period))
