"""Play some runs in however many processes have joined, and save what each ends with: a process of `test_processes`."""

import sys
from typing import Any
from unittest import mock

import jax
import numpy as np

import federage as fr
from federage.core import cast, devices, processes
from federage.testing import laws, tiny

HOW: dict[str, Any] = {"rounds": 6, "every": 2, "smooth": 0.5}


def problem() -> fr.Problem:
    return tiny(laws()["trace"])


def numbers() -> dict[str, Any]:
    """What each way of playing ends with. Leaves by name, for the host to compare.

    Without a cache to fill, each run is a group: three for two processes, and one for two, brought together in pieces.
    """
    records = [fr.FedAvg(lr=0.1), fr.FedAvg(lr=0.02)]
    scaffold = fr.Scaffold(lr=0.1)
    found: dict[str, Any] = {"sweep": fr.sweep(problem(), records, seeds=3, **HOW)}
    with mock.patch.object(cast, "_CACHE", 0):
        legs = list(fr.stream(problem(), scaffold, seeds=3, **HOW))
        found["legs"] = legs
        found["taken up"] = list(fr.stream(problem(), scaffold, seeds=3, start=legs[0], **HOW))
        with mock.patch.object(processes, "_PIECE", 1000):
            found["one group"] = fr.run(problem(), scaffold, seeds=[1], **HOW)
    return {
        f"{name}: {k}{jax.tree_util.keystr(path)}": np.asarray(leaf)
        for name, played in found.items()
        for k, one in enumerate(played if isinstance(played, list) else [played])
        for path, leaf in jax.tree_util.tree_leaves_with_path(contents(one))
    }


def contents(one: fr.Result | fr.Progress) -> Any:
    return (one.legs, one.looks, one.state) if isinstance(one, fr.Result) else tuple(one)


def refused(play: Any) -> str:
    try:
        play()
    except fr.FederageError as error:
        return str(error)
    return "not refused"


def play_from_different_rounds() -> None:
    start = next(iter(fr.stream(problem(), fr.Scaffold(lr=0.1), seeds=3, **HOW)))
    list(fr.stream(problem(), fr.Scaffold(lr=0.1), seeds=3, start=start if devices.lead() else None, **HOW))


if __name__ == "__main__":
    file, coordinator, count, index = sys.argv[1:]
    without_a_cluster = refused(devices.join)
    devices.join(coordinator, int(count), int(index))
    devices.join()  # a second time is none
    np.savez(
        file,
        process=devices.process(),
        devices=len(jax.local_devices()),
        without_a_cluster=without_a_cluster,
        different_starts=refused(play_from_different_rounds),
        **numbers(),
    )
