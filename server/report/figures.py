"""The figures of a run: a measure over rounds, reliability diagrams, class confusion."""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from pfedgp_core.metrics.classification import MetricSums, calibration_curve
from pfedgp_core.metrics.intervals import share_estimate
from pfedgp_core.metrics.regression import RegressionSums, coverage_curve
from pfedgp_core.metrics.summary import summarise
from server.report.drawing import Drawing
from server.report.wording import capital, is_share, measure, number, percent, shortened, title

__all__ = [
    "confusion_map",
    "intervals",
    "is_measured",
    "over_rounds",
    "record_figure",
    "reliability",
    "reliability_grid",
    "small_reliability",
]

WIDTH, HEIGHT = 380.0, 232.0
MOST_DRAWN = 150  # classes in a confusion map, which are then as wide as 4 units each


def over_rounds(heading: str, key: str, points: Sequence[tuple[int, float]], best: int | None = None) -> Drawing:
    """A measure over rounds.

    Parameters
    ----------
    heading, key : str
        The measure's title, and its key, which decides how its numbers read.
    points : sequence of (round, value)
        Rounds without a value are left out.
    best : int, optional
        A round to mark.
    """
    left, right, top, bottom = 56.0, 12.0, 30.0, 40.0
    said = f"from {measure(key, points[0][1])} to {measure(key, points[-1][1])}" if points else "no values"
    drawing = Drawing(WIDTH, HEIGHT, f"{heading} over rounds: {said}")
    shown = shortened(heading, 42)
    drawing.text(left, 18, shown, fill="ink", size=13)
    wide, high = WIDTH - left - right, HEIGHT - top - bottom
    if not points:
        drawing.text(left + wide / 2, top + high / 2, "no round was evaluated", anchor="middle")
        return drawing
    values = [value for _, value in points]
    ticks = _ticks(min(values), max(values), 4)
    if is_share(key) and min(values) >= 0 and max(values) <= 1:
        ticks = [tick for tick in ticks if -1e-9 <= tick <= 1 + 1e-9]  # no share is beyond these
    low, high_value = min(ticks[0], *values), max(ticks[-1], *values)
    last = max(1, *(r for r, _ in points))

    def place(server_round: float, value: float) -> tuple[float, float]:
        return left + wide * server_round / last, top + high * (high_value - value) / (high_value - low)

    for tick in ticks:
        y = place(0, tick)[1]
        drawing.line([(left, y), (left + wide, y)], "grid")
        drawing.text(left - 6, y + 4, _axis_label(key, tick, ticks), anchor="end", size=11)
    for r in (t for t in _ticks(0, last, 5) if t == int(t) and t <= last):
        drawing.text(place(r, low)[0], HEIGHT - 22, f"{int(r)}", anchor="middle", size=11)
    drawing.text(left + wide / 2, HEIGHT - 6, "round", anchor="middle", size=11)
    placed = [place(r, value) for r, value in points]
    drawing.line(placed, "accent", width=1.8)
    if len(points) <= 40:
        for x, y in placed:
            drawing.dot(x, y, 2.6, fill="accent")
    marked = dict(points).get(best) if best is not None else None
    if best is not None and marked is not None:
        drawing.dot(*place(best, marked), 5.5, stroke="warn")
        # Beside the heading, where no curve can cross it.
        text = f"{measure(key, marked)} in best round {best}"
        if 7 * len(shown) + 6 * len(text) > wide:
            text = measure(key, marked)
        drawing.text(WIDTH - right, 18, text, fill="warn", size=11, anchor="end")
    return drawing


def record_figure(rounds: Sequence[Mapping[str, Any]], key: str) -> Drawing:
    """A measure over rounds, from their records; one of the validation data has the best round marked."""
    points = [(int(record["round"]), float(record[key])) for record in rounds if is_measured(record.get(key))]
    best = max((int(record["round"]) for record in rounds if record.get("best")), default=None)
    return over_rounds(capital(title(key)), key, points, best if key.startswith("validation_") else None)


def is_measured(value: object) -> bool:
    """Whether a value of a record is a number."""
    return isinstance(value, int | float) and not isinstance(value, bool)


