"""SCAFFOLD: FedAvg whose clients correct their drift by control variates.

Reference: Karimireddy et al., arXiv:1910.06378, Algorithm 1 with option II.
"""

import optax

from federage.core.algorithm import Algorithm
from federage.core.record import positive, record
from federage.parts import compose, control_variates, project
from federage.parts.step import Set


@record
class Scaffold:
    """SCAFFOLD.

    Attributes:
      lr: eta_l, the local step size.
      server_lr: eta_g, the length of the server's step along the mean change.
      within: the set theta is projected onto after each local step, or None.
    """

    lr: float
    server_lr: float = 1.0
    within: Set | None = None

    def __post_init__(self) -> None:
        positive("lr", self.lr)
        positive("server_lr", self.server_lr)

    def parts(self) -> Algorithm:
        return compose(
            optax.chain(optax.sgd(self.lr), project(self.within)),
            correction=control_variates(self.lr),
            server=optax.sgd(self.server_lr),
        )
