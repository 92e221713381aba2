"""The control without which a risk-averse method cannot be judged: FedAvg at its effective step size.

While every batch is in the tail, a method with a price of risk aversion kappa takes steps of SGD at kappa * lr. What
it gains over FedAvg may be that longer step: so FedAvg is played at kappa * lr too. The control is not tuned; its step
size follows from the one that was chosen for the method it belongs to.
"""

from __future__ import annotations

from collections.abc import Mapping

from federage.algorithms import FedAvg
from federage.core.algorithm import Method

CONTROL = "FedAvg at κ·lr"


def controls(methods: Mapping[str, Method]) -> dict[str, str]:
    """The label of the control of every method that needs one, whether it is there yet or not: control -> method.

    One is called "FedAvg at κ·lr", of several each with the method's label after it; but a plain one that is there
    already belongs to the first.
    """
    averse = [label for label, method in methods.items() if hasattr(method, "kappa") and hasattr(method, "lr")]
    plain = len(averse) == 1 or CONTROL in methods
    return {CONTROL if plain and not k else f"{CONTROL} of {label}": label for k, label in enumerate(averse)}


def with_controls(methods: Mapping[str, Method]) -> dict[str, Method]:
    """The methods with every control's step size as it follows; one that is not there yet comes last."""
    return dict(methods) | {control: _control(methods[label]) for control, label in controls(methods).items()}


def _control(method: Method) -> FedAvg:
    step = method.kappa * method.lr  # pyright: ignore[reportAttributeAccessIssue]
    return FedAvg(lr=float(f"{step:.6g}"), within=getattr(method, "within", None))
