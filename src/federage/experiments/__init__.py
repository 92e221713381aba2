"""Experiments on disk: a folder that is played into, stopped, gone on with, read. No numerics here."""

from federage.experiments.play import play
from federage.experiments.reading import load
from federage.experiments.store import Recorded, open_folder
from federage.experiments.train import train

__all__ = ["Recorded", "load", "open_folder", "play", "train"]
