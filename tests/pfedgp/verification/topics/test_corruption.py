"""Corruptions in files of the golden format: other images, severities, names and tables than the public file's."""

import colorsys
from typing import Any

import numpy as np
import pytest

from tests.pfedgp.verification.golden_runs import failures, public, results

IMAGE = np.random.default_rng(5).integers(0, 256, (5, 9, 3))
FACTORS = {1: 0.4, 2: 0.3, 3: 0.2, 4: 0.1, 5: 0.05}


def case(name: str, value: Any, severity: int = 3, kind: str = "exact", **more: Any) -> list[dict[str, Any]]:
    tolerance = {"rtol": 0.05} if kind == "mc" else {"atol": 1e-9, "atol_float32": 2e-5}
    asserts = [{"name": name, "value": value, "kind": kind, **tolerance}]
    inputs = {"image": IMAGE.tolist(), "severity": severity, **more}
    return [{"id": "a", "topic": "corruption_values", "inputs": inputs, "asserts": asserts}]


def contrast(factor: float) -> list[Any]:
    mean = IMAGE.mean(axis=(0, 1))
    return ((IMAGE - mean) * factor + mean).tolist()


@pytest.mark.parametrize("severity", FACTORS)
def test_contrast_at_every_severity(severity: int) -> None:
    assert failures(case("contrast", contrast(FACTORS[severity]), severity)) == []


def test_the_parameters_of_cifar_10_c() -> None:
    assert failures(case("contrast", contrast(0.15), 5, parameters="cifar_c")) == []


def test_saturate() -> None:
    def changed(pixel: np.ndarray) -> list[float]:
        h, s, v = colorsys.rgb_to_hsv(*pixel / 255)
        return [255 * level for level in colorsys.hsv_to_rgb(h, min(1.0, 2 * s), v)]

    assert failures(case("saturate", [[changed(p) for p in row] for row in IMAGE], 3)) == []


@pytest.mark.parametrize(("severity", "deviation"), [(1, 0.08), (2, 0.12), (4, 0.26)])
def test_moments_of_other_severities(severity: int, deviation: float) -> None:
    wanted = {"gaussian_noise_std": deviation, "gaussian_noise_mean": 0.5}
    assert failures(case("unclipped_noise_moments", wanted, severity, "mc")) == []


def test_a_wrong_moment_fails() -> None:
    assert len(failures(case("unclipped_noise_moments", {"shot_noise_std_at_half_grey": 0.3}, 3, "mc"))) == 1


@pytest.mark.parametrize("name", ["snow", "hue", "corruptions_values"])
def test_what_cannot_be_stated_is_not_understood(name: str) -> None:
    assert {r.understood for r in results(case(name, contrast(0.2)))} == {False}


@pytest.mark.parametrize(
    "inputs", [{"image": [[1, 2]]}, {"image": "x"}, {"image": [[[300, 0, 0]]]}, {"severity": 2.5}, {"parameters": "x"}]
)
def test_inputs_of_another_form_are_not_understood(inputs: dict[str, Any]) -> None:
    asked = case("contrast", contrast(0.2))
    asked[0]["inputs"] |= inputs
    assert {r.understood for r in results(asked)} == {False}


def test_a_severity_that_there_is_not_fails_with_its_sentence() -> None:
    assert all("severity = 7 is not known" in line for line in failures(case("contrast", contrast(0.2), 7)))


@pytest.mark.parametrize(("severities", "number"), [([3, 4, 5], 57), ([1, 5], 38), ([], 0)])
def test_number_of_noise_models(severities: list[int], number: int) -> None:
    asserts = [{"name": "number_of_noise_models", "value": number, "atol": 0, "kind": "exact"}]
    inputs = {"severities_of_the_paper": severities}
    asked = {"id": "a", "topic": "corruption_spec", "inputs": inputs, "asserts": asserts}
    assert [r.status for r in results([asked])] == ["PASS"]


def table(name: str, **changed: Any) -> list[dict[str, Any]]:
    """The public case with one table of parameters, some corruptions of it changed."""
    (found,) = [each for each in public("corruption_spec") if each["id"] == "corruptions-spec"]
    (stated,) = [each for each in found["asserts"] if each["name"] == name]
    return [found | {"asserts": [stated | {"value": stated["value"] | changed}]}]


@pytest.mark.parametrize("name", ["parameters_imagecorruptions", "parameters_cifar_c"])
def test_tables_of_parameters_are_compared(name: str) -> None:
    assert [r.status for r in results(table(name))] == ["PASS"]


@pytest.mark.parametrize(
    "changed",
    [
        {"contrast": [0.4, 0.3, 0.2, 0.1, 0.06]},
        {"zoom_blur": ["1:1.11:.01", "1:1.16:.01", "1:1.21:.02", "1:1.26:.02", "1:1.31:.02"]},
        {"elastic_transform": ["alpha 12.5", "16.25", "21.25", "25", "31"]},
        {"fog": [[1.5, 2]]},
        {"wind": [1, 2, 3, 4, 5]},
    ],
)
def test_another_parameter_fails(changed: dict[str, Any]) -> None:
    assert [r.status for r in results(table("parameters_imagecorruptions", **changed))] == ["FAIL"]


def test_a_table_that_is_none_is_not_understood() -> None:
    asked = table("parameters_cifar_c")
    asked[0]["asserts"][0]["value"] = [1, 2]
    assert [r.understood for r in results(asked)] == [False]
