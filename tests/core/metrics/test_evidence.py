"""What chooses a temperature: test sums at 60 temperatures are those of the tempered predictions, and come back."""

import numpy as np
import pytest

from pfedgp_core.errors import DataError
from pfedgp_core.metrics import evidence as module
from pfedgp_core.metrics.classification import metric_sums
from pfedgp_core.metrics.evidence import TemperatureEvidence, tempered_sums
from pfedgp_core.metrics.likelihood import LIKELIHOOD_GRID, LikelihoodSums
from pfedgp_core.metrics.temperature import temperature_scale
from tests.core.metrics.test_calibration import predictions


def evidence_of(seed: int = 0, n: int = 20) -> TemperatureEvidence:
    parts = [predictions(n + more, 3, seed + more) for more in (0, 1, 2)]
    (p, y), *others = parts
    likelihoods = [LikelihoodSums.of(np.log(q), labels) for q, labels in others]
    return TemperatureEvidence(*likelihoods, tempered_sums(p, y))


@pytest.mark.parametrize("at_once", [1, 1 << 20])
def test_the_sums_are_those_of_the_tempered_predictions(at_once: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_AT_ONCE", at_once)
    p, y = predictions(40, 4, 2)
    p[:5], y[5:8] = np.eye(4)[:1], -1
    found = tempered_sums(p, y)
    for t, sums in zip(LIKELIHOOD_GRID, found, strict=True):
        expected = metric_sums(temperature_scale(p, t), y)
        for key, value in expected.to_dict().items():
            np.testing.assert_allclose(sums.to_dict()[key], value, rtol=1e-9, atol=1e-9, err_msg=f"{key} at {t}")


def test_no_sample_gives_empty_sums() -> None:
    found = tempered_sums(np.zeros((0, 3)), np.zeros(0, np.int64))
    assert found == TemperatureEvidence().test
    assert {sums.n for sums in found} == {0}


def test_they_come_back() -> None:
    for evidence in (evidence_of(), TemperatureEvidence()):
        fields = evidence.to_dict()
        assert TemperatureEvidence.from_dict(fields) == evidence


@pytest.mark.parametrize(
    ("field", "change"),
    [
        ("test.n", lambda v: [v[0] + 1, *v[1:]]),
        ("test.bin_count", lambda v: v[:-1]),
        ("validation.values", lambda v: [1.0, *v[1:]]),
        ("left_out.n", lambda v: -v),
    ],
)
def test_impossible_sums_are_refused(field: str, change) -> None:
    fields = evidence_of().to_dict()
    with pytest.raises(DataError):
        TemperatureEvidence.from_dict(fields | {field: change(fields[field])})


@pytest.mark.parametrize("field", ["test.n", "validation.n", "left_out.values"])
def test_missing_fields_are_refused(field: str) -> None:
    fields = {key: value for key, value in evidence_of().to_dict().items() if key != field}
    with pytest.raises(DataError):
        TemperatureEvidence.from_dict(fields)


def test_they_must_fit_the_client() -> None:
    evidence = evidence_of()  # 20 test, 21 validation and 22 training samples
    assert evidence.fits(20, 21, 22)
    assert evidence.fits(20, 100, 100)
    assert not evidence.fits(19, 21, 22)
    assert not evidence.fits(20, 20, 22)
    assert not evidence.fits(20, 21, 21)
