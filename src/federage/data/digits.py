"""The embedded default: 1,797 handwritten digits of 8 x 8 pixels with values 0..16, inside the package.

They are the test part of "Optical Recognition of Handwritten Digits" (E. Alpaydin and C. Kaynak, UCI Machine Learning
Repository, 1998, doi:10.24432/C50P49, CC BY 4.0), as scikit-learn ships them; `scripts/embed_digits.py` made the file.
The split is fixed and stratified: within each class, in the order of the file, every fifth example is a test example.
"""

from __future__ import annotations

from importlib import resources

import numpy as np

from federage.data.dataset import Dataset, Examples
from federage.data.specs import standardised
from federage.data.tables import read_npz

EVERY = 5  # one example in five of each class is for test


def digits() -> Dataset:
    """The handwritten digits: 1,442 training and 355 test images, [n, 8, 8, 1] unsigned bytes."""
    with resources.as_file(resources.files("federage.data") / "digits.npz") as path:
        arrays = read_npz(path)
    x, y = arrays["x"][..., None], arrays["y"]
    test = np.zeros(len(y), bool)
    for label in range(10):
        test[np.flatnonzero(y == label)[EVERY - 1 :: EVERY]] = True
    return Dataset(
        name="digits",
        train=Examples(x[~test], y[~test]),
        test=Examples(x[test], y[test]),
        classes=10,
        inputs=standardised(0.3051, 0.3762, top=16),
    )
