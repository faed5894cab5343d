"""What the registry says of its data sets, against the data themselves."""

import importlib.util
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from pfedgp_core.data.datasets import load_dataset
from pfedgp_core.data.samples import Dataset
from pfedgp_core.errors import DataError
from pfedgp_core.registry import DATASETS, DatasetEntry

WITHOUT_FILES = [
    name
    for name, each in DATASETS.items()
    if not each.files and (not each.package or importlib.util.find_spec(each.package))
]


@pytest.mark.parametrize("name", WITHOUT_FILES)
def test_a_data_set_without_files_loads_anywhere(name: str) -> None:
    assert load_dataset(name).name == name


@pytest.mark.parametrize("name", [name for name, each in DATASETS.items() if each.files and not each.own])
def test_a_data_set_with_files_says_what_it_lacks(name: str, tmp_path: Path) -> None:
    with pytest.raises(DataError, match="set data-root to"):
        load_dataset(name, str(tmp_path))


@pytest.mark.parametrize("name", WITHOUT_FILES)
def test_seeds_do_not_move_samples(name: str) -> None:
    first, other = (load_dataset(name, seed=seed).test.inputs for seed in (0, 1))
    assert np.array_equal(first, other)


def test_a_data_set_of_another_task_than_the_registry_says_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(DATASETS, "wrong", DatasetEntry(DATASETS["diabetes"].target, "patients"))
    with pytest.raises(DataError, match="'wrong' has 0 class names and is registered for classification"):
        load_dataset("wrong")


def test_loaders_give_data_sets() -> None:
    assert {type(load_dataset(name)) for name in WITHOUT_FILES} == {Dataset}


def test_the_registry_needs_no_torch() -> None:
    code = "import sys, pfedgp_core.config; sys.exit('torch' in sys.modules or 'sklearn' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


@pytest.mark.parametrize("name", [name for name, each in DATASETS.items() if each.package])
def test_a_data_set_of_a_package_says_what_to_install(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    package = DATASETS[name].package
    monkeypatch.setitem(sys.modules, package, None)  # type: ignore[arg-type]
    with pytest.raises(DataError, match=rf"run pip install 'pfedgp\[{package}\]'"):
        load_dataset(name)


@pytest.mark.parametrize("name", WITHOUT_FILES)
def test_the_registry_says_whether_samples_come_from_sites(name: str) -> None:
    assert (load_dataset(name).sites is not None) == DATASETS[name].sites
