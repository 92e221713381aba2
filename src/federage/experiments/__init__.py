"""Experiments on disk: a run is a folder. No numerics here."""

from federage.experiments.train import train

__all__ = ["train"]
