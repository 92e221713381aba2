"""What the oracles do over a whole law, by enumerating the sets that may come."""

import jax
import jax.numpy as jnp
import numpy as np

import federage as fr
from federage.core.algorithm import Aggregation, Known, Report, Step
from federage.parts import inverse_probability, self_normalised

SETS, CHANCES = [[0], [0, 1, 2, 3, 4], [2, 5], [1, 2]], [0.3, 0.2, 0.4, 0.1]
LAW = fr.participation.Table(SETS, CHANCES)
CHANGES = np.random.default_rng(0).normal(size=(6, 3)).astype(np.float32)


def expected(part: Aggregation) -> np.ndarray:
    """The mean over the law of the update, D_i being the same whoever else comes."""
    pi = LAW.inclusion().values

    def update(came: list[int]) -> np.ndarray:
        total = None
        for i in came:
            report = Report(fr.Vars(jnp.asarray(CHANGES[i]), ()), (), jnp.int32(1), Step(jnp.zeros(()), jnp.zeros(())))
            summand, _ = part.encode(report, (), Known(6, jnp.int32(0), inclusion=jnp.float32(pi[i])))
            total = summand if total is None else jax.tree.map(jnp.add, total, summand)
        return np.asarray(part.combine(total, ())[0].theta)

    return sum(chance * update(came) for came, chance in zip(SETS, CHANCES, strict=True))


def test_horvitz_thompson_is_unbiased():
    np.testing.assert_allclose(expected(inverse_probability()), CHANGES.mean(axis=0), rtol=0, atol=1e-6)


def test_self_normalised_is_not_but_nearer_than_the_plain_mean():
    target = CHANGES.mean(axis=0)
    biased, plain = (np.abs(expected(p) - target).max() for p in (self_normalised(), fr.parts.uniform_mean()))
    assert 0.01 < biased < plain
