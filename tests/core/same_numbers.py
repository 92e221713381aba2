"""Two trees of numbers, compared leaf by leaf: to the bit, or up to the rounding of sums taken in another order."""

from typing import Any

import jax
import numpy as np

ROUNDING = 2e-5
"""Of the size of the values: a few hundred float32 operations at 6e-8 each, in runs of some dozen local steps."""


def pairs(a: Any, b: Any) -> list[tuple[str, np.ndarray, np.ndarray]]:
    assert jax.tree.structure(a) == jax.tree.structure(b)
    named = jax.tree_util.tree_leaves_with_path(a)
    return [
        (jax.tree_util.keystr(path), np.asarray(x), np.asarray(y))
        for (path, x), y in zip(named, jax.tree.leaves(b), strict=True)
    ]


def assert_same_bits(a: Any, b: Any) -> None:
    for path, x, y in pairs(a, b):
        assert (x.shape, x.dtype) == (y.shape, y.dtype), path
        assert x.tobytes() == y.tobytes(), f"{path} differs by up to {np.abs(x - y).max()}"


def assert_same_up_to_rounding(a: Any, b: Any, rounding: float = ROUNDING) -> None:
    """Counts to the last one, numbers up to `rounding` times the largest of their array (or 1)."""
    for path, x, y in pairs(a, b):
        if x.dtype.kind != "f":
            np.testing.assert_array_equal(x, y, err_msg=path)
        else:
            size = np.nanmax(np.abs(x), initial=1.0)
            np.testing.assert_allclose(x, y, rtol=0, atol=rounding * size, err_msg=path)


def runs(tree: Any, which: list[int]) -> Any:
    """Some of the runs along the leading axis."""
    return jax.tree.map(lambda a: np.asarray(a)[which], tree)
