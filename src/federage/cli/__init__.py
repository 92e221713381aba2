"""The `federage` command: thin. Data go to stdout, messages to stderr, and an error is one line."""

from federage.cli.main import main

__all__ = ["main"]
