"""What is added to a client's gradient, and remembered. The dual's gradient is left as it is."""

from __future__ import annotations

import jax
import jax.numpy as jnp
from jaxtyping import Array

from federage.core.algorithm import Correction, Knowledge
from federage.core.types import PyTree, Vars


def no_correction() -> Correction:
    """FedAvg's: nothing."""
    return Correction(
        init=lambda vars: ((), ()),
        start=lambda broadcast, server, client: (),
        direct=lambda gradient, v, scratch: (gradient, scratch),
        finish=lambda broadcast, v, scratch, server, client, steps: ((), ()),
        absorb=lambda server, message, clients: server,
    )


def proximal(mu: float | Array) -> Correction:
    """Pull towards the broadcast model x: g + mu (theta - x).

    References:
      FedProx: Li et al., arXiv:1812.06127, eq. (2).
    """

    def direct(gradient: Vars, v: Vars, x: PyTree) -> tuple[Vars, PyTree]:
        pulled = jax.tree.map(lambda g, theta, x: g + mu * (theta - x), gradient.theta, v.theta, x)
        return gradient._replace(theta=pulled), x

    return no_correction()._replace(start=lambda broadcast, server, client: broadcast.theta, direct=direct)


def control_variates(lr: float | Array) -> Correction:
    """SCAFFOLD's: g - c_i + c, c_i being client i's mean gradient when it was last heard, and c their mean over all N.

        c_i' = c_i - c + (x - theta_K) / (K lr)        Option II
        c'   = c + (1/N) sum_{i in S} (c_i' - c_i)

    A client that does not get through keeps its c_i. The sum is divided by N, not by the arrivals.

    Args:
      lr: the step size of the local step, so that (x - theta_K) / (K lr) is a mean gradient. With a local step other
        than SGD it scales the memory to the step actually taken; pass the step size at which that one moves by lr * g.

    References:
      Karimireddy et al., arXiv:1910.06378, Algorithm 1, lines 10-13 and 17.
    """

    def init(vars: Vars) -> tuple[PyTree, PyTree]:
        zeros = jax.tree.map(jnp.zeros_like, vars.theta)
        return zeros, zeros

    def direct(gradient: Vars, v: Vars, shift: PyTree) -> tuple[Vars, PyTree]:
        return gradient._replace(theta=jax.tree.map(jnp.add, gradient.theta, shift)), shift

    def finish(broadcast: Vars, v: Vars, shift: PyTree, c: PyTree, c_i: PyTree, steps: Array) -> tuple[PyTree, PyTree]:
        kept = jax.tree.map(
            lambda x, theta, c, c_i: c_i - c + (x - theta) / (steps * lr), broadcast.theta, v.theta, c, c_i
        )
        return kept, jax.tree.map(jnp.subtract, kept, c_i)

    return Correction(
        init=init,
        start=lambda broadcast, c, c_i: jax.tree.map(jnp.subtract, c, c_i),
        direct=direct,
        finish=finish,
        absorb=lambda c, message, clients: jax.tree.map(lambda c, m: c + m / clients, c, message),
        reads=frozenset({Knowledge.CLIENT_MEMORY}),
    )


def chain_corrections(*corrections: Correction) -> Correction:
    """Several corrections of one gradient, one after the other: FedProx's pull on SCAFFOLD's direction, say."""

    def direct(gradient: Vars, v: Vars, scratch: tuple[PyTree, ...]) -> tuple[Vars, PyTree]:
        kept = []
        for part, own in zip(corrections, scratch, strict=True):
            gradient, own = part.direct(gradient, v, own)
            kept.append(own)
        return gradient, tuple(kept)

    def init(vars: Vars) -> tuple[PyTree, PyTree]:
        memories = [part.init(vars) for part in corrections]
        return tuple(server for server, _ in memories), tuple(client for _, client in memories)

    def finish(
        broadcast: Vars, v: Vars, scratch: PyTree, server: PyTree, client: PyTree, steps: Array
    ) -> tuple[PyTree, PyTree]:
        ends = [
            part.finish(broadcast, v, own, s, c, steps)
            for part, own, s, c in zip(corrections, scratch, server, client, strict=True)
        ]
        return tuple(kept for kept, _ in ends), tuple(message for _, message in ends)

    return Correction(
        init=init,
        start=lambda broadcast, server, client: tuple(
            part.start(broadcast, s, c) for part, s, c in zip(corrections, server, client, strict=True)
        ),
        direct=direct,
        finish=finish,
        absorb=lambda server, message, clients: tuple(
            part.absorb(s, m, clients) for part, s, m in zip(corrections, server, message, strict=True)
        ),
        reads=frozenset().union(*[part.reads for part in corrections]),
    )
