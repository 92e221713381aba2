"""FedAvg whose server keeps something by client id against clients that come unevenly.

Reference: FedAU: Wang & Ji, arXiv:2306.03401; MIFA: Gu et al., arXiv:2106.04159; FedVARP: Jhunjhunwala et al.,
arXiv:2207.14130; FedStale: Rodio & Neglia, arXiv:2405.04171.
"""

import optax

from federage.core.algorithm import Algorithm
from federage.core.record import count, fraction, positive, record
from federage.parts import compose, last_updates, participation_intervals, stale_updates, surrogates


@record
class FedAU:
    """FedAvg whose arrivals count by how long they usually stay away: weights learnt from who came.

    Where everybody always comes it is FedAvg.

    Attributes:
      lr: the local step size.
      server_lr: eta, the length of the server's step.
      cutoff: K, the rounds after which a participation interval ends unasked; the largest weight.
    """

    lr: float
    server_lr: float = 1.0
    cutoff: int = 50

    def __post_init__(self) -> None:
        positive("lr", self.lr)
        positive("server_lr", self.server_lr)
        count("cutoff", self.cutoff)

    def parts(self) -> Algorithm:
        return compose(
            optax.sgd(self.lr),
            aggregation=participation_intervals(self.cutoff),
            server=optax.sgd(self.server_lr),
        )


@record
class MIFA:
    """FedAvg over all clients' last updates, however old; where everybody always comes it is FedAvg.

    Attributes:
      lr: the local step size.
      server_lr: the length of the server's step.
    """

    lr: float
    server_lr: float = 1.0

    def __post_init__(self) -> None:
        positive("lr", self.lr)
        positive("server_lr", self.server_lr)

    def parts(self) -> Algorithm:
        return compose(optax.sgd(self.lr), aggregation=last_updates(), server=optax.sgd(self.server_lr))


@record
class FedVARP:
    """FedAvg in which last updates stand in for the absent; where everybody always comes it is FedAvg.

    Attributes:
      lr: the local step size.
      server_lr: the length of the server's step.
    """

    lr: float
    server_lr: float = 1.0

    def __post_init__(self) -> None:
        positive("lr", self.lr)
        positive("server_lr", self.server_lr)

    def parts(self) -> Algorithm:
        return compose(optax.sgd(self.lr), aggregation=surrogates(), server=optax.sgd(self.server_lr))


@record
class FedStale:
    """An oracle between Horvitz-Thompson, at stale = 0, and FedVARP weighted by 1/pi_i, at stale = 1.

    Attributes:
      lr: the local step size.
      server_lr: the length of the server's step.
      stale: beta, the weight of what the absent sent last.
    """

    lr: float
    server_lr: float = 1.0
    stale: float = 0.5

    def __post_init__(self) -> None:
        positive("lr", self.lr)
        positive("server_lr", self.server_lr)
        fraction("stale", self.stale)

    def parts(self) -> Algorithm:
        return compose(optax.sgd(self.lr), aggregation=stale_updates(self.stale), server=optax.sgd(self.server_lr))
