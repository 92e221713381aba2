"""Searching for methods' numbers: an experiment whose methods are configurations, on validation examples."""

from federage.tuning.tune import tune

__all__ = ["tune"]