def reliability(heading: str, sums: MetricSums) -> Drawing:
    """The reliability diagram of one set of predictions, above how many of them each bin holds.

    A bar's solid part is the bin's accuracy, its outlined part the distance to the mean confidence. ECE is the mean of
    these distances, weighted with the counts below.
    """
    left, top, side, counts_high = 50.0, 46.0, 262.0, 56.0
    drawing = Drawing(330, 416, f"{heading}: {_said(sums)}")
    drawing.text(left, 18, heading, fill="ink", size=13)
    drawing.text(left, 36, _brief(sums), size=11)
    _bars(drawing, sums, left, top, side, whiskers=True)
    _legend(drawing, left + 8, top + 8)
    for share in (0.0, 0.25, 0.5, 0.75, 1.0):
        drawing.text(left - 6, top + side * (1 - share) + 4, f"{share:g}", anchor="end", size=11)
    counts_top = top + side + 12
    most = max([*sums.bin_count.tolist(), 1])
    wide = side / len(sums.bin_count)
    drawing.line([(left, counts_top + counts_high), (left + side, counts_top + counts_high)], "grid")
    for i, n in enumerate(sums.bin_count.tolist()):
        if n:
            tall = max(1.0, counts_high * n / most)
            drawing.rect(left + i * wide + 0.5, counts_top + counts_high - tall, wide - 1, tall, "muted")
    drawing.text(left - 6, counts_top + 10, f"{most}", anchor="end", size=11)
    drawing.text(left - 6, counts_top + counts_high, "0", anchor="end", size=11)
    for share in (0.0, 0.25, 0.5, 0.75, 1.0):
        drawing.text(left + side * share, counts_top + counts_high + 15, f"{share:g}", anchor="middle", size=11)
    drawing.text(left + side / 2, counts_top + counts_high + 32, "confidence", anchor="middle", size=11)
    drawing.text(13, top + side / 2, "accuracy", anchor="middle", size=11, upright=False)
    drawing.text(13, counts_top + counts_high / 2, "samples", anchor="middle", size=11, upright=False)
    return drawing


def intervals(heading: str, sums: RegressionSums) -> Drawing:
    """The calibration of the intervals: share of the targets inside the central interval of each level."""
    left, top, side = 50.0, 46.0, 262.0
    curve = coverage_curve(sums)
    said = (
        f"{percent(curve[-1][1])} inside the {100 * curve[-1][0]:.0f} % interval, n {sums.n}" if curve else "no sample"
    )
    drawing = Drawing(330, 346, f"{heading}: {said}")
    drawing.text(left, 18, heading, fill="ink", size=13)
    drawing.text(left, 36, said, size=11)
    drawing.rect(left, top, side, side, "panel", stroke="grid")
    drawing.line([(left, top + side), (left + side, top)], "ink", dashed=True, opacity=0.7)
    placed = [(left + side * level, top + side * (1 - share)) for level, share in curve]
    if placed:
        drawing.line(placed, "accent", width=1.8)
    for x, y in placed:
        drawing.dot(x, y, 2.6, fill="accent")
    for share in (0.0, 0.25, 0.5, 0.75, 1.0):
        drawing.text(left - 6, top + side * (1 - share) + 4, f"{share:g}", anchor="end", size=11)
        drawing.text(left + side * share, top + side + 15, f"{share:g}", anchor="middle", size=11)
    drawing.text(left + side / 2, top + side + 32, "level of the interval", anchor="middle", size=11)
    drawing.text(13, top + side / 2, "share of targets inside", anchor="middle", size=11, upright=False)
    return drawing


def small_reliability(name: str, sums: MetricSums) -> Drawing:
    """A reliability diagram without scales, for many side by side; all are squares from 0 to 1."""
    drawing = Drawing(150, 150, f"Reliability of {name}: {_said(sums)}")
    _bars(drawing, sums, 3, 3, 144)
    return drawing


