"""The tables of parameters, against those of the reference file."""

import json
from pathlib import Path

import numpy as np
import pytest

from pfedgp_core.config import flat_fields
from pfedgp_core.data.corruptions.severities import CORRUPTIONS, SEVERITIES, TABLES, parameters

GOLDEN = Path(__file__).parents[3] / "golden/golden_baselines_public.json"
(CASE,) = [c for c in json.loads(GOLDEN.read_text(encoding="utf-8"))["cases"] if c["topic"] == "corruption_spec"]
GIVEN = {check["name"]: check["value"] for check in CASE["asserts"]}
REFERENCES = {"imagenet-c": "parameters_imagecorruptions", "cifar-10-c": "parameters_cifar_c"}


def test_corruptions_stand_in_the_benchmark_s_order() -> None:
    assert list(CORRUPTIONS) == CASE["inputs"]["order"]


def test_the_setting_offers_all_tables() -> None:
    assert flat_fields()["noise"].metadata["choices"] == ("none", *TABLES)


@pytest.mark.parametrize("table", TABLES)
@pytest.mark.parametrize("corruption", [name for name in CORRUPTIONS if name not in ("zoom_blur", "elastic_transform")])
def test_numbers_are_the_references(table: str, corruption: str) -> None:
    wanted = GIVEN[REFERENCES[table]][corruption]
    ours = [list(parameters(corruption, severity, table)) for severity in SEVERITIES]
    assert ours == [value if isinstance(value, list) else [value] for value in wanted]


@pytest.mark.parametrize("table", TABLES)
def test_ranges_of_zooms_are_the_references(table: str) -> None:
    wanted = [text.split(":")[1:] for text in GIVEN[REFERENCES[table]]["zoom_blur"]]
    ours = [list(parameters("zoom_blur", severity, table)) for severity in SEVERITIES]
    assert ours == [[float(end), float(step)] for end, step in wanted]


def test_elastic_shifts_of_imagenet_c_are_the_references() -> None:
    alphas = [float(text.removeprefix("alpha ")) for text in GIVEN["parameters_imagecorruptions"]["elastic_transform"]]
    ours = np.array([parameters("elastic_transform", severity, "imagenet-c") for severity in SEVERITIES])
    np.testing.assert_allclose(ours, [(0.005 * alpha, 0.01, 0.0) for alpha in alphas])


def test_elastic_shifts_of_cifar_10_c_are_the_references() -> None:
    texts = GIVEN["parameters_cifar_c"]["elastic_transform"]
    wanted = [[float(part) for part in text.removeprefix("32*").strip("()").split(",")] for text in texts]
    assert [list(parameters("elastic_transform", severity, "cifar-10-c")) for severity in SEVERITIES] == wanted


@pytest.mark.parametrize("table", TABLES)
def test_every_corruption_has_five_severities(table: str) -> None:
    assert {name: len(rows) for name, rows in TABLES[table].items()} == dict.fromkeys(CORRUPTIONS, 5)
