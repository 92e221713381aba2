"""What numbers mean, once computed: exact risk, effective weights, statistics of runs. Trains nothing."""

from federage.analysis.effective import Effective, effective_weights
from federage.analysis.risk import cvar, kappa, mean_cvar, tail_weights, var, variational
from federage.analysis.statistics import (
    AgainstBest,
    Marks,
    Paired,
    Summary,
    ZTest,
    against_best,
    by_seed,
    holm,
    intraclass,
    marks,
    paired,
    summarise,
    z_test,
)

__all__ = [
    "AgainstBest",
    "Effective",
    "Marks",
    "Paired",
    "Summary",
    "ZTest",
    "against_best",
    "by_seed",
    "cvar",
    "effective_weights",
    "holm",
    "intraclass",
    "kappa",
    "marks",
    "mean_cvar",
    "paired",
    "summarise",
    "tail_weights",
    "var",
    "variational",
    "z_test",
]
