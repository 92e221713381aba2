import numpy as np
import pytest

from federage.core.types import Affine
from federage.data import Dataset
from federage.errors import DamagedFile, DataError, MissingData, RecordError

X = np.arange(12, dtype=np.float32).reshape(6, 2)
Y = np.array([0, 1, 2, 0, 1, 2])


def test_small_dtypes_are_kept_and_wide_ones_become_what_jax_holds():
    for given, kept in (("uint8", "uint8"), ("float16", "float16"), ("float64", "float32"), ("int64", "int32")):
        assert Dataset.from_arrays(X.astype(given), Y).train.x.dtype == kept


@pytest.mark.parametrize(
    ("y", "classes", "expected"),
    [
        (Y, "infer", 3),
        (Y, 5, 5),
        (Y.astype(float), "infer", None),
        (Y.astype(float), 3, 3),
        (Y, None, None),
        (Y > 1, "infer", 2),
    ],
)
def test_classes_are_what_was_said_or_what_integer_labels_say(y, classes, expected):
    data = Dataset.from_arrays(X, y, classes=classes)
    assert data.classes == expected
    assert data.train.y.dtype.kind == ("f" if expected is None else "i")


def test_classes_are_inferred_from_the_test_labels_too():
    assert Dataset.from_arrays(X, Y, (X, Y + 1)).classes == 4


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"x": X[:5], "y": Y}, "as many labels as inputs"),
        ({"x": X[:0], "y": Y[:0]}, "at least one"),
        ({"x": np.where(X == 3, np.nan, X), "y": Y}, "row 1"),
        ({"x": X.astype(float) * 1e38 * 10, "y": Y}, "finite in float32"),
        ({"x": X.astype(np.int64) << 33, "y": Y}, "32 bits"),
        ({"x": np.array(["a"] * 6), "y": Y}, "encode"),
        ({"x": X, "y": 2 * (Y % 2) - 1}, r"\(y \+ 1\) // 2"),
        ({"x": X, "y": Y, "classes": 2}, r"0\.\.1"),
        ({"x": X, "y": Y + 0.5, "classes": 4}, "whole numbers"),
        ({"x": X, "y": np.array(list("abcabc"))}, "number the classes"),
        ({"x": X, "y": Y[:, None]}, "one integer a row"),
        ({"x": X, "y": np.full(6, np.inf)}, "finite"),
        ({"x": X, "y": Y, "test": (X[:, :1], Y)}, "shape both alike"),
        ({"x": X, "y": Y, "groups": Y[:3]}, "one group id each"),
        ({"x": X, "y": Y, "test_groups": Y}, "without groups"),
        ({"x": X, "y": Y, "inputs": Affine(np.ones(3), 0.0)}, "broadcast"),
        ({"x": X, "y": Y, "inputs": Affine(np.nan, 0.0)}, "finite"),
    ],
)
def test_arrays_that_do_not_fit_are_refused_in_words(arguments, words):
    with pytest.raises(DataError, match=words):
        Dataset.from_arrays(**arguments)


def test_a_number_of_classes_must_be_positive():
    with pytest.raises(RecordError, match="classes=0"):
        Dataset.from_arrays(X, Y, classes=0)


def test_csv_finds_label_and_group_by_name(tmp_path):
    path = tmp_path / "flowers.csv"
    path.write_text("width, kind ,who,height\n1.5,0,ann,2\n2.5,1,bob,3\n\n3.5,1,ann,4\n")
    data = Dataset.from_csv(path, "kind", test=path, group="who")
    assert data.name == "flowers"
    assert data.classes == 2
    np.testing.assert_array_equal(data.train.x, [[1.5, 2], [2.5, 3], [3.5, 4]])
    assert data.groups is not None
    assert data.groups.train.tolist() == ["ann", "bob", "ann"]
    assert data.test is not None
    assert Dataset.from_csv(path, "width", group="who").classes is None


