"""A method is handed what it declares to read, and no more."""

from typing import Any

import jax.numpy as jnp
import numpy as np
import optax
import pytest

import federage as fr
from federage.core.algorithm import Aggregation, Knowledge
from federage.core.state import initial
from federage.errors import KnowledgeError
from federage.testing import arrivals, tiny

LAW = fr.participation.Table([[0], [0, 1, 2, 3, 4, 5], [2, 5]], [0.3, 0.3, 0.4])
SIZES = [8, 9, 10, 11, 12, 13]
INCLUSION = [0.6, 0.3, 0.7, 0.3, 0.3, 0.7]
WEIGHT = [0.35, 0.05, 0.25, 0.05, 0.05, 0.25]
NAMES = {"size": Knowledge.SIZES, "inclusion": Knowledge.LAW, "weight": Knowledge.LAW}


def notes(names: list[str], reads: set[Knowledge]) -> fr.Algorithm:
    """FedAvg whose server notes by client what it was told about it."""
    plain = fr.parts.uniform_mean()

    def encode(report: Any, entry: Any, known: Any) -> Any:
        summand, _ = plain.encode(report, (), known)
        return summand, jnp.stack([jnp.asarray(getattr(known, name), jnp.float32) for name in names])

    noting = Aggregation(lambda vars: ((), jnp.zeros(len(names))), encode, plain.combine, frozenset(reads))
    return fr.compose(optax.sgd(0.1), aggregation=noting)


def test_what_is_declared_is_told_exactly():
    """Marginals of the law by hand; every client comes at least once in these rounds."""
    told = notes(["clients", "size", "inclusion", "weight"], {Knowledge.SERVER_MEMORY, Knowledge.SIZES, Knowledge.LAW})
    result = fr.run(tiny(LAW), told, rounds=12, every=12)
    assert result.heard.min() >= 1
    expected = np.stack([np.full(6, 6), SIZES, INCLUSION, WEIGHT], axis=1)
    np.testing.assert_allclose(result.state.aggregation.clients[0], expected, rtol=2e-7)


def test_the_round_is_public():
    """Noted at each arrival: the last of 12 rounds in which the client was among those drawn."""
    result = fr.run(tiny(LAW), notes(["round"], {Knowledge.SERVER_MEMORY}), rounds=12, every=12)
    came = arrivals(LAW, 0, 12)
    np.testing.assert_array_equal(
        result.state.aggregation.clients[0, :, 0], [max(t for t in range(12) if i in came[t]) for i in range(6)]
    )


@pytest.mark.parametrize("name", list(NAMES))
def test_what_is_not_declared_is_refused(name: str):
    others = {Knowledge.SERVER_MEMORY, Knowledge.SIZES, Knowledge.LAW} - {NAMES[name]}
    with pytest.raises(KnowledgeError) as error:
        fr.run(tiny(LAW), notes([name], others), rounds=1)
    assert str(error.value) == (
        f"the aggregation reads known.{name}, which is not in its declared `reads`; declare it there"
    )


def test_a_memory_that_is_not_declared_is_refused():
    silent = fr.parts.control_variates(0.1)._replace(reads=frozenset())
    with pytest.raises(KnowledgeError) as error:
        fr.run(tiny(LAW), fr.compose(optax.sgd(0.1), correction=silent), rounds=1)
    assert str(error.value) == (
        "the correction keeps an entry a client, but does not declare client memory in its `reads`; declare it"
    )
    with pytest.raises(KnowledgeError, match="the aggregation keeps an entry a client, but does not declare server"):
        initial(notes(["clients"], set()), tiny(LAW), jnp.uint32(0), False)


def test_an_algorithm_reads_what_its_parts_read():
    both = notes(["size"], {Knowledge.SIZES})._replace(correction=fr.parts.control_variates(0.1))
    assert both.reads == {Knowledge.SIZES, Knowledge.CLIENT_MEMORY}
    assert fr.FedeRage(lr=0.1).parts().reads == frozenset()
