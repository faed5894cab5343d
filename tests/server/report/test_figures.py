"""Figures: shapes where their numbers are, in every format, and readable in both colour schemes."""

import io
import re
import xml.etree.ElementTree as ET

import numpy as np
import pytest
from PIL import Image

from pfedgp_core.metrics.classification import MetricSums, metric_sums
from pfedgp_core.metrics.regression import LEVELS, RegressionSums, regression_sums
from pfedgp_core.metrics.summary import summarise
from server.report.drawing import DARK, LIGHT, Drawing
from server.report.figures import intervals, over_rounds, record_figure, reliability


def luminance(colour: str) -> float:
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts]
    return float(np.dot([0.2126, 0.7152, 0.0722], linear))


def contrast(one: str, other: str) -> float:
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


def mixed(colour: str, ground: str, share: float) -> str:
    pairs = [(int(colour[i : i + 2], 16), int(ground[i : i + 2], 16)) for i in (1, 3, 5)]
    return "#" + "".join(f"{round(share * a + (1 - share) * b):02x}" for a, b in pairs)


@pytest.mark.parametrize("scheme", [LIGHT, DARK], ids=["light", "dark"])
def test_text_contrasts_with_its_ground(scheme: dict[str, str]) -> None:
    for ground in (scheme["surface"], scheme["panel"]):
        assert contrast(scheme["ink"], ground) >= 7
        assert min(contrast(scheme[role], ground) for role in ("muted", "accent", "warn")) >= 4.5
    for role in ("accent", "warn"):
        assert contrast(scheme["ink"], mixed(scheme[role], scheme["surface"], 0.55)) >= 4.5


def test_a_curve_is_where_its_numbers_are() -> None:
    drawing = over_rounds("Loss", "train_loss", [(0, 0.0), (10, 1.0)])
    (line,) = re.findall(
        r'<polyline points="([^"]+)" stroke-linejoin="round" fill="none" stroke="var\(--accent\)"', drawing.inline_svg()
    )
    (x0, y0), (x1, y1) = (map(float, pair.split(",")) for pair in line.split())
    assert x1 > x0
    assert y1 < y0
    assert "from 0.000 to 1.000" in drawing.label


@pytest.mark.parametrize("points", [[], [(1, 0.5)], [(1, 1.0), (2, 1.0)], [(5, -3.0), (900, 1e6)], [(1, 0.0)]])
def test_any_curve_can_be_drawn(points: list[tuple[int, float]]) -> None:
    for key in ("validation_accuracy", "train_loss"):
        drawing = over_rounds("x", key, points, best=1)
        assert "nan" not in drawing.inline_svg()
        assert drawing.png().startswith(b"\x89PNG")


def test_reliability_of_no_sample_says_so() -> None:
    assert "no sample" in reliability("x", MetricSums.zero()).inline_svg()


def test_a_picture_is_the_same_in_both_formats() -> None:
    drawing = Drawing(40, 20, "halves")
    drawing.rect(0, 0, 20, 20, "accent")
    pixels = np.asarray(Image.open(io.BytesIO(drawing.png())).convert("RGB"))
    assert pixels.shape == (40, 80, 3)
    assert "#{:02x}{:02x}{:02x}".format(*pixels[20, 10]) == LIGHT["accent"]
    assert "#{:02x}{:02x}{:02x}".format(*pixels[20, 70]) == LIGHT["surface"]


SVG = "{http://www.w3.org/2000/svg}"
HISTORY = [
    {"round": 1, "validation_accuracy": None, "best": False},
    {"round": 2, "validation_accuracy": 0.5, "best": True},
    {"round": 4, "validation_accuracy": 0.75, "best": True},
    {"round": 6, "validation_accuracy": 0.7, "best": False},
]


def shapes(drawing: Drawing, tag: str, role: str) -> list[ET.Element]:
    """Elements of a picture by their fill or, without one, their stroke."""
    found = ET.fromstring(drawing.svg_file()).iter(f"{SVG}{tag}")
    return [e for e in found if LIGHT[role] in ((e.get("fill"),) if e.get("fill") != "none" else (e.get("stroke"),))]


def texts(drawing: Drawing) -> list[str]:
    return [e.text or "" for e in ET.fromstring(drawing.svg_file()).iter(f"{SVG}text")]


