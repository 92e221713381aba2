from collections import Counter

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from federage.core.types import Clients, Flat
from federage.data import Dataset, partition
from federage.errors import DataError, RecordError

examples = settings(max_examples=60, deadline=None)


def rows_of(part: Flat, client: int) -> np.ndarray:
    """The row numbers that a client holds: the datasets here have them as inputs."""
    start, length = int(part.offsets[client]), int(part.lengths[client])
    return np.asarray(part.x[start : start + length, 0]).astype(int)


def numbered(y: np.ndarray, y_test: np.ndarray | None = None, classes: int | None = None) -> Dataset:
    def x(labels: np.ndarray) -> np.ndarray:
        return np.arange(len(labels), dtype=np.float32)[:, None]

    test = None if y_test is None else (x(y_test), y_test)
    return Dataset.from_arrays(x(y), y, test, classes=classes if classes else "infer")


@st.composite
def datasets(draw: st.DrawFn) -> Dataset:
    classes = draw(st.integers(1, 6))
    y = draw(st.lists(st.integers(0, classes - 1), min_size=1, max_size=120))
    y_test = draw(st.lists(st.integers(0, classes - 1), min_size=1, max_size=60) | st.none())
    return numbered(np.array(y), None if y_test is None else np.array(y_test), classes)


def check_federation(data: Dataset, clients: Clients, validation: float) -> None:
    """What every partition promises."""
    n = len(clients)
    seen = []
    for part in (clients.train, clients.validation, clients.test):
        lengths, offsets = np.asarray(part.lengths), np.asarray(part.offsets)
        assert lengths.dtype == offsets.dtype == np.int32
        assert len(lengths) == len(offsets) == n
        np.testing.assert_array_equal(offsets, np.cumsum(lengths) - lengths)
        assert len(part.x) == len(part.y) == lengths.sum()
        assert part.x.dtype == data.train.x.dtype
        seen.append(np.asarray(part.x[:, 0]).astype(int))
    for part, source in ((clients.train, data.train), (clients.validation, data.train), (clients.test, data.test)):
        if source is not None:  # labels stay with their inputs
            rows = np.asarray(part.x[:, 0]).astype(int)
            np.testing.assert_array_equal(np.asarray(part.y), source.y[rows])
    # Nothing in two places, nothing lost.
    np.testing.assert_array_equal(np.sort(np.concatenate(seen[:2])), np.arange(len(data.train.y)))
    owned = np.asarray(clients.train.lengths) + np.asarray(clients.validation.lengths)
    assert (np.asarray(clients.train.lengths) >= 1).all()
    expected = np.minimum(np.maximum(np.rint(validation * owned), 1), owned - 1) if validation else 0 * owned
    np.testing.assert_array_equal(clients.validation.lengths, expected)


def class_table(data: Dataset, clients: Clients, *kinds: str) -> np.ndarray:
    """[clients, classes] counts over the named parts."""
    table = np.zeros((len(clients), data.classes or 1), int)
    for kind in kinds:
        part = getattr(clients, kind)
        owner = np.repeat(np.arange(len(clients)), np.asarray(part.lengths))
        np.add.at(table, (owner, np.asarray(part.y)), 1)
    return table


def check_same_rule(data: Dataset, clients: Clients) -> None:
    """Validation and test have the class mix of training, each count to within one example."""
    owned = class_table(data, clients, "train", "validation")
    held = class_table(data, clients, "validation")
    share = owned * held.sum(1, keepdims=True) / owned.sum(1, keepdims=True)
    assert (np.abs(held - share) < 1).all()
    if data.test is not None:
        table = class_table(data, clients, "test")
        total, available = owned.sum(0), np.bincount(data.test.y, minlength=data.classes or 1)
        np.testing.assert_array_equal(table.sum(0), np.where(total > 0, available, 0))
        assert (np.abs(table - owned * available / np.maximum(total, 1)) < 1).all()
        tested = np.sort(np.asarray(clients.test.x[:, 0]).astype(int))
        np.testing.assert_array_equal(tested, np.flatnonzero(total[data.test.y] > 0))


def needed(least: int, validation: float) -> int:
    """The fewest examples of which `least` are left when validation is held out."""
    size = least
    while size - (min(max(round(validation * size), 1), size - 1) if validation else 0) < least:
        size += 1
    return size


fractions = st.sampled_from([0.0, 0.1, 0.3, 0.9])


