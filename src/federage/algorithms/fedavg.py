"""Agnostic FedAvg: average whatever arrives.

Reference: FedeRage, Algorithm 1; McMahan et al., arXiv:1602.05629 (there weighted by n_i; here uniform over arrivals).
"""

import optax

from federage.core.algorithm import Algorithm
from federage.core.record import positive, record
from federage.parts import compose, project
from federage.parts.step import Set


@record
class FedAvg:
    """Agnostic FedAvg.

    Attributes:
      lr: eta_theta, the local step size.
      within: C, the set theta is projected onto after each step (`Ball`, `Box`), or None.
    """

    lr: float
    within: Set | None = None

    def __post_init__(self) -> None:
        positive("lr", self.lr)

    def parts(self) -> Algorithm:
        return compose(optax.chain(optax.sgd(self.lr), project(self.within)))
