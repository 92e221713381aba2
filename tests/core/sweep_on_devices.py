"""Play some sweeps on however many devices this process has, and save their numbers: the program of `test_devices`."""

import sys
from typing import Any

import jax
import numpy as np

import federage as fr
from federage.core.cast import Cast
from federage.core.plan import plan
from federage.testing import laws, tiny

SEEDS = {"fewer than devices": 1, "not a multiple": 3}


def numbers() -> dict[str, Any]:
    """Two records on some seeds: 2 and 6 runs. Leaves by name, for the host to compare."""
    problem = tiny(laws()["coins"], chunk=2)
    records = [fr.FedeRage(lr=0.1), fr.FedeRage(lr=0.02, alpha=0.8)]
    found = {"devices": np.asarray(len(jax.local_devices()))}
    for name, seeds in SEEDS.items():
        for k, result in enumerate(fr.sweep(problem, records, rounds=6, every=6, seeds=seeds)):
            for path, leaf in jax.tree_util.tree_leaves_with_path((result.legs, result.looks, result.state)):
                found[f"{name}: {k}{jax.tree_util.keystr(path)}"] = np.asarray(leaf)
    return found


def shares() -> list[int]:
    """How many of six runs, filled up to whole shares, each device plays."""
    cast = Cast.of(tiny(laws()["coins"], chunk=2), [fr.FedeRage(lr=0.1), fr.FedeRage(lr=0.02, alpha=0.8)], 3)
    moment = next(cast.legs(plan(6, 6, (), None)))
    return [shard.data.shape[0] for state in moment.states for shard in state.round.addressable_shards]


if __name__ == "__main__":
    np.savez(sys.argv[1], shares=shares(), **numbers())