@examples
@given(datasets(), st.integers(1, 20), fractions, st.integers(0, 5))
def test_iid(data, n, validation, seed):
    if n > len(data.train.y):
        with pytest.raises(DataError, match=r"client \d+ "):
            partition.iid(data, n, validation=validation, seed=seed)
        return
    clients = partition.iid(data, n, validation=validation, seed=seed)
    check_federation(data, clients, validation)
    check_same_rule(data, clients)
    owned = np.asarray(clients.train.lengths) + np.asarray(clients.validation.lengths)
    assert owned.max() - owned.min() <= 1


@examples
@given(datasets(), st.integers(1, 12), st.integers(1, 4), st.integers(0, 3), fractions, st.integers(0, 5))
def test_by_class(data, n, k, rare, validation, seed):
    present = np.unique(data.train.y)
    special = present[-min(k, len(present) - 1) :] if rare else present[:0]
    common = len(present) - len(special)
    if (rare and (rare >= n or len(present) < 2)) or (n - rare) * min(k, common) < common:
        with pytest.raises(RecordError, match=r"rare|cannot hold"):
            partition.by_class(data, n, k, rare=rare, validation=validation, seed=seed)
        return
    try:
        clients = partition.by_class(data, n, k, rare=rare, validation=validation, seed=seed)
    except DataError:  # a client can only come away empty if it holds a class with fewer examples than holders
        assert np.bincount(data.train.y)[present].min() < n
        return
    check_federation(data, clients, validation)
    check_same_rule(data, clients)
    table = class_table(data, clients, "train", "validation")
    assert ((table > 0).sum(1) <= k).all()
    if rare:
        assert not table[: n - rare, special].any()
        assert not np.delete(table[n - rare :], special, 1).any()
        np.testing.assert_array_equal(clients.rare, np.arange(n) >= n - rare)
    for kind in present:  # dealt evenly: the holders of a class have as much as each other
        counts = table[:, kind][table[:, kind] > 0]
        assert counts.max() - counts.min() <= 1


@pytest.mark.parametrize(("n", "k"), [(30, 2), (7, 3), (100, 1), (10, 4), (5, 10)])
def test_every_class_has_as_many_holders_as_any_other(n, k):
    data = numbered(np.arange(4000) % 10)
    clients = partition.by_class(data, n, k)
    held = class_table(data, clients, "train", "validation") > 0
    assert (held.sum(1) == k).all()
    assert held.sum(0).max() - held.sum(0).min() <= 1


def test_the_papers_federation():
    data = numbered(np.arange(6000) % 10, np.arange(1000) % 10)
    clients = partition.by_class(data, 30, rare=3)
    rows = partition.describe(clients)
    assert [row["client"] for row in rows if row["rare"]] == [27, 28, 29]
    assert all(row["classes"] == [8, 9] for row in rows[27:])
    assert all(len(row["classes"]) == 2 and max(row["classes"]) < 8 for row in rows[:27])
    assert sum(row["n_test"] for row in rows) == 1000
    pairs = Counter(tuple(row["classes"]) for row in rows[:27])
    assert len(pairs) > 4  # not the same few pairs over and over


def test_a_rare_group_of_ones_own_choice():
    data = numbered(np.arange(600) % 10)
    clients = partition.by_class(data, 12, rare=[0, 5], rare_classes=[1, 7, 3])
    rows = partition.describe(clients)
    assert set(rows[0]["classes"]) | set(rows[5]["classes"]) == {1, 3, 7}
    assert [row["client"] for row in rows if {1, 3, 7} & set(row["classes"])] == [0, 5]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"clients": 4}, "4 common clients with at most 2 classes each cannot hold 10.*at least 3"),
        ({"clients": 10, "rare": 1, "rare_classes": [1, 2, 3]}, "1 rare clients .* cannot hold 3"),
        ({"clients": 10, "rare": 10}, "no common client"),
        ({"clients": 10, "rare": 11}, "rare=11"),
        ({"clients": 10, "rare": -1}, "rare=-1"),
        ({"clients": 10, "rare": [1, 1]}, "different client ids"),
        ({"clients": 10, "rare": [10]}, "different client ids"),
        ({"clients": 10, "rare": 2, "rare_classes": [11]}, "some, not all"),
        ({"clients": 10, "rare": 2, "rare_classes": list(range(10))}, "some, not all"),
        ({"clients": 10, "rare_classes": [1]}, "without rare clients"),
        ({"clients": 0}, "clients=0"),
        ({"clients": 10, "classes_per_client": 0}, "classes_per_client=0"),
        ({"clients": 10, "validation": 1.0}, "validation=1.0"),
        ({"clients": 10, "seed": -1}, "seed=-1"),
    ],
)
def test_by_class_says_what_is_wrong_and_what_to_do(arguments, words):
    with pytest.raises(RecordError, match=words):
        partition.by_class(numbered(np.arange(100) % 10), **arguments)


