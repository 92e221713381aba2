import numpy as np
import pytest

from federage.data import load
from federage.data.digits import digits


def test_the_embedded_digits_are_scikit_learns():
    datasets = pytest.importorskip("sklearn.datasets")
    original = datasets.load_digits()
    data = load("digits")
    assert data.test is not None
    for label in range(10):
        images = original.images[original.target == label]
        test = np.arange(len(images)) % 5 == 4
        np.testing.assert_array_equal(data.train.x[data.train.y == label, ..., 0], images[~test])
        np.testing.assert_array_equal(data.test.x[data.test.y == label, ..., 0], images[test])


def test_shapes_split_and_standardisation():
    data = digits()
    assert data.train.x.shape == (1442, 8, 8, 1)
    assert data.test is not None
    assert data.test.x.shape == (355, 8, 8, 1)
    assert data.train.x.dtype == np.uint8
    assert data.train.x.max() == 16
    inputs = np.asarray(data.inputs(data.train.x))
    assert abs(inputs.mean()) < 1e-3
    assert abs(inputs.std() - 1) < 1e-3
