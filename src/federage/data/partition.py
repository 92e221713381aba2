"""Who owns which example: the ways to cut a dataset into a federation.

Every way gives each training example to exactly one client, loses none, and splits validation and test examples by
the same rule: `validation` of each client's training examples are held out, evenly over its classes (at least one,
and never its last), and the test examples of a class are dealt in proportion to the training examples of that class
that each client owns, to within one example. So the clients' test sets together are the dataset's test set, save for
test examples of a class that no client trains on, which nobody gets.

`rare` marks the clients of the rare group: that many last clients, or a list of ids. Draws depend on `seed` only.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from federage.core.types import Affine, Clients, Flat
from federage.data import deals
from federage.data.assemble import Draw, assemble, generator, rare_mask
from federage.data.dataset import Classes, Dataset
from federage.errors import DataError, RecordError

__all__ = [
    "by_class",
    "by_group",
    "describe",
    "dirichlet",
    "from_assignment",
    "from_lists",
    "iid",
    "quantity_skew",
]


def iid(
    data: Dataset, clients: int, *, validation: float = 0.1, rare: int | Sequence[int] = 0, seed: int = 0
) -> Clients:
    """Examples in random order, dealt evenly: sizes differ by at most one."""
    _at_least_one(clients)
    owner = generator(seed, Draw.OWNERS).permutation(deals.even(len(data.train.y), clients))
    return assemble(data, owner, None, clients, validation, rare, seed)


def by_class(
    data: Dataset,
    clients: int,
    classes_per_client: int = 2,
    *,
    rare: int | Sequence[int] = 0,
    rare_classes: Sequence[int] | None = None,
    validation: float = 0.1,
    seed: int = 0,
) -> Clients:
    """At most `classes_per_client` classes a client: the paper's partition.

    Classes are drawn so that each is held by as many clients as any other, to within one, and the examples of a class
    are dealt evenly among its holders. With a rare group, `rare_classes` are held by the rare clients alone, and the
    rare clients hold nothing else.

    Args:
      data: a dataset with classes.
      clients: how many.
      classes_per_client: how many classes a client holds at most (fewer only if its group has fewer to give).
      rare: how many last clients, or which, form the rare group.
      rare_classes: the classes of the rare group; the last `classes_per_client` classes that have training examples
        unless given, so that every rare client holds all of them.
      validation: the fraction of each client's training examples to hold out.
      seed: of all draws.

    >>> from federage.data import load
    >>> thirty = by_class(load("digits"), 30, rare=3)  # clients 27-29 hold the digits 8 and 9, and nobody else does
    >>> describe(thirty)[29]["classes"]
    [8, 9]
    """
    _at_least_one(clients)
    y, _ = _labels(data, "by_class")
    if classes_per_client < 1:
        raise RecordError(f"classes_per_client={classes_per_client} must be at least 1")
    mask = rare_mask(rare, clients)
    present = np.unique(y)
    chosen = _rare_classes(mask, rare_classes, present, classes_per_client)
    rng = generator(seed, Draw.OWNERS)
    owner = np.empty(len(y), np.int64)
    for who, group, kinds in (("common", ~mask, np.setdiff1d(present, chosen)), ("rare", mask, chosen)):
        ids = np.flatnonzero(group)
        for kind, holders in deals.holders(ids, kinds, classes_per_client, who, rng):
            rows = rng.permutation(np.flatnonzero(y == kind))
            owner[rows] = holders[deals.even(len(rows), len(holders))]
    return assemble(data, owner, None, clients, validation, rare, seed)


def dirichlet(
    data: Dataset,
    clients: int,
    concentration: float = 0.5,
    *,
    least: int = 1,
    validation: float = 0.1,
    rare: int | Sequence[int] = 0,
    seed: int = 0,
) -> Clients:
    """The shares of each class are one draw of a symmetric Dirichlet distribution over the clients.

    A small concentration gives most of a class to few clients, a large one approaches equal shares; sizes vary too.
    (Yurochkin et al., arXiv:1905.12022; Hsu et al., arXiv:1909.06335, draw over the classes of each client instead.)

    Args:
      data: a dataset with classes.
      clients: how many.
      concentration: of the Dirichlet distribution, the same for all clients.
      least: the fewest examples a client keeps for training after validation was held out. Where the draw gives
        less, the largest clients hand over examples drawn at random (no redrawing, which might never end).
      validation: the fraction of each client's training examples to hold out.
      rare: how many last clients, or which, form the rare group (a mark only).
      seed: of all draws.
    """
    _at_least_one(clients)
    _positive("concentration", concentration)
    y, classes = _labels(data, "dirichlet")
    rng = generator(seed, Draw.OWNERS)
    owner = np.empty(len(y), np.int64)
    for kind in range(classes):
        rows = rng.permutation(np.flatnonzero(y == kind))
        owner[rows] = deals.shares_met(rng.dirichlet(np.full(clients, concentration)), len(rows))
    owner = deals.repair(data.name, owner, clients, least, validation, rng)
    return assemble(data, owner, None, clients, validation, rare, seed)


def quantity_skew(
    data: Dataset,
    clients: int,
    *,
    power: float | None = None,
    concentration: float | None = None,
    least: int = 1,
    validation: float = 0.1,
    rare: int | Sequence[int] = 0,
    seed: int = 0,
) -> Clients:
    """Clients of very different sizes and, sampling noise aside, the same class mix.

    Give one of `power`: sizes in proportion to (i + 1) ** -power, so client 0 is the largest; or `concentration`:
    sizes in proportion to one draw of a symmetric Dirichlet distribution. The rest is as in `dirichlet`.
    """
    _at_least_one(clients)
    rng = generator(seed, Draw.OWNERS)
    rows = rng.permutation(len(data.train.y))
    if power is not None and concentration is None:
        if not 0 <= power < np.inf:
            raise RecordError(f"power={power} must be a finite number, at least 0 (0: equal sizes)")
        shares = np.arange(1, clients + 1, dtype=float) ** -power
    elif concentration is not None and power is None:
        _positive("concentration", concentration)
        shares = rng.dirichlet(np.full(clients, concentration))
    else:
        raise RecordError(f"give one of power={power} and concentration={concentration}, for example power=1.0")
    owner = np.empty(len(rows), np.int64)
    owner[rows] = deals.shares_met(shares, len(rows))
    owner = deals.repair(data.name, owner, clients, least, validation, rng)
    return assemble(data, owner, None, clients, validation, rare, seed)


def by_group(data: Dataset, *, validation: float = 0.1, rare: int | Sequence[int] = 0, seed: int = 0) -> Clients:
    """One client a natural group, in the order of the sorted group ids.

    Test examples go to the client of their own group; if only the training examples have groups, they are dealt by
    class as everywhere.
    """
    if data.groups is None:
        raise DataError(f"{data.name}: expected a dataset with groups, but it has none; pass groups= when making it")
    ids, owner = np.unique(data.groups.train, return_inverse=True)
    test_owner = None
    if data.groups.test is not None:
        test_owner = np.minimum(np.searchsorted(ids, data.groups.test), len(ids) - 1)
        strangers = np.unique(data.groups.test[ids[test_owner] != data.groups.test])
        if strangers.size:
            raise DataError(
                f"{data.name}: expected the groups of the test examples among those of the training examples, but "
                f"{strangers.tolist()[:5]} are not; leave them out, or leave out test_groups to deal by class"
            )
    return assemble(data, owner, test_owner, len(ids), validation, rare, seed)


def from_assignment(
    data: Dataset,
    train_owner: ArrayLike,
    test_owner: ArrayLike | None = None,
    *,
    clients: int | None = None,
    validation: float = 0.1,
    rare: int | Sequence[int] = 0,
    seed: int = 0,
) -> Clients:
    """A partition of your own: the owner, 0..clients-1, of every training (and test) example.

    `clients` is one more than the largest owner unless given. Without `test_owner`, test examples are dealt by class.
    """
    owner = _owners("train_owner", train_owner, len(data.train.y))
    clients = int(owner.max()) + 1 if clients is None else clients
    _at_least_one(clients)
    _check_range("train_owner", owner, clients)
    whose = None
    if test_owner is not None:
        whose = _owners("test_owner", test_owner, 0 if data.test is None else len(data.test.y))
        _check_range("test_owner", whose, clients)
    return assemble(data, owner, whose, clients, validation, rare, seed)


def from_lists(
    train: Sequence[tuple[ArrayLike, ArrayLike]],
    test: Sequence[tuple[ArrayLike, ArrayLike]] | None = None,
    *,
    classes: Classes = "infer",
    inputs: Affine | None = None,
    validation: float = 0.1,
    rare: int | Sequence[int] = 0,
    seed: int = 0,
    name: str = "arrays",
) -> Clients:
    """A federation of ready-made arrays: one (x, y) a client, and as many for test if there are any.

    >>> clients = from_lists([([[0.0], [1.0]], [0, 1]), ([[2.0], [3.0], [4.0]], [1, 1, 0])], validation=0)
    >>> clients.train.lengths.tolist()
    [2, 3]
    """
    _at_least_one(len(train))
    if test is not None and len(test) != len(train):
        raise DataError(f"{name}: expected one pair of test arrays a client, {len(train)}, but {len(test)} came")
    x, y, owner = _joined(train, f"{name}: the training arrays")
    held = None if test is None else _joined(test, f"{name}: the test arrays")
    data = Dataset.from_arrays(x, y, None if held is None else held[:2], classes=classes, inputs=inputs, name=name)
    return assemble(data, owner, None if held is None else held[2], len(train), validation, rare, seed)


def describe(clients: Clients) -> list[dict[str, Any]]:
    """A row a client: its id, how many examples of each kind it has, which classes it holds, and whether it is rare.

    The classes are those of its training and validation examples; None in a regression.
    """
    n_train, n_validation, n_test = (
        np.asarray(part.lengths).tolist() for part in (clients.train, clients.validation, clients.test)
    )
    held = _classes_held(clients)
    return [
        {
            "client": client,
            "n_train": n_train[client],
            "n_validation": n_validation[client],
            "n_test": n_test[client],
            "classes": None if held is None else held[client].tolist(),
            "rare": bool(rare),
        }
        for client, rare in enumerate(np.asarray(clients.rare))
    ]


def _classes_held(clients: Clients) -> list[np.ndarray] | None:
    classes = clients.classes
    if classes is None:
        return None

    def pairs(part: Flat) -> np.ndarray:  # client and class as one number
        return np.repeat(np.arange(len(clients)), np.asarray(part.lengths)) * classes + np.asarray(part.y)

    owner, kinds = np.divmod(np.unique(np.concatenate([pairs(clients.train), pairs(clients.validation)])), classes)
    return np.split(kinds, np.searchsorted(owner, np.arange(1, len(clients))))


def _rare_classes(mask: np.ndarray, wanted: Sequence[int] | None, present: np.ndarray, most: int) -> np.ndarray:
    """The classes of the rare group, none if there is no such group."""
    if not mask.any():
        if wanted is not None:
            raise RecordError(f"rare_classes={list(wanted)} came without rare clients; say how many, as in rare=3")
        return present[:0]
    if mask.all():
        raise RecordError(f"rare={mask.sum()} leaves no common client among {len(mask)}; name fewer rare clients")
    if wanted is None:
        if len(present) < 2:
            raise RecordError(f"a rare group needs classes of its own, but there is only {len(present)} class")
        return present[-min(most, len(present) - 1) :]
    chosen = np.unique(np.asarray(wanted, np.int64))
    if not chosen.size or np.setdiff1d(chosen, present).size or len(chosen) == len(present):
        raise RecordError(
            f"rare_classes={list(wanted)} must be some, not all, of the classes with training examples, "
            f"{present.tolist()}"
        )
    return chosen


def _joined(pairs: Sequence[tuple[ArrayLike, ArrayLike]], what: str) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The arrays end to end, and the owner of each row; a client without rows may have arrays of any shape."""
    arrays = [(client, np.asarray(x), np.asarray(y)) for client, (x, y) in enumerate(pairs)]
    for client, x, y in arrays:
        if x.ndim < 1 or y.ndim < 1 or len(x) != len(y):
            raise DataError(f"{what} of client {client}: expected one label a row, but x is {x.shape}, y {y.shape}")
    filled = [entry for entry in arrays if len(entry[2])]
    for client, x, y in filled:
        first, x0, y0 = filled[0]
        if x.shape[1:] != x0.shape[1:] or y.shape[1:] != y0.shape[1:]:
            raise DataError(
                f"{what} of client {client}: expected rows like client {first}'s, x {x0.shape[1:]} and "
                f"y {y0.shape[1:]}, but they are {x.shape[1:]} and {y.shape[1:]}"
            )
    if not filled:
        raise DataError(f"{what}: expected at least one example, but there is none")
    owner = np.repeat([client for client, _, _ in filled], [len(y) for _, _, y in filled])
    return np.concatenate([x for _, x, _ in filled]), np.concatenate([y for _, _, y in filled]), owner


def _owners(what: str, owners: ArrayLike, rows: int) -> np.ndarray:
    owner = np.asarray(owners)
    if owner.shape != (rows,) or (rows and owner.dtype.kind not in "iu"):
        raise DataError(f"{what} must be one integer an example, {rows} in all, but is {owner.dtype} {owner.shape}")
    return owner.astype(np.int64)


def _check_range(what: str, owner: np.ndarray, clients: int) -> None:
    if owner.size and (owner.min() < 0 or owner.max() >= clients):
        raise DataError(f"{what} must lie in 0..{clients - 1}, but spans {owner.min()}..{owner.max()}")


def _labels(data: Dataset, what: str) -> tuple[np.ndarray, int]:
    if data.classes is None:
        raise DataError(f"{data.name}: {what} needs classes, but this is a regression; use iid or quantity_skew")
    return data.train.y, data.classes


def _at_least_one(clients: int) -> None:
    if clients < 1:
        raise RecordError(f"clients={clients} must be at least 1")


def _positive(name: str, value: float) -> None:
    if not 0 < value < np.inf:
        raise RecordError(f"{name}={value} must be a positive, finite number")
