"""What numbers mean, after they were computed: exact risk of discrete distributions. Trains nothing."""

from federage.analysis.risk import cvar, kappa, mean_cvar, tail_weights, var, variational

__all__ = [
    "cvar",
    "kappa",
    "mean_cvar",
    "tail_weights",
    "var",
    "variational",
]