@examples
@given(
    datasets(),
    st.integers(1, 12),
    st.sampled_from([1e-5, 0.1, 1.0, 1e5]),
    st.integers(1, 4),
    fractions,
    st.integers(0, 5),
)
def test_dirichlet(data, n, concentration, least, validation, seed):
    if len(data.train.y) < n * needed(least, validation):
        with pytest.raises(DataError, match="smaller least"):
            partition.dirichlet(data, n, concentration, least=least, validation=validation, seed=seed)
        return
    clients = partition.dirichlet(data, n, concentration, least=least, validation=validation, seed=seed)
    check_federation(data, clients, validation)
    check_same_rule(data, clients)
    assert np.asarray(clients.train.lengths).min() >= least


def test_a_small_concentration_separates_classes_and_a_large_one_mixes_them():
    data = numbered(np.arange(10_000) % 10)

    def classes_held(concentration: float) -> float:
        table = class_table(data, partition.dirichlet(data, 20, concentration), "train")
        share = table / table.sum(1, keepdims=True)
        return float((1 / (share**2).sum(1)).mean())  # the effective number of classes a client

    few, some, many = map(classes_held, (0.01, 0.5, 1000))
    assert few < 2 < some < 9 < many


@examples
@given(datasets(), st.integers(1, 12), st.sampled_from([0.0, 1.0, 3.0]), st.integers(1, 3), st.booleans())
def test_quantity_skew(data, n, power, least, by_power):
    how = {"power": power} if by_power else {"concentration": power + 0.1}
    if len(data.train.y) < n * needed(least, 0.1):
        with pytest.raises(DataError, match="smaller least"):
            partition.quantity_skew(data, n, least=least, **how)
        return
    clients = partition.quantity_skew(data, n, least=least, **how)
    check_federation(data, clients, 0.1)
    check_same_rule(data, clients)
    assert np.asarray(clients.train.lengths).min() >= least


def test_sizes_follow_the_power_law():
    clients = partition.quantity_skew(numbered(np.arange(10_000) % 10), 10, power=1.0, validation=0)
    expected = 10_000 / np.arange(1, 11) / (1 / np.arange(1, 11)).sum()
    assert np.abs(np.asarray(clients.train.lengths) - expected).max() < 1


def test_by_group_gives_each_writer_its_own_examples(toy):
    clients = partition.by_group(toy, validation=0.25)
    check_federation_of_toy(clients)
    for client in range(5):
        own = np.concatenate([rows_of(clients.train, client), rows_of(clients.validation, client)])
        assert sorted(own) == list(range(8 * client, 8 * client + 8))
        assert rows_of(clients.test, client).tolist() == [1000 + 4 * client + i for i in range(4)]


def check_federation_of_toy(clients: Clients) -> None:
    assert len(clients) == 5
    np.testing.assert_array_equal(clients.validation.lengths, 2)
    np.testing.assert_array_equal(clients.train.lengths, 6)


def test_by_group_without_groups_or_with_strangers(toy):
    with pytest.raises(DataError, match="pass groups="):
        partition.by_group(numbered(np.arange(4)))
    strange = Dataset.from_arrays([[0.0], [1.0]], [0, 1], ([[0.0]], [0]), groups=["a", "b"], test_groups=["c"])
    with pytest.raises(DataError, match="'c'"):
        partition.by_group(strange)
    dealt = Dataset.from_arrays([[0.0], [1.0]], [0, 1], ([[0.0]], [1]), groups=["a", "b"])
    np.testing.assert_array_equal(partition.by_group(dealt).test.lengths, [0, 1])


@examples
@given(datasets(), st.integers(1, 8), fractions, st.data())
def test_from_assignment(data, n, validation, draw):
    rows = len(data.train.y)
    owner = np.array(draw.draw(st.lists(st.integers(0, n - 1), min_size=rows, max_size=rows)))
    if len(np.unique(owner)) < n:
        empty = np.setdiff1d(np.arange(n), owner)[0]
        with pytest.raises(DataError, match=f"client {empty} "):
            partition.from_assignment(data, owner, clients=n)
        return
    clients = partition.from_assignment(data, owner, clients=n, validation=validation)
    check_federation(data, clients, validation)
    check_same_rule(data, clients)
    for client in range(n):
        own = np.concatenate([rows_of(clients.train, client), rows_of(clients.validation, client)])
        np.testing.assert_array_equal(np.sort(own), np.flatnonzero(owner == client))


