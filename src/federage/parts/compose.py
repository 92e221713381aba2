"""A sentence: parts put together, each defaulting to FedAvg's."""

from __future__ import annotations

import optax

from federage.core.algorithm import Aggregation, Algorithm, Correction, Risk
from federage.parts.aggregation import uniform_mean
from federage.parts.correction import no_correction
from federage.parts.risk import mean


def compose(
    local: optax.GradientTransformation,
    *,
    risk: Risk | None = None,
    correction: Correction | None = None,
    aggregation: Aggregation | None = None,
    server: optax.GradientTransformation | None = None,
) -> Algorithm:
    """An algorithm, told by what it changes in FedAvg.

    Args:
      local: the local step over v = (theta, dual): `sgd(lr)`, any optax chain, `project(...)` at its end.
      risk: what a client descends; the mean of its losses.
      correction: what is added to its gradient, and remembered; nothing.
      aggregation: what becomes of the reports; their plain mean.
      server: how the server steps along the negative of that; by exactly it.

    Example:
      FedeRage's risk, SCAFFOLD's control variates, Adam at the server, in one expression:

      >>> from federage.parts import compose, control_variates, mean_cvar
      >>> algorithm = compose(
      ...     optax.sgd(0.03),
      ...     risk=mean_cvar(alpha=0.3, gamma=0.9),
      ...     correction=control_variates(0.03),
      ...     server=optax.adam(0.01),
      ... )
    """
    return Algorithm(
        local=local,
        risk=risk or mean(),
        correction=correction or no_correction(),
        aggregation=aggregation or uniform_mean(),
        server=server or optax.sgd(1.0),
    )