def reliability_grid(clients: Sequence[tuple[str, MetricSums]], columns: int = 6) -> Drawing:
    """Small reliability diagrams in one picture, in the order given, each under its client's name."""
    cell_wide, cell_high = 170.0, 196.0
    rows = max(1, math.ceil(len(clients) / columns))
    wide = cell_wide * min(columns, max(1, len(clients)))
    drawing = Drawing(max(wide, 340.0), 40 + cell_high * rows, "Reliability diagrams of the clients, worst first")
    drawing.text(10, 22, "Reliability of the clients, worst first", fill="ink", size=13)
    for i, (name, sums) in enumerate(clients):
        x, y = 10 + cell_wide * (i % columns), 40 + cell_high * (i // columns)
        drawing.text(x + 3, y + 11, shortened(name, 22), fill="ink", size=11)
        drawing.text(x + 3, y + 25, _brief(sums), size=10)
        drawing.place(small_reliability(name, sums), x, y + 29)
    return drawing


def confusion_map(class_names: Sequence[str], counts: Mapping[tuple[int, int], int]) -> Drawing:
    """True classes by predicted classes; each row is shaded by the share of its true class.

    Of many classes those with the most test samples are drawn, because the picture grows with their square.
    """
    totals: Counter[int] = Counter()
    for (true, _), n in counts.items():
        totals[true] += n
    drawn = sorted(sorted(range(len(class_names)), key=lambda c: (-totals[c], c))[:MOST_DRAWN])
    place, all_classes = {c: i for i, c in enumerate(drawn)}, len(class_names)
    many, class_names = len(drawn), [class_names[c] for c in drawn]
    cell = 30.0 if many <= 20 else max(4.0, 600.0 / many)
    names = many <= 40
    size = min(11.0, cell * 0.8)
    longest = max([len(shortened(name, 14)) for name in class_names], default=0)
    left = 30 + (0.6 * size * longest if names else 0)
    top = 52 + (0.6 * size * longest if names else 0)
    wrong = sum(n for (true, predicted), n in counts.items() if true != predicted)
    label = f"Class confusion: {wrong} of {sum(counts.values())} test samples taken for another class"
    drawing = Drawing(max(340, math.ceil(left + cell * many + 12)), math.ceil(top + cell * many + 12), label)
    drawing.text(10, 18, "True class (rows) and predicted class (columns)", fill="ink", size=13)
    if many < all_classes:
        drawing.text(10, 36, f"The {many} of {all_classes} classes with the most test samples", size=11)
    drawing.rect(left, top, cell * many, cell * many, "panel")
    for (true, predicted), n in sorted(counts.items()):
        if true not in place or predicted not in place:
            continue
        x, y = left + cell * place[predicted], top + cell * place[true]
        share = n / totals[true]
        role = "accent" if true == predicted else "warn"
        drawing.rect(x, y, cell, cell, role, opacity=0.12 + 0.43 * share)
        if cell >= 20:
            drawing.text(x + cell / 2, y + cell / 2 + 4, f"{n}", anchor="middle", fill="ink", size=10)
    for i, name in enumerate(class_names if names else ()):
        drawing.text(left - 5, top + cell * (i + 0.5) + 4, shortened(name, 14), anchor="end", size=size)
        drawing.text(left + cell * (i + 0.5) + 4, top - 6, shortened(name, 14), size=size, upright=False)
    return drawing


def _bars(drawing: Drawing, sums: MetricSums, left: float, top: float, side: float, whiskers: bool = False) -> None:
    curve = calibration_curve(sums)
    wide = side / len(curve.count)
    drawing.rect(left, top, side, side, "panel", stroke="grid")
    for i, (confidence, accuracy) in enumerate(zip(curve.confidence, curve.accuracy, strict=True)):
        if confidence is None or accuracy is None:
            continue
        x, gap = left + i * wide, max(1.0, abs(accuracy - confidence) * side)
        drawing.rect(x + 0.5, top + side * (1 - accuracy), wide - 1, max(0.01, side * accuracy), "accent", opacity=0.85)
        y = top + side * (1 - max(accuracy, confidence))
        drawing.rect(x + 0.5, y, wide - 1, gap, "warn", opacity=0.35)
        x0, x1, y1 = x + 0.5, x + wide - 0.5, y + gap
        drawing.line([(x0, y), (x1, y), (x1, y1), (x0, y1), (x0, y)], "warn")
        share = share_estimate(accuracy * curve.count[i], curve.count[i])
        if share is not None and whiskers:
            ends = [(x + wide / 2, top + side * (1 - end)) for end in (share.low, share.high)]
            drawing.line(ends, "ink", width=1.4)
    drawing.line([(left, top + side), (left + side, top)], "ink", dashed=True, opacity=0.7)
    if not sums.n:
        drawing.text(left + side / 2, top + side / 2, "no sample", anchor="middle")


def _legend(drawing: Drawing, x: float, y: float) -> None:
    drawing.rect(x - 4, y - 4, 112, 50, "panel", opacity=0.9)
    drawing.rect(x, y, 10, 10, "accent", opacity=0.85)
    drawing.text(x + 15, y + 9, "accuracy", size=10)
    drawing.rect(x, y + 15, 10, 10, "warn", opacity=0.35, stroke="warn")
    drawing.text(x + 15, y + 24, "gap to confidence", size=10)
    drawing.line([(x + 5, y + 30), (x + 5, y + 40)], "ink", width=1.4)
    drawing.text(x + 15, y + 39, "95 % interval", size=10)


def _said(sums: MetricSums) -> str:
    values = summarise(sums)
    if not sums.n:
        return "no sample"
    return (
        f"accuracy {percent(values['accuracy'])}, expected calibration error {number(values['ece'])}, "
        f"maximum {number(values['mce'])}, {sums.n} samples"
    )


def _brief(sums: MetricSums) -> str:
    values = summarise(sums)
    return f"{percent(values['accuracy'])}, ECE {number(values['ece'])}, n {sums.n}" if sums.n else "no sample"


def _ticks(low: float, high: float, about: int) -> list[float]:
    """Round numbers from at most `low` to at least `high`."""
    if high - low < 1e-9:
        low, high = low - 0.5 * (abs(low) or 1) * 0.1, high + 0.5 * (abs(high) or 1) * 0.1
    rough = (high - low) / about
    power = 10.0 ** math.floor(math.log10(rough))
    step = power * next(m for m in (1, 2, 5, 10) if m * power >= rough * 0.999)
    first, last = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
    return [i * step for i in range(first, last + 1)]


def _axis_label(key: str, tick: float, ticks: Sequence[float]) -> str:
    step = ticks[1] - ticks[0]
    if is_share(key):
        return f"{100 * tick:.{max(0, -math.floor(math.log10(100 * step) + 1e-9))}f} %"
    return f"{tick:.{max(0, min(6, -math.floor(math.log10(step) + 1e-9)))}f}"