def curve(drawing: Drawing) -> np.ndarray:
    (line,) = shapes(drawing, "polyline", "accent")
    return np.array([[float(n) for n in pair.split(",")] for pair in line.get("points", "").split()])


def test_rounds_without_an_evaluation_are_left_out() -> None:
    assert len(curve(record_figure(HISTORY, "validation_accuracy"))) == 3


def test_rounds_stand_where_they_belong() -> None:
    xs = curve(record_figure(HISTORY, "validation_accuracy"))[:, 0]
    assert xs[1] - xs[0] == pytest.approx(xs[2] - xs[1])


def test_the_best_round_is_told() -> None:
    assert "75.0 % in best round 4" in texts(record_figure(HISTORY, "validation_accuracy"))


def test_the_best_round_is_ringed() -> None:
    drawing = record_figure(HISTORY, "validation_accuracy")
    (ring,) = shapes(drawing, "circle", "warn")
    assert [float(ring.get("cx", 0)), float(ring.get("cy", 0))] == pytest.approx(curve(drawing)[1].tolist())


def test_a_loss_has_no_best_round() -> None:
    assert shapes(record_figure([{"round": 1, "train_loss": 1.0, "best": True}], "train_loss"), "circle", "warn") == []


@pytest.mark.parametrize("values", [[0.981], [0.9, 1.0], [1.0], [0.0]])
def test_no_tick_of_a_share_is_beyond_100_percent_or_below_0(values: list[float]) -> None:
    said = texts(over_rounds("Accuracy", "accuracy", list(enumerate(values, start=1))))
    ticks = [float(text[:-2]) for text in said if text.endswith(" %")]
    assert 0 <= min(ticks) <= max(ticks) <= 100


def test_a_long_heading_leaves_room_for_the_best_value() -> None:
    drawing = over_rounds("Validation 95 % interval coverage", "coverage", [(1, 0.9), (2, 0.978)], best=2)
    assert "97.8 %" in texts(drawing)


RNG = np.random.default_rng(1)
SUMS = metric_sums(RNG.dirichlet([0.4] * 3, 500), RNG.integers(0, 3, 500))
FULL = SUMS.bin_count > 0
SIDE = 262.0


def heights(role: str) -> np.ndarray:
    """Of the bars of one colour, without those of the legend, in units of the diagram's side."""
    bars = shapes(reliability("x", SUMS), "rect", role)
    return np.array([float(e.get("height", 0)) / SIDE for e in bars if e.get("width") != "10"])


def test_bars_are_the_accuracies_of_the_bins() -> None:
    accuracy = (SUMS.bin_correct / np.maximum(SUMS.bin_count, 1))[FULL]
    np.testing.assert_allclose(heights("accent"), accuracy, atol=1e-4)


def test_gaps_weighted_with_the_counts_are_the_ece() -> None:
    gaps = heights("warn")
    assert np.dot(gaps, SUMS.bin_count[FULL]) / SUMS.n == pytest.approx(summarise(SUMS)["ece"], abs=1e-3)


def test_bars_below_are_the_counts() -> None:
    counts = heights("muted")
    np.testing.assert_allclose(counts / counts.max(), (SUMS.bin_count / SUMS.bin_count.max())[FULL], atol=1e-3)


def test_the_ece_is_told() -> None:
    assert any(f"ECE {summarise(SUMS)['ece']:.3f}" in text for text in texts(reliability("x", SUMS)))


TARGETS = regression_sums([1.0, 2.0, 4.0], [0.5, 0.5, 1.0], [1.2, 1.0, 4.5], 2.0, 1.5)


def test_intervals_are_points_of_level_and_share() -> None:
    points = (curve(intervals("x", TARGETS)) - [50.0, 46.0 + SIDE]) / [SIDE, -SIDE]
    wanted = [[level, covered / 3] for level, covered in zip(LEVELS, TARGETS.covered, strict=True)]
    np.testing.assert_allclose(points, wanted, atol=1e-4)


def test_the_widest_interval_is_told() -> None:
    assert "66.7 % inside the 95 % interval, n 3" in texts(intervals("x", TARGETS))


def test_intervals_of_no_sample_say_so() -> None:
    assert "no sample" in texts(intervals("x", RegressionSums()))
