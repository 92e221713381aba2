"""Laws by the names they go by."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from federage.errors import RecordError
from federage.participation import checks
from federage.participation.table import Table
from federage.participation.weighted import Weighted

SEVERITIES = {"mild": 1 / 5, "moderate": 1 / 20, "severe": 1 / 100}
"""The prior of a rare client as a fraction of a common one's."""


def uniform(clients: int, arrivals: int) -> Weighted:
    """Every set of M clients equally likely: pi_i = M/N, p_i = 1/N."""
    return Weighted(np.ones(checks.whole("clients", clients)), arrivals)


def full(clients: int) -> Table:
    """Everybody, in every round: p_i = 1/N."""
    return Table([range(checks.whole("clients", clients))], [1.0])


def skewed(clients: int, arrivals: int, rare: int | Sequence[int], severity: str | float = "moderate") -> Weighted:
    """A few rare clients and many common ones, equally likely among themselves.

    The paper's skewed regime is 30 clients, M = 3, and three rare ones, 27 to 29; its numbers are unpublished. Here:

        severity   prior ratio   pi of a rare client   pi of a common one
        mild       1/5           0.0224                0.1086
        moderate   1/20          0.0057                0.1105
        severe     1/100         0.0012                0.1110

    Args:
        clients: N.
        arrivals: M.
        rare: How many (the last ids), or which ids.
        severity: The prior of a rare client as a fraction in (0, 1] of a common one's, or a name from `SEVERITIES`.
    """
    clients = checks.whole("clients", clients)
    if np.ndim(rare) == 0:
        count = checks.whole("rare", rare)
        if count >= clients:
            raise RecordError(f"rare takes fewer than the {clients} clients there are, but {count} came; ask for fewer")
        chosen = np.arange(clients - count, clients)
    else:
        chosen = checks.ids("rare", rare, clients)  # pyright: ignore[reportArgumentType]
    if isinstance(severity, str) and severity not in SEVERITIES:
        raise RecordError(
            f"severity takes a fraction in (0, 1] or one of {', '.join(SEVERITIES)}, but {severity!r} came; choose one"
        )
    fraction = SEVERITIES[severity] if isinstance(severity, str) else severity
    if not 0 < fraction <= 1:
        raise RecordError(
            f"severity takes the rare clients' share of a common prior, in (0, 1], but {severity!r} came; "
            "use Weighted with a prior of 0 for clients that never come"
        )
    prior = np.ones(clients)
    prior[chosen] = fraction
    return Weighted(prior, arrivals)
