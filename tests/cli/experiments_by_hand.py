"""Experiments that play in a second, and what a message must look like."""

import contextlib
import os
import signal
import subprocess
import sys

FILE = """\
title = "Two of ten hardly ever come"

[data]
name = "digits"

[partition]
name = "by_class"
clients = 10
rare = 2

[law]
name = "skewed"
arrivals = 2
rare = 2

[model]
name = "softmax"

[work]
batch = 8
local_steps = 2

[runs]
rounds = 12
every = 2
seeds = 3

[methods.FedAvg]
lr = 0.1

[methods.FedeRage]
lr = 0.05
"""

FLAGS = (
    *("--title", "Two of ten hardly ever come", "--data", "digits", "--partition", "by_class:clients=10,rare=2"),
    *("--law", "skewed:arrivals=2,rare=2", "--model", "softmax", "--batch", "8", "--local-steps", "2"),
    *("--rounds", "12", "--every", "2", "--seeds", "3", "--method", "FedAvg:lr=0.1", "--method", "FedeRage:lr=0.05"),
)
"""The same by flags."""

START = (
    "import signal, sys; signal.signal(signal.SIGINT, signal.default_int_handler); "
    "from federage.cli import main; sys.exit(main())"
)


def assert_one_line(err):
    assert err.startswith("error: ")
    assert err.count("\n") == 1
    assert err.endswith("\n")
    assert "Traceback" not in err


@contextlib.contextmanager
def truly(*words, cwd=None, **environment):
    """The command as a process of its own, with interrupts as a terminal has them."""
    known = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}
    process = subprocess.Popen(
        [sys.executable, "-c", START, *map(str, words)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=known | environment,
        cwd=cwd,
        text=True,
    )
    try:
        yield process
    finally:
        if process.poll() is None:
            process.send_signal(signal.SIGKILL)
        process.wait()
        process.stdout.close()
        process.stderr.close()
