"""FedNova: FedAvg whose clients weigh alike however many local steps they take.

Reference: Wang et al., arXiv:2007.07481, Section 4, for plain SGD (there weighted by n_i; here uniform over arrivals).
"""

import optax

from federage.core.algorithm import Algorithm
from federage.core.record import positive, record
from federage.parts import compose, normalised_mean


@record
class FedNova:
    """FedNova; where all clients take the same number of local steps it is FedAvg.

    Attributes:
      lr: the local step size.
    """

    lr: float

    def __post_init__(self) -> None:
        positive("lr", self.lr)

    def parts(self) -> Algorithm:
        return compose(optax.sgd(self.lr), aggregation=normalised_mean())
