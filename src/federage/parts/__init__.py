"""The words: risks, corrections, local steps, aggregations and server steps, each a few pure functions."""

from federage.parts.aggregation import inverse_probability, normalised_mean, self_normalised, uniform_mean
from federage.parts.compose import compose
from federage.parts.correction import chain_corrections, control_variates, no_correction, proximal
from federage.parts.memory import last_updates, participation_intervals, stale_updates, surrogates
from federage.parts.risk import kappa, mean, mean_cvar
from federage.parts.server import adagrad_moment, adam_moment, adaptive, amplified, momentum, yogi_moment
from federage.parts.step import Ball, Box, Interval, per_part, project

__all__ = [
    "Ball",
    "Box",
    "Interval",
    "adagrad_moment",
    "adam_moment",
    "adaptive",
    "amplified",
    "chain_corrections",
    "compose",
    "control_variates",
    "inverse_probability",
    "kappa",
    "last_updates",
    "mean",
    "mean_cvar",
    "momentum",
    "no_correction",
    "normalised_mean",
    "participation_intervals",
    "per_part",
    "project",
    "proximal",
    "self_normalised",
    "stale_updates",
    "surrogates",
    "uniform_mean",
    "yogi_moment",
]
