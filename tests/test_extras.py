import subprocess
import sys
from types import SimpleNamespace

import polars as pl
import pytest

from federage.data import hub
from federage.errors import MissingExtra
from federage.report import tensorboard

RECORDED = SimpleNamespace(
    looks=pl.DataFrame({"method": ["FedAvg"], "seed": [0]}),
    experiment=SimpleNamespace(settings=lambda: {"methods.FedAvg": {}}),
)


@pytest.mark.parametrize(
    ("package", "name", "call"),
    [
        ("datasets", "hf", lambda folder: hub.read(folder)),
        ("tensorboard", "tensorboard", lambda folder: tensorboard.export(RECORDED, folder)),
    ],
)
def test_a_missing_package_is_named_with_the_extra_that_brings_it(monkeypatch, tmp_path, package, name, call):
    for loaded in [module for module in sys.modules if module.startswith(f"{package}.")]:
        monkeypatch.delitem(sys.modules, loaded)  # what an earlier test imported
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(MissingExtra, match=rf"'{package}', which is not installed.*federage\[{name}\]") as caught:
        call(tmp_path)
    assert "\n" not in str(caught.value)


def test_nothing_that_an_extra_brings_is_imported_before_it_is_used():
    code = (
        "import sys, federage, federage.data.hub, federage.report.tensorboard;"
        "print([name for name in ('datasets', 'tensorboard', 'pandas', 'pyarrow') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
