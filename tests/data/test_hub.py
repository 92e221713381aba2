"""Datasets that the Hugging Face library reads: small local ones, with the network out of reach."""

import os
from pathlib import Path

os.environ["HF_HUB_OFFLINE"] = "1"  # read when the library is imported, which the line below does

import datasets
import numpy as np
import pytest
from PIL import Image

from federage.data import hub, load, partition
from federage.errors import DamagedFile, DataError, MissingData, RecordError

ROWS = 6
WRITERS = ["ann", "bob", "ann", "cid", "bob", "ann"]
KINDS = [2, 0, 1, 2, 0, 1]


@pytest.fixture(autouse=True)
def _cache(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    """What the library unpacks goes to a folder of the test's."""
    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", tmp_path_factory.mktemp("hf"))
    datasets.disable_progress_bars()


def pixels(channels: int = 3, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).integers(0, 256, (ROWS, 4, 5, channels), np.uint8)


def pictures(images: np.ndarray) -> list[Image.Image]:
    return [Image.fromarray(image.squeeze(-1) if image.shape[-1] == 1 else image) for image in images]


def of_images(images: np.ndarray, **more: list[object]) -> datasets.Dataset:
    """Images with named classes and writers; .png keeps every byte."""
    columns = {"image": pictures(images), "label": KINDS, "writer": WRITERS} | more
    return (
        datasets.Dataset.from_dict(columns)
        .cast_column("image", datasets.Image())
        .cast_column("label", datasets.ClassLabel(names=["a", "b", "c", "never seen"]))
    )


def of_numbers(**columns: object) -> datasets.Dataset:
    return datasets.Dataset.from_dict(columns)


def saved(rows: datasets.Dataset, folder: Path) -> Path:
    """A folder with these rows as its only split."""
    rows.save_to_disk(folder / "saved")
    return folder / "saved"


@pytest.mark.parametrize("channels", [1, 3])
@pytest.mark.parametrize("form", ["parquet", "saved"])
def test_images_come_back_byte_by_byte_with_their_classes_and_groups(tmp_path, form, channels):
    train, test = pixels(channels), pixels(channels, seed=1)
    both = datasets.DatasetDict(train=of_images(train), test=of_images(test))
    if form == "saved":
        both.save_to_disk(tmp_path / "faces")
    else:
        (tmp_path / "faces").mkdir()
        for split, rows in both.items():
            rows.to_parquet(tmp_path / "faces" / f"{split}-00000.parquet")
    data = hub.read(tmp_path / "faces", group="writer")
    assert data.name == "faces"
    assert data.train.x.dtype == np.uint8
    np.testing.assert_array_equal(data.train.x, train)
    np.testing.assert_array_equal(data.train.y, KINDS)
    assert data.classes == 4  # as many as have names, and not as occur
    assert data.test is not None
    np.testing.assert_array_equal(data.test.x, test)
    assert data.groups is not None
    assert data.groups.train.tolist() == WRITERS
    assert data.groups.test is not None
    assert [int(n) for n in partition.by_group(data, validation=0).train.lengths] == [3, 2, 1]


def test_a_model_sees_the_training_images_standardised(tmp_path):
    images = pixels()
    images[..., 1] = 7  # a constant channel has no deviation to divide by
    data = hub.read(saved(of_images(images), tmp_path), inputs=["image"])
    seen = np.asarray(data.inputs(data.train.x)).reshape(-1, 3)
    np.testing.assert_allclose(seen.mean(0), 0, atol=1e-5)
    np.testing.assert_allclose(seen.std(0), [1, 0, 1], atol=1e-5)


def test_the_digits_through_the_library_are_the_digits(tmp_path):
    """8 x 8 digits with values 0..16: the same bytes, and the same inputs as those of the embedded dataset."""
    digits = load("digits")
    assert digits.test is not None
    for name, (x, y) in {"train": digits.train, "test": digits.test}.items():
        of_numbers(image=pictures(x), label=y.tolist()).cast_column("image", datasets.Image()).to_parquet(
            tmp_path / f"{name}.parquet"
        )
    data = hub.read(tmp_path)
    assert (data.classes, data.test is not None) == (10, True)
    np.testing.assert_array_equal(data.train.x, digits.train.x)
    np.testing.assert_allclose(data.inputs(data.train.x), digits.inputs(digits.train.x), atol=2e-3)


def test_numbers_and_lists_of_numbers_are_laid_side_by_side(tmp_path):
    rows = of_numbers(
        age=[30, 40],
        pixels=[[[0.5, 1.5], [2.5, 3.5]], [[4.5, 5.5], [6.5, 7.5]]],
        smokes=[True, False],
        label=[0.25, 0.75],
    )
    data = hub.read(saved(rows, tmp_path))
    assert data.classes is None
    assert data.train.x.dtype == np.float32
    np.testing.assert_array_equal(data.train.x, [[30, 0.5, 1.5, 2.5, 3.5, 1], [40, 4.5, 5.5, 6.5, 7.5, 0]])
    np.testing.assert_array_equal(data.train.y, np.float32([0.25, 0.75]))
    alone = hub.read(saved(rows, tmp_path / "again"), inputs=["pixels"], label="smokes")
    assert alone.train.x.shape == (2, 2, 2)  # one column keeps its shape
    assert alone.classes == 2


@pytest.mark.parametrize(
    "kind", [datasets.Array2D((2, 3), "int64"), datasets.List(datasets.List(datasets.Value("float16"), 3), 2)]
)
def test_every_kind_of_list_keeps_its_order(tmp_path, kind):
    values = np.arange(12).reshape(2, 2, 3)
    rows = datasets.Dataset.from_dict(
        {"x": values.tolist(), "label": [0, 1]}, datasets.Features(x=kind, label=datasets.Value("int64"))
    )
    data = hub.read(saved(rows, tmp_path))
    assert data.train.x.dtype.kind == "f"
    np.testing.assert_array_equal(data.train.x, values)


@pytest.mark.parametrize("form", ["csv", "json"])
def test_a_single_file_is_read_and_cut_into_train_and_test(tmp_path, form):
    file = tmp_path / f"hearts.{form}"
    rows = of_numbers(x=list(range(10)), kind=[0, 1] * 5)
    rows.to_csv(file) if form == "csv" else rows.to_json(file)
    data = hub.read(file, split="train[:80%]", test_split="train[80%:]", label="kind")
    assert data.name == "hearts"
    assert data.train.x[:, 0].tolist() == list(range(8))
    assert data.test is not None
    assert data.test.x[:, 0].tolist() == [8, 9]


def test_the_test_split_is_taken_where_there_is_one_and_not_wanted_away(tmp_path):
    rows = of_numbers(x=KINDS, label=KINDS)
    datasets.DatasetDict(train=rows, test=rows).save_to_disk(tmp_path / "both")
    assert hub.read(tmp_path / "both").test is not None
    assert hub.read(tmp_path / "both", test_split="").test is None
    assert hub.read(tmp_path / "both", split="train+test").train.x.shape == (2 * ROWS, 1)
    assert hub.read(saved(rows, tmp_path)).test is None


def test_pictures_with_a_palette_show_their_colours_and_black_and_white_ones_are_bytes(tmp_path):
    colours = np.zeros((ROWS, 4, 5, 3), np.uint8)
    colours[:, ::2] = (200, 30, 40)
    folded = [picture.convert("P", palette=Image.Palette.ADAPTIVE) for picture in pictures(colours)]
    rows = of_numbers(image=folded, label=KINDS).cast_column("image", datasets.Image())
    np.testing.assert_array_equal(hub.read(saved(rows, tmp_path)).train.x, colours)
    masks = [picture.convert("1") for picture in pictures(np.uint8(255) * (pixels(1) > 127))]
    rows = of_numbers(image=masks, label=KINDS).cast_column("image", datasets.Image())
    x = hub.read(saved(rows, tmp_path / "masks")).train.x
    np.testing.assert_array_equal(x, 255 * (pixels(1) > 127))


def mixed() -> list[Image.Image]:
    return [*pictures(pixels())[:-1], Image.new("RGB", (9, 9))]


@pytest.mark.parametrize(
    ("columns", "arguments", "words"),
    [
        ({"image": mixed()}, {}, r"row 5: expected images of one shape, \(4, 5, 3\).*\(9, 9, 3\); resize"),
        ({"image": [Image.new("I;16", (4, 4))] * ROWS}, {}, "8 bits a channel, but its mode is I;16"),
        ({"image": [*pictures(pixels())[:-1], None]}, {}, "row 5: expected an image .* there is none"),
        ({"image": pictures(pixels()), "x": KINDS}, {}, "one column of images.*'image' is Image"),
        ({"x": list("abcdef")}, {}, "inputs of numbers.*'x' is Value"),
        ({"x": [1.0, 2.0, None, 4.0, 5.0, 6.0]}, {}, "column 'x': expected a value .* row 2"),
        ({"x": [True, False, None, True, True, True]}, {}, "row 2"),
        ({"x": [[1, 2], [3, 4], [5, None], [1, 2], [1, 2], [1, 2]]}, {}, "row 2"),
        ({"x": [[1, 2], [3]] * 3}, {}, r"one length, but they are \[1, 2\] long"),
        ({"x": KINDS}, {"label": "kind"}, "column 'kind', but the columns are .* with label"),
        ({"x": KINDS}, {"inputs": ["y"]}, "column 'y'.* with inputs"),
        ({"x": KINDS}, {"group": "who"}, "column 'who'.* with group"),
        ({"x": KINDS}, {"inputs": ["x", "label"]}, "inputs beside the label 'label'"),
        ({}, {}, "inputs beside the label"),
        ({"x": KINDS, "who": [*WRITERS[:-1], None]}, {"group": "who"}, "column 'who': .* row 5"),
        ({"x": KINDS, "who": [[1]] * ROWS}, {"group": "who"}, "group ids of words or numbers"),
        ({"x": KINDS, "kind": WRITERS}, {"label": "kind", "inputs": ["x"]}, "labels of numbers.*encode"),
        ({"x": KINDS}, {"split": "validation"}, "'validation' to name some of its splits, train, but"),
        ({"x": KINDS}, {"split": "train[:150%]"}, "split='train"),
        ({"x": KINDS}, {"split": "train[2:2]"}, "at least one example"),
        ({"x": KINDS}, {"test_split": "test"}, "test_split='test' to name some"),
    ],
)  # fmt: skip
def test_what_no_federation_can_be_made_of_is_named(tmp_path, columns, arguments, words):
    rows = of_numbers(**columns, label=KINDS)
    if "image" in columns:
        rows = rows.cast_column("image", datasets.Image())
    with pytest.raises(DataError, match=words) as caught:
        hub.read(saved(rows, tmp_path), **arguments)
    assert str(tmp_path) in str(caught.value)
    assert "\n" not in str(caught.value)


def test_withheld_labels_and_unlike_splits_are_named(tmp_path):
    train = of_images(pixels())
    unnamed = train.map(lambda row: {"label": -1}, features=train.features)
    datasets.DatasetDict(train=train, test=unnamed).save_to_disk(tmp_path / "withheld")
    with pytest.raises(DataError, match="'test': expected a label for every example"):
        hub.read(tmp_path / "withheld", inputs=["image"])
    other = train.cast_column("label", datasets.ClassLabel(names=["c", "b", "a", "never seen"]))
    datasets.DatasetDict(train=train, test=other).save_to_disk(tmp_path / "unlike")
    with pytest.raises(DamagedFile, match=r"'test': expected the columns of .*'train'.*'label'"):
        hub.read(tmp_path / "unlike", inputs=["image"])


def test_what_is_not_there_or_broken_is_one_sentence(tmp_path):
    for nowhere in (tmp_path / "none", "nobody/nothing"):
        with pytest.raises(MissingData, match=f"{nowhere}: expected a folder of data, or the name") as caught:
            hub.read(nowhere)
        assert "\n" not in str(caught.value)
    (tmp_path / "bad").mkdir()
    (tmp_path / "bad" / "train.parquet").write_bytes(b"PAR1 and then nothing")
    with pytest.raises(DamagedFile, match="Parquet"):
        hub.read(tmp_path / "bad")
    with pytest.raises(RecordError, match="config='small' does not fit"):
        hub.read(saved(of_numbers(x=KINDS), tmp_path), config="small")


def test_an_image_that_cannot_be_decoded_is_found(tmp_path):
    encoded = [{"bytes": b"not an image", "path": None}] * 2
    rows = datasets.Dataset.from_dict(
        {"image": encoded, "label": [0, 1]},
        datasets.Features(image=datasets.Image(decode=False), label=datasets.Value("int64")),
    )
    with pytest.raises(DamagedFile, match="column 'image', row 0: expected a readable image"):
        hub.read(saved(rows, tmp_path))
