#!/usr/bin/env python3
"""Write src/federage/data/digits.npz from scikit-learn's handwritten digits (a development dependency only)."""

from pathlib import Path

import numpy as np
from sklearn.datasets import load_digits

TARGET = Path(__file__).parents[1] / "src" / "federage" / "data" / "digits.npz"


def main() -> None:
    digits = load_digits()
    np.savez_compressed(TARGET, x=digits.images.astype(np.uint8), y=digits.target.astype(np.uint8))


if __name__ == "__main__":
    main()
