"""FedProx: FedAvg whose clients are pulled back to the broadcast model.

Reference: Li et al., arXiv:1812.06127, eq. (2).
"""

import optax

from federage.core.algorithm import Algorithm
from federage.core.record import non_negative, positive, record
from federage.parts import compose, project, proximal
from federage.parts.step import Set


@record
class FedProx:
    """FedProx; mu = 0 is FedAvg.

    Attributes:
      lr: the local step size.
      mu: weight of the proximal term mu/2 |theta - x|^2.
      within: the set theta is projected onto, or None.
    """

    lr: float
    mu: float = 0.01
    within: Set | None = None

    def __post_init__(self) -> None:
        positive("lr", self.lr)
        non_negative("mu", self.mu)

    def parts(self) -> Algorithm:
        return compose(optax.chain(optax.sgd(self.lr), project(self.within)), correction=proximal(self.mu))
