"""Oracles: FedAvg weighted by what no server knows, how likely each client is to get through.

They are there to be compared with. Their target is the mean over all clients, each counting alike.

Reference: Horvitz & Thompson, J. American Statistical Association 47 (1952); self-normalised: Hajek's estimator.
"""

import optax

from federage.core.algorithm import Algorithm
from federage.core.record import positive, record
from federage.parts import compose, inverse_probability, self_normalised


@record
class HorvitzThompson:
    """FedAvg whose arrivals count 1/pi_i each: unbiased, and of a size that varies with who comes.

    Where every client is as likely as any other and their number is fixed, it is FedAvg.

    Attributes:
      lr: the local step size.
    """

    lr: float

    def __post_init__(self) -> None:
        positive("lr", self.lr)

    def parts(self) -> Algorithm:
        return compose(optax.sgd(self.lr), aggregation=inverse_probability())


@record
class SelfNormalised:
    """FedAvg whose arrivals count in proportion to 1/pi_i: an average of them, and biased towards the frequent.

    Where every client is as likely as any other it is FedAvg.

    Attributes:
      lr: the local step size.
    """

    lr: float

    def __post_init__(self) -> None:
        positive("lr", self.lr)

    def parts(self) -> Algorithm:
        return compose(optax.sgd(self.lr), aggregation=self_normalised())
