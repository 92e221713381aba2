"""`check_algorithm` finds what is wrong with an algorithm, and says so. Each one here breaks one promise."""

from typing import Any

import jax
import jax.numpy as jnp
import optax
import pytest
from small_runs import every_law_replayed

import federage as fr
from federage.core.algorithm import Knowledge
from federage.core.record import record
from federage.parts import control_variates, no_correction, uniform_mean
from federage.testing import check_algorithm

LAWS = {"every law in turn": every_law_replayed(16)}
MEAN = uniform_mean()


def aggregated(**changes: Any) -> fr.Algorithm:
    return fr.compose(optax.sgd(0.1), aggregation=MEAN._replace(**changes))


def corrected(correction) -> fr.Algorithm:
    return fr.compose(optax.sgd(0.1), correction=correction)


def by_size(report, entry, known):
    return (jax.tree.map(lambda d: known.size * d, report.delta), known.size), entry


def without_saying(part, *reads):
    return part._replace(reads=frozenset(reads))


def counting_from(zero):
    """A mean whose server counts the rounds, beginning with `zero`."""

    def combine(total, rounds):
        return MEAN.combine(total, ())[0], rounds + 1.0

    return aggregated(init=lambda vars: (zero, ()), combine=combine)


def drowned(report, entry, known):
    """The change on top of a number so large that what is left of it depends on the order of the sum."""
    flood = 1e5 * report.mean.loss
    return (jax.tree.map(lambda d: d + flood, report.delta), flood, jnp.ones(())), entry


def fished_out(total, server):
    change, flood, count = total
    return jax.tree.map(lambda d: (d - flood) / count, change), server


def forgetful(correction):
    """Control variates that start from zero memories of another shape than those they keep."""

    def init(vars):
        server, client = correction.init(vars)
        return server, jax.tree.map(lambda a: jnp.zeros((1,)), client)

    return correction._replace(init=init)


@jax.tree_util.register_pytree_node_class
class Forgetful:
    """A pytree that loses its number."""

    def __init__(self, lr: float = 0.1):
        self.lr = lr

    def tree_flatten(self):
        return (self.lr,), None

    @classmethod
    def tree_unflatten(cls, _, children):
        return cls()

    def parts(self) -> fr.Algorithm:
        return fr.FedAvg(self.lr).parts()


@record
class Named:
    """A word among its numbers."""

    lr: float
    colour: str = "blue"

    def parts(self) -> fr.Algorithm:
        return fr.FedAvg(self.lr).parts()


@record
class Branching:
    """Decides in Python what can only be known inside the program."""

    lr: float

    def parts(self) -> fr.Algorithm:
        return fr.FedAvg(self.lr if self.lr < 1 else 1.0).parts()


BROKEN = {
    "a client memory it does not declare": (
        corrected(without_saying(control_variates(0.1))),
        "reads what it does not declare: the correction keeps an entry a client, but does not declare client memory",
    ),
    "a memory by client at the server it does not declare": (
        aggregated(init=lambda vars: ((), jnp.zeros(()))),
        "the aggregation keeps an entry a client, but does not declare server memory by client",
    ),
    "sizes it does not declare": (
        aggregated(encode=by_size),
        "reads what it does not declare: the aggregation reads known.size, which is not in its declared `reads`",
    ),
    "a law it declares without need": (
        aggregated(reads=frozenset({Knowledge.LAW})),
        "the aggregation of the composed algorithm declares to read the law, but does without; drop it from `reads`",
    ),
    "a memory it declares without need": (
        corrected(without_saying(no_correction(), Knowledge.CLIENT_MEMORY)),
        "the correction of the composed algorithm declares to read client memory, but does without",
    ),
    "one of two declarations without need": (
        aggregated(encode=by_size, reads=frozenset({Knowledge.SIZES, Knowledge.LAW})),
        "declares to read the law, but does without",
    ),
    "sums that depend on their grouping": (
        aggregated(encode=drowned, combine=fished_out),
        "under the law 'every law in turn', the result depends on `chunk`",
    ),
    "a number that becomes a float": (
        counting_from(0),
        "cannot play two rounds: aggregation.server begins as int32[] and becomes float32[]; start memories as",
    ),
    "an array that becomes a float": (
        counting_from(jnp.zeros((), jnp.int32)),
        "cannot play two rounds: aggregation.server begins as int32[] and becomes float32[]; start memories as",
    ),
    "a memory that changes its shape": (
        corrected(forgetful(control_variates(0.1))),
        "cannot play a round",
    ),
    "steps that are too long": (fr.FedAvg(1e38), "FedAvg was no longer finite after"),
    "an answer that is no update": (
        aggregated(combine=lambda total, server: (total[1], server)),
        "the composed algorithm cannot play a round",
    ),
    "a choice that a program cannot make": (Branching(0.1), "Branching cannot play a round: TracerBoolConversionError"),
    "a record that is not rebuilt": (Forgetful(0.3), "Forgetful is rebuilt with other values from its own leaves"),
    "a word among the numbers": (Named(0.1), "Named has 'blue' among its numbers; declare that field with `static()`"),
    "no method at all": (0.1, r"expected a record with parts() or an Algorithm, but 0.1 came"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_what_is_wrong_is_said(name: str):
    method, complaint = BROKEN[name]
    with pytest.raises(AssertionError) as found:
        check_algorithm(method, laws=LAWS, rounds=16)
    assert complaint in str(found.value)


def test_a_number_that_is_a_float_from_the_start_is_fine():
    """The same algorithm as two of those above, begun with 0.0: nothing is wrong with a Python float."""
    check_algorithm(counting_from(0.0), laws=LAWS, rounds=16)