def test_from_assignment_follows_the_test_owners_and_refuses_nonsense(toy):
    clients = partition.from_assignment(toy, (np.arange(40) % 3).astype(np.uint8), np.arange(20) // 10)
    np.testing.assert_array_equal(clients.test.lengths, [10, 10, 0])
    for owner, words in (
        (np.arange(39), "one integer an example"),
        (np.arange(40) / 2, "one integer an example"),
        (np.arange(40) - 1, r"0\.\.38"),
    ):
        with pytest.raises(DataError, match=words):
            partition.from_assignment(toy, owner)
    with pytest.raises(DataError, match="test_owner"):
        partition.from_assignment(toy, np.arange(40) % 3, np.full(20, 3))


def test_from_lists_keeps_each_clients_arrays():
    lists = [(np.full((n, 2), n, np.uint8), np.arange(n) % 2) for n in (3, 1, 5)]
    test = [([[1, 2]], [1]), ([], []), ([[3, 4], [5, 6]], [0, 0])]
    clients = partition.from_lists(lists, test, validation=0, rare=[1], name="mine")
    np.testing.assert_array_equal(clients.train.lengths, [3, 1, 5])
    np.testing.assert_array_equal(clients.train.x[:, 0], [3, 3, 3, 1, 5, 5, 5, 5, 5])
    np.testing.assert_array_equal(clients.test.lengths, [1, 0, 2])
    assert clients.train.x.dtype == np.uint8
    assert clients.train.y.dtype == np.int32
    assert (clients.classes, clients.name) == (2, "mine")
    assert clients.rare.tolist() == [False, True, False]


@pytest.mark.parametrize(
    ("train", "test", "words"),
    [
        ([([[1.0]], [0]), ([], [])], None, "client 1 has none"),
        ([([], []), ([], [])], None, "at least one example"),
        ([([[1.0]], [0]), ([[1.0, 2.0]], [0])], None, "client 1.*client 0"),
        ([([[1.0]], [0, 1])], None, "client 0.*one label a row"),
        ([([[1.0]], [0])], [], "one pair of test arrays"),
    ],
)
def test_from_lists_names_the_client_at_fault(train, test, words):
    with pytest.raises(DataError, match=words):
        partition.from_lists(train, test)


def test_regressions_are_dealt_without_classes():
    x, y = np.arange(50.0)[:, None], np.linspace(0, 1, 50)
    data = Dataset.from_arrays(x, y, (x, y))
    clients = partition.iid(data, 5)
    assert clients.train.y.dtype == np.float32
    assert clients.classes is None
    np.testing.assert_array_equal(clients.test.lengths, 10)
    assert partition.describe(clients)[0]["classes"] is None
    for rule in (partition.by_class, partition.dirichlet):
        with pytest.raises(DataError, match="needs classes"):
            rule(data, 5)


@pytest.mark.parametrize(
    ("rule", "how", "words"),
    [
        (partition.dirichlet, {"concentration": 0}, "concentration=0"),
        (partition.dirichlet, {"concentration": np.inf}, "concentration=inf"),
        (partition.dirichlet, {"least": 0}, "least=0"),
        (partition.dirichlet, {"validation": -0.1}, "validation=-0.1"),
        (partition.quantity_skew, {}, "one of power=None"),
        (partition.quantity_skew, {"power": 1.0, "concentration": 1.0}, "one of power=1.0"),
        (partition.quantity_skew, {"power": -1.0}, "power=-1.0"),
    ],
)
def test_records_outside_their_domain(toy, rule, how, words):
    with pytest.raises(RecordError, match=words):
        rule(toy, 4, **how)


@pytest.mark.parametrize(
    "rule",
    [
        partition.iid,
        partition.by_class,
        partition.dirichlet,
        lambda data, n, seed: partition.quantity_skew(data, n, power=1.0, seed=seed),
    ],
)
def test_a_seed_gives_one_partition_and_another_seed_another(rule):
    data = numbered(np.arange(400) % 10, np.arange(100) % 10)
    first, again, other = (rule(data, 10, seed=seed) for seed in (1, 1, 2))
    assert jax.tree.all(jax.tree.map(lambda a, b: bool((a == b).all()), first, again))
    assert not np.array_equal(first.train.x, other.train.x)


def test_clients_cross_a_jit_boundary_and_inputs_travel_with_them(toy):
    clients = partition.iid(toy, 4)
    assert all(isinstance(leaf, jax.Array) for leaf in jax.tree.leaves(clients))
    total = jax.jit(lambda c: jnp.sum(c.inputs(c.train.x)))(clients)
    assert float(total) == float(clients.train.x.sum())


def test_a_million_clients():
    n = 1_000_000
    data = Dataset.from_arrays(np.zeros((n, 1), np.uint8), np.arange(n) % 10)
    clients = partition.iid(data, n)
    assert len(clients) == n
    assert int(clients.train.lengths.sum()) == n
