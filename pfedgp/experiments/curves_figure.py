"""The figure of an experiment's curves: accuracy and NLL of each row against rounds, bytes and CPU seconds."""

from collections.abc import Sequence

from pfedgp.experiments.budgets import AXES, MEASURES, Curve
from pfedgp.experiments.specification import Experiment
from pfedgp_core.words import size
from server.report.drawing import SERIES, Drawing
from server.report.wording import shortened

__all__ = ["curves_figure"]

WIDE, HIGH, LEFT, GAP, LINE = 250.0, 170.0, 60.0, 62.0, 16.0
_KEYS = 3  # of the legend in a line


def curves_figure(experiment: Experiment, column: str, curves: Sequence[Curve]) -> Drawing:
    """A panel for each measure and cost, in which each run is a line; the runs of a row look alike."""
    rows = list(dict.fromkeys(curve.row for curve in curves))
    looks = {row: (SERIES[i % len(SERIES)], i >= len(SERIES)) for i, row in enumerate(rows)}
    top = 40 + LINE * -(-len(rows) // _KEYS)
    title = f"{experiment.title}, {experiment.columns[column].title}"
    drawing = Drawing(LEFT + len(AXES) * (WIDE + GAP), top + len(MEASURES) * (HIGH + 60), f"{title}: curves by method")
    drawing.text(10, 20, shortened(title, 120), fill="ink", size=14)
    for i, row in enumerate(rows):
        x, y = LEFT + (i % _KEYS) * (WIDE + GAP), 36 + LINE * (i // _KEYS)
        colour, dashed = looks[row]
        drawing.line([(x, y), (x + 24, y)], colour, width=2, dashed=dashed)
        drawing.text(x + 30, y + 4, shortened(experiment.rows[row].title, 40), size=11)
    for i, measure in enumerate(MEASURES):
        for j, axis in enumerate(AXES):
            left, upper = LEFT + j * (WIDE + GAP), top + i * (HIGH + 60)
            _panel(drawing, left, upper, axis, measure, curves, looks)
    return drawing


def _panel(
    drawing: Drawing,
    left: float,
    top: float,
    axis: str,
    measure: str,
    curves: Sequence[Curve],
    looks: dict[str, tuple[str, bool]],
) -> None:
    scale = 100.0 if measure == "accuracy" else 1.0
    lines = [(curve, [(x, scale * y) for x, y in curve.measured(axis, measure)]) for curve in curves]
    points = [point for _, each in lines for point in each]
    drawing.rect(left, top, WIDE, HIGH, "panel", stroke="grid")
    drawing.text(left + WIDE / 2, top + HIGH + 34, AXES[axis], anchor="middle", size=11)
    if axis == next(iter(AXES)):
        drawing.text(left - 42, top + HIGH / 2, MEASURES[measure], anchor="middle", size=11, upright=False)
    if not points:
        drawing.text(left + WIDE / 2, top + HIGH / 2, "no value", anchor="middle", size=11)
        return
    (low_x, high_x), (low_y, high_y) = (_range([point[k] for point in points]) for k in (0, 1))

    def place(x: float, y: float) -> tuple[float, float]:
        return left + WIDE * (x - low_x) / (high_x - low_x), top + HIGH * (high_y - y) / (high_y - low_y)

    for x in (low_x, (low_x + high_x) / 2, high_x):
        text = size(x) if axis == "bytes" else f"{x:.0f}"
        drawing.text(place(x, 0)[0], top + HIGH + 16, text, anchor="middle", size=10)
    for y in (low_y, (low_y + high_y) / 2, high_y):
        text = f"{y:.1f}" if measure == "accuracy" else f"{y:.3f}"
        drawing.text(left - 6, place(0, y)[1] + 4, text, anchor="end", size=10)
    for curve, each in lines:
        colour, dashed = looks[curve.row]
        if len(each) > 1:
            drawing.line([place(*point) for point in each], colour, width=1.5, dashed=dashed)
        for point in each:
            drawing.dot(*place(*point), 1.8, fill=colour)


def _range(values: Sequence[float]) -> tuple[float, float]:
    low, high = min(values), max(values)
    return (low, high) if high - low > 1e-9 else (low - 0.5, high + 0.5)
