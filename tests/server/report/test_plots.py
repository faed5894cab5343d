"""The pictures show the numbers they are made of."""

import io
from typing import Any

import matplotlib.figure
import numpy as np
import pytest
from PIL import Image

from pfedgp_core.metrics.classification import MetricSums, metric_sums
from pfedgp_core.metrics.summary import summarise
from server.report.plots import accuracy_png, reliability_png

HISTORY = [
    {"round": 1, "validation_accuracy": None, "best": False},
    {"round": 2, "validation_accuracy": 0.5, "best": True},
    {"round": 4, "validation_accuracy": 0.75, "best": True},
    {"round": 6, "validation_accuracy": 0.7, "best": False},
]


@pytest.fixture
def drawn(monkeypatch: pytest.MonkeyPatch) -> list[matplotlib.figure.Figure]:
    """The figures that were saved, for a look at what they hold."""
    figures: list[matplotlib.figure.Figure] = []
    save = matplotlib.figure.Figure.savefig

    def spy(self: matplotlib.figure.Figure, *args: Any, **kwargs: Any) -> None:
        figures.append(self)
        save(self, *args, **kwargs)

    monkeypatch.setattr(matplotlib.figure.Figure, "savefig", spy)
    return figures


def picture_is_not_blank(data: bytes) -> bool:
    image = Image.open(io.BytesIO(data))
    assert image.format == "PNG"
    assert min(image.size) > 400
    return len(np.unique(np.asarray(image.convert("L")))) > 10


def test_accuracy_over_rounds(drawn: list[matplotlib.figure.Figure]) -> None:
    assert picture_is_not_blank(accuracy_png(HISTORY))
    curve, best = drawn[0].axes[0].lines
    assert list(curve.get_xdata()) == [2, 4, 6]
    np.testing.assert_allclose(curve.get_ydata(), [50, 75, 70])
    assert (list(best.get_xdata()), list(best.get_ydata())) == ([4], [75])
    assert [text.get_text() for text in drawn[0].axes[0].get_legend().get_texts()] == ["best: 75.0 %"]


def test_the_axis_ends_at_100_percent_and_the_best_value_stands_beside_the_curve(
    drawn: list[matplotlib.figure.Figure],
) -> None:
    accuracies = [1 - 0.5 * 0.8**r for r in range(40)]
    accuracy_png([{"round": r, "validation_accuracy": a, "best": True} for r, a in enumerate(accuracies, start=1)])
    axes = drawn[0].axes[0]
    assert axes.get_ylim()[1] <= 100
    box = axes.get_legend().get_window_extent()
    assert not any(box.contains(*point) for point in axes.transData.transform(axes.lines[0].get_xydata()))


def test_reliability_bars_are_the_bins(drawn: list[matplotlib.figure.Figure]) -> None:
    rng = np.random.default_rng(1)
    p = rng.dirichlet([0.4] * 3, 500)
    sums = metric_sums(p, rng.integers(0, 3, 500))
    assert picture_is_not_blank(reliability_png(sums))
    axes, counts = drawn[0].axes
    accuracy, gap = axes.containers
    full = sums.bin_count > 0
    np.testing.assert_allclose(
        [bar.get_height() for bar in accuracy], (sums.bin_correct / np.maximum(sums.bin_count, 1))[full]
    )
    np.testing.assert_allclose([bar.get_height() for bar in counts.containers[0]], sums.bin_count)
    # The gaps, weighted with the counts, are the ECE in the title.
    ece = np.dot([bar.get_height() for bar in gap], sums.bin_count[full]) / sums.n
    assert ece == pytest.approx(summarise(sums)["ece"])
    assert f"ECE {ece:.3f}" in axes.get_title()


@pytest.mark.parametrize("history", [[], HISTORY[:1], HISTORY[1:2]])
def test_hardly_any_round(history: list[dict[str, Any]]) -> None:
    assert picture_is_not_blank(accuracy_png(history))


@pytest.mark.parametrize("sums", [MetricSums.zero(), metric_sums([[1.0]], [0])])
def test_hardly_any_sample(sums: MetricSums) -> None:
    assert picture_is_not_blank(reliability_png(sums))