def test_csv_labels_that_are_words_are_classes_in_alphabetical_order(tmp_path):
    (tmp_path / "train.csv").write_text("x,kind\n1,virginica\n2,setosa\n3,virginica\n4,versicolor\n")
    (tmp_path / "test.csv").write_text("x,kind\n1,setosa\n2,virginica\n")
    data = Dataset.from_csv(tmp_path / "train.csv", "kind", tmp_path / "test.csv")
    assert data.classes == 3
    assert data.train.y.tolist() == [2, 0, 2, 1]
    assert data.test is not None
    assert data.test.y.tolist() == [0, 2]
    (tmp_path / "test.csv").write_text("x,kind\n1,setosa\n2,rosa\n")
    with pytest.raises(
        DamagedFile, match=r"test\.csv: expected labels among setosa, versicolor, virginica, but 'rosa'"
    ):
        Dataset.from_csv(tmp_path / "train.csv", "kind", tmp_path / "test.csv")
    (tmp_path / "train.csv").write_text("x,kind\n1,0\n2,1\n")
    with pytest.raises(DamagedFile, match=r"test\.csv: expected numbers as labels"):
        Dataset.from_csv(tmp_path / "train.csv", "kind", tmp_path / "test.csv")


@pytest.mark.parametrize(
    ("fraction", "kept"),
    [(0.25, {"a": 6, "b": 3, "c": 1}), (0.5, {"a": 4, "b": 2, "c": 1}), (0.9, {"a": 1, "b": 1, "c": 1})],
)
def test_a_test_split_is_held_out_evenly_over_groups(fraction, kept):
    groups = ["a"] * 8 + ["b"] * 4 + ["c"]
    data = Dataset.from_arrays(np.arange(13)[:, None], np.zeros(13), groups=groups, classes=None)
    cut = data.with_held_out_test(fraction)
    assert cut.groups is not None
    assert {name: int((cut.groups.train == name).sum()) for name in "abc"} == kept
    assert cut.test is not None
    assert cut.groups.test is not None
    whole = np.concatenate([cut.train.x, cut.test.x]).ravel()
    assert sorted(whole.tolist()) == list(range(13))
    again = data.with_held_out_test(fraction)
    np.testing.assert_array_equal(again.train.x, cut.train.x)
    assert all(groups[int(row)] == name for row, name in zip(cut.test.x.ravel(), cut.groups.test, strict=True))


def test_inputs_are_scaled_by_the_training_examples():
    rng = np.random.default_rng(0)
    data = Dataset.from_arrays(rng.normal(3, 5, (50, 2)) * [1, 0], rng.integers(0, 2, 50)).standardised()
    x = np.asarray(data.inputs(data.train.x))
    np.testing.assert_allclose(x[:, 0].mean(), 0, atol=1e-6)
    np.testing.assert_allclose(x[:, 0].std(), 1, rtol=1e-6)
    np.testing.assert_array_equal(x[:, 1], 0)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "one column 'y'"),
        ("x,y\n", "at least one example"),
        ("x,z\n1,2\n", "one column 'y'"),
        ("x,y\n1,2,3\n", "example 1: expected 2 values"),
        ("x,y\n1,2\nred,3\n", "column 'x'.*'red'"),
        ("x,y\n1,2\n2,red\n", "column 'y'.*'red'"),
        ("y\n1\n", "column of inputs"),
    ],
)
def test_a_faulty_csv_is_named_with_its_fault(tmp_path, text, words):
    path = tmp_path / "data.csv"
    path.write_text(text)
    with pytest.raises(DamagedFile, match=words) as caught:
        Dataset.from_csv(path, "y")
    assert str(path) in str(caught.value)


def test_a_csv_that_is_not_there_or_not_text(tmp_path):
    with pytest.raises(MissingData, match="no such file"):
        Dataset.from_csv(tmp_path / "none.csv", "y")
    (tmp_path / "data.csv").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(DamagedFile, match="UTF-8"):
        Dataset.from_csv(tmp_path / "data.csv", "y")


def test_npz_gives_back_what_was_saved(tmp_path):
    path = tmp_path / "data.npz"
    np.savez(path, x=X, y=Y, x_test=X, y_test=Y, groups=Y, groups_test=Y)
    data = Dataset.from_npz(path)
    np.testing.assert_array_equal(data.train.x, X)
    assert data.classes == 3
    assert data.groups is not None
    assert data.test is not None


def test_npz_never_unpickles_and_names_what_is_missing(tmp_path):
    path = tmp_path / "data.npz"
    np.savez(path, x=np.array([object()] * 6), y=Y)
    with pytest.raises(DamagedFile, match="plain arrays"):
        Dataset.from_npz(path)
    np.savez(path, x=X, y=Y, x_test=X)
    with pytest.raises(DamagedFile, match="y_test"):
        Dataset.from_npz(path)
    path.write_bytes(b"not a zip file")
    with pytest.raises(DamagedFile, match="plain arrays"):
        Dataset.from_npz(path)
    with pytest.raises(MissingData):
        Dataset.from_npz(tmp_path / "none.npz")
