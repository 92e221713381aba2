"""The real datasets, where somebody has put them: FEDERAGE_DATA names the folder."""

import os

import numpy as np
import pytest

from federage.data import SPECS, check, load, partition


@pytest.fixture(params=sorted(SPECS))
def real(request):
    if not os.environ.get("FEDERAGE_DATA"):
        pytest.skip("FEDERAGE_DATA is not set")
    if any(row.state == "missing" for row in check(request.param)):
        pytest.skip(f"{request.param} is not in {os.environ['FEDERAGE_DATA']}")
    return load(request.param)


def test_real_datasets_have_their_known_sizes_classes_and_moments(real):
    n, shape = (50_000, (32, 32, 3)) if real.name == "cifar10" else (60_000, (28, 28, 1))
    assert real.train.x.shape == (n, *shape)
    assert real.test.x.shape == (10_000, *shape)
    assert real.train.x.dtype == np.uint8
    if real.name != "mnist":  # whose classes are only roughly balanced
        assert set(np.bincount(real.train.y)) == {n // 10}
    assert len(np.bincount(real.test.y)) == 10
    for channel in range(shape[-1]):  # mean 0 and standard deviation 1 over all training pixels, from their histogram
        share = np.bincount(real.train.x[..., channel].ravel(), minlength=256) / real.train.x[..., channel].size
        scale, shift = (np.broadcast_to(value, shape[-1:])[channel] for value in real.inputs)
        values = np.arange(256) * float(scale) + float(shift)
        assert abs(share @ values) < 1e-3
        assert abs(share @ values**2 - 1) < 2e-3


def test_the_papers_partition_of_real_datasets(real):
    clients = partition.by_class(real, 30, rare=3)
    rows = partition.describe(clients)
    assert all(row["classes"] == [8, 9] for row in rows[27:])
    assert not any({8, 9} & set(row["classes"]) for row in rows[:27])
    assert sum(row["n_test"] for row in rows) == 10_000
    assert sum(row["n_train"] + row["n_validation"] for row in rows) == len(real.train.y)
