"""What the downloadable datasets are: files, digests, mirrors and numbers.

The digests are those of the canonical files after decompression, so that a .gz and a plain copy are the same file.
Means and standard deviations are those of the training images with pixels in [0, 1], to four digits.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

import jax.numpy as jnp
import numpy as np

from federage import errors
from federage.core.types import Affine
from federage.data import formats
from federage.data.dataset import Examples
from federage.data.formats import Contents
from federage.errors import RecordError

PerChannel = float | tuple[float, ...]


@dataclass(frozen=True)
class Spec:
    """A dataset of named files.

    Args:
      name: its name, and that of its folder.
      files: the SHA-256 of each file's decompressed contents, by file name.
      mirrors: addresses of the folders it can be downloaded from, in the order to try.
      read: from the files' contents to the training and the test examples.
      classes: how many.
      mean: of the training pixels divided by 255, for all channels or channel by channel.
      std: their standard deviation; a model's inputs are (pixel / 255 - mean) / std.
      suffix: what the mirrors append to a file's name when they serve it compressed.
      archive: the one archive in which the mirrors serve all files, or None if they serve them one by one.
      inside: the folder that the archive puts the files in.
    """

    name: str
    files: Mapping[str, str]
    mirrors: tuple[str, ...]
    read: Callable[[Mapping[str, Contents]], tuple[Examples, Examples]]
    classes: int
    mean: PerChannel = 0.0
    std: PerChannel = 1.0
    suffix: str = ""
    archive: str | None = None
    inside: str = ""


def standardised(mean: PerChannel, std: PerChannel, top: int = 255) -> Affine:
    """The map (x / top - mean) / std as one multiplication and one addition."""
    centre, width = np.asarray(mean), np.asarray(std)
    return Affine(jnp.asarray(1 / (top * width), jnp.float32), jnp.asarray(-centre / width, jnp.float32))


MNIST = Spec(
    name="mnist",
    files={
        "train-images-idx3-ubyte": "ba891046e6505d7aadcbbe25680a0738ad16aec93bde7f9b65e87a2fc25776db",
        "train-labels-idx1-ubyte": "65a50cbbf4e906d70832878ad85ccda5333a97f0f4c3dd2ef09a8a9eef7101c5",
        "t10k-images-idx3-ubyte": "0fa7898d509279e482958e8ce81c8e77db3f2f8254e26661ceb7762c4d494ce7",
        "t10k-labels-idx1-ubyte": "ff7bcfd416de33731a308c3f266cc351222c34898ecbeaf847f06e48f7ec33f2",
    },
    mirrors=(
        "https://storage.googleapis.com/cvdf-datasets/mnist/",
        "https://ossci-datasets.s3.amazonaws.com/mnist/",
    ),
    read=formats.mnist,
    classes=10,
    mean=0.1307,
    std=0.3081,
    suffix=".gz",
)

FASHION_MNIST = Spec(
    name="fashion_mnist",
    files={
        "train-images-idx3-ubyte": "c59f468a2f672dc815687fe0f83887768d799fd8a3f3276145d20f83aa44d888",
        "train-labels-idx1-ubyte": "bad3541b69d912435c50bb6ba87bec294ff4f6a2e1246121d8633921760443d9",
        "t10k-images-idx3-ubyte": "5b4141f0afbad91edebe8549f8fcffe087ea10ca49f1dbef5c9a5cd8815ce37b",
        "t10k-labels-idx1-ubyte": "0402a96d92fd2663957122ceb108a494c5af83dab82d92729df917d7dec38c34",
    },
    mirrors=("http://fashion-mnist.s3-website.eu-central-1.amazonaws.com/",),
    read=formats.mnist,
    classes=10,
    mean=0.2860,
    std=0.3530,
    suffix=".gz",
)

CIFAR10 = Spec(
    name="cifar10",
    files={
        "data_batch_1.bin": "cee916563c9f80d84e3cc88e17fdc0941787f1244f00a67874d45b261883ada5",
        "data_batch_2.bin": "a591ca11fa1708a91ee40f54b3da4784ccd871ecf2137de63f51ada8b3fa57ed",
        "data_batch_3.bin": "bbe8596564c0f86427f876058170b84dac6670ddf06d79402899d93ceea26f67",
        "data_batch_4.bin": "014e562d6e23c72197cc727519169a60359f5eccd8945ad5a09d710285ff4e48",
        "data_batch_5.bin": "755304fc0b379caeae8c14f0dac912fbc7d6cd469eb67a1029a08a39453a9add",
        "test_batch.bin": "8e2eb146ae340b09e24670f29cabc6326dba54da8789dab6768acf480273f65b",
    },
    mirrors=("https://www.cs.toronto.edu/~kriz/",),
    read=formats.cifar10,
    classes=10,
    mean=(0.4914, 0.4822, 0.4465),
    std=(0.2470, 0.2435, 0.2616),
    archive="cifar-10-binary.tar.gz",
    inside="cifar-10-batches-bin",
)

SPECS: dict[str, Spec] = {spec.name: spec for spec in (MNIST, FASHION_MNIST, CIFAR10)}


def find(dataset: str | Spec) -> Spec:
    """The spec of a name; a spec is its own."""
    if isinstance(dataset, Spec):
        return dataset
    if dataset == "digits":
        raise RecordError("'digits' comes inside the package and needs no download; load it at once")
    if dataset not in SPECS:
        raise unknown(dataset, SPECS)
    return SPECS[dataset]


def unknown(name: str, known: Iterable[str]) -> RecordError:
    """The complaint about an unknown dataset, with the nearest known name."""
    return RecordError(errors.unknown("dataset", name, known))
