"""Parts of the server that differ in regression: sums on the wire, choice of the best model, pictures."""

import io

import matplotlib.figure
import numpy as np
import pytest
from PIL import Image

from pfedgp_core.errors import DataError
from pfedgp_core.metrics.classification import metric_sums
from pfedgp_core.metrics.regression import LEVELS, RegressionSums, regression_sums
from pfedgp_core.wire.replies import EvaluateReply
from server.report.plots import coverage_png, rmse_png

SUMS = regression_sums([1.0, 2.0, 4.0], [0.5, 0.5, 1.0], [1.2, 1.0, 4.5], 2.0, 1.5)
HISTORY = [
    {"round": 1, "validation_standard_rmse": None, "best": False},
    {"round": 2, "validation_standard_rmse": 0.9, "best": True},
    {"round": 4, "validation_standard_rmse": 0.7, "best": True},
    {"round": 6, "validation_standard_rmse": 0.8, "best": False},
]


@pytest.mark.parametrize("sums", [SUMS, RegressionSums()])
def test_replies_carry_regression_sums(sums: RegressionSums) -> None:
    reply = EvaluateReply("ward-3", "test", sums, {}, {"gp": 0.1})
    assert EvaluateReply.from_wire(*reply.to_wire(), RegressionSums) == reply


def test_sums_of_the_other_task_are_refused() -> None:
    regression = EvaluateReply("ward-3", "test", SUMS).to_wire()
    classification = EvaluateReply("ward-3", "test", metric_sums([[0.8, 0.2]], [0])).to_wire()
    with pytest.raises(DataError, match="metric sums are missing"):
        EvaluateReply.from_wire(*regression)
    with pytest.raises(DataError, match="metric sums are missing"):
        EvaluateReply.from_wire(*classification, RegressionSums)


@pytest.fixture
def drawn(monkeypatch: pytest.MonkeyPatch) -> list[matplotlib.figure.Figure]:
    """The figures that were saved."""
    figures: list[matplotlib.figure.Figure] = []
    save = matplotlib.figure.Figure.savefig
    monkeypatch.setattr(
        matplotlib.figure.Figure, "savefig", lambda self, *a, **k: (figures.append(self), save(self, *a, **k))
    )
    return figures


def is_a_picture(data: bytes) -> bool:
    image = Image.open(io.BytesIO(data))
    return image.format == "PNG" and len(np.unique(np.asarray(image.convert("L")))) > 10


def test_the_error_picture(drawn: list[matplotlib.figure.Figure]) -> None:
    assert is_a_picture(rmse_png(HISTORY))
    line, best = drawn[0].axes[0].lines
    np.testing.assert_array_equal(line.get_xydata(), [[2, 0.9], [4, 0.7], [6, 0.8]])
    np.testing.assert_array_equal(best.get_xydata(), [[4, 0.7]])
    assert is_a_picture(rmse_png(HISTORY[:1]))


def test_the_coverage_picture(drawn: list[matplotlib.figure.Figure]) -> None:
    assert is_a_picture(coverage_png(SUMS))
    axes = drawn[0].axes[0]
    np.testing.assert_allclose(
        axes.lines[1].get_xydata(), [[p, c / 3] for p, c in zip(LEVELS, SUMS.covered, strict=True)]
    )
    assert axes.get_title() == "Intervals: 66.7 % inside 95 %, 3 samples"
    assert is_a_picture(coverage_png(RegressionSums()))
