"""FedeRage: FedAvg on v = (theta, beta) with the mean-CVaR of the mini-batch loss.

Reference: FedeRage, Algorithm 2.
"""

import optax

from federage.core.algorithm import Algorithm
from federage.core.record import fraction, positive, record, tail_mass
from federage.parts import Interval, compose, control_variates, kappa, mean_cvar, per_part, project, surrogates
from federage.parts.step import Set


@record
class FedeRage:
    """FedeRage; gamma = 0 is FedAvg.

    beta starts at 0 and losses are positive, so every batch is in the tail at first: the first phase is SGD with step
    kappa * lr, kappa = (1 - gamma) + gamma / alpha. Compare with FedAvg at that step size too.

    Attributes:
      lr: eta_theta, the local step size of theta.
      beta_lr: eta_beta, that of beta.
      alpha: tail mass in (0, 1]: 1 is the mean, towards 0 the worst case; not a confidence level.
      gamma: weight of the CVaR in [0, 1].
      within: C, the set theta is projected onto, or None.
      beta_within: B, the interval beta is projected onto, or None.
    """

    lr: float
    beta_lr: float = 0.03
    alpha: float = 0.3
    gamma: float = 0.9
    within: Set | None = None
    beta_within: Interval | None = None

    def __post_init__(self) -> None:
        positive("lr", self.lr)
        positive("beta_lr", self.beta_lr)
        tail_mass("alpha", self.alpha)
        fraction("gamma", self.gamma)

    @property
    def kappa(self) -> float:
        """The price of risk aversion, (1 - gamma) + gamma / alpha."""
        return kappa(self.alpha, self.gamma)

    def parts(self) -> Algorithm:
        step = per_part(theta=optax.sgd(self.lr), dual=optax.sgd(self.beta_lr))
        return compose(
            optax.chain(step, project(self.within, self.beta_within)), risk=mean_cvar(self.alpha, self.gamma)
        )


@record
class FedeRageCV(FedeRage):
    """FedeRage with SCAFFOLD's control variates on theta; gamma = 0 is SCAFFOLD.

    The memory holds mean *risk* gradients, w grad f. Fields as FedeRage's.
    """

    def parts(self) -> Algorithm:
        return super().parts()._replace(correction=control_variates(self.lr))


@record
class FedeRageVARP(FedeRage):
    """FedeRage in which last updates of theta and beta stand in for the absent; gamma = 0 is FedVARP.

    Fields as FedeRage's; the server's step may lead out of the sets, which local steps keep to.
    """

    def parts(self) -> Algorithm:
        return super().parts()._replace(aggregation=surrogates())
