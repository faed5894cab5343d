"""The figure of an experiment: a panel for each column, in which each row has the paper's number and ours."""

from collections.abc import Callable, Mapping, Sequence

from pfedgp.experiments.estimates import Entry
from pfedgp.experiments.specification import Experiment
from server.report.drawing import Drawing
from server.report.wording import shortened

__all__ = ["figure"]

WIDTH, LEFT, RIGHT = 720.0, 235.0, 80.0
LINE, HEAD, FOOT = 20.0, 58.0, 30.0
_INNER = 8.0  # between the panel's sides and its smallest and largest numbers
Place = Callable[[float], float]


def figure(experiment: Experiment, found: Mapping[tuple[str, str], Entry]) -> Drawing:
    """Draw what has a number; a row without any of ours says so."""
    columns = list(dict.fromkeys(column for _, column in found))
    panels = [[entry for (_, name), entry in found.items() if name == column] for column in columns]
    height = HEAD + sum(_height(rows) for rows in panels)
    drawing = Drawing(WIDTH, height, f"{experiment.title}: the paper's numbers and ours, by method")
    drawing.text(10, 20, shortened(experiment.title, 80), fill="ink", size=14)
    _legend(drawing, experiment)
    top = HEAD
    for column, rows in zip(columns, panels, strict=True):
        _panel(drawing, top, experiment.columns[column].title, rows, experiment.percent)
        top += _height(rows)
    return drawing


def _height(rows: Sequence[Entry]) -> float:
    return LINE * (len(rows) + 1) + FOOT


def _legend(drawing: Drawing, experiment: Experiment) -> None:
    unit = f"{experiment.metric.replace('_', ' ')}{', %' if experiment.percent else ''}"
    drawing.dot(16, 38, 4, stroke="muted")
    drawing.text(26, 42, "paper", size=11)
    drawing.dot(86, 38, 4, fill="accent")
    drawing.text(96, 42, "ours", size=11)
    drawing.dot(150, 38, 3, fill="warn")
    drawing.text(160, 42, f"ours, own classes    ({unit}; lines: standard error)", size=11)


def _panel(drawing: Drawing, top: float, title: str, rows: Sequence[Entry], percent: bool) -> None:
    drawing.text(10, top + 14, shortened(title, 80), fill="ink", size=12)
    low, high = _range(rows)
    wide, inner = WIDTH - LEFT - RIGHT, WIDTH - LEFT - RIGHT - 2 * _INNER
    drawing.rect(LEFT, top + LINE, wide, LINE * len(rows), "panel", stroke="grid")

    def place(value: float) -> float:
        return LEFT + _INNER + inner * (value - low) / (high - low)

    for value in (low, (low + high) / 2, high):
        text = f"{value:.0f}" if percent and high - low >= 4 else f"{value:.1f}" if percent else f"{value:.3f}"
        drawing.text(place(value), top + LINE * (len(rows) + 1) + 14, text, anchor="middle", size=10)
    for i, entry in enumerate(rows):
        y = top + LINE * (i + 1) + LINE / 2
        drawing.text(LEFT - 8, y + 4, shortened(entry.row.title, 38), anchor="end", fill="ink", size=11)
        if entry.paper is not None:
            _error(drawing, place, entry.paper.value, entry.paper.error, y - 3, "muted")
            drawing.dot(place(entry.paper.value), y - 3, 4, stroke="muted")
        if entry.ours is None:
            drawing.text(LEFT + wide + 6, y + 4, shortened(entry.state, 14), size=10)
            continue
        if entry.own is not None and abs(entry.own.mean - entry.ours.mean) > 1e-9:
            drawing.dot(place(entry.own.mean), y + 3, 3, fill="warn")
        _error(drawing, place, entry.ours.mean, entry.ours.error, y + 3, "accent")
        drawing.dot(place(entry.ours.mean), y + 3, 4, fill="accent")


def _error(drawing: Drawing, place: Place, value: float, error: float | None, y: float, stroke: str) -> None:
    if error:
        drawing.line([(place(value - error), y), (place(value + error), y)], stroke, width=1.5)


def _range(rows: Sequence[Entry]) -> tuple[float, float]:
    values: list[float] = []
    for entry in rows:
        for each in (entry.ours, entry.own):
            values += [] if each is None else [each.mean - (each.error or 0.0), each.mean + (each.error or 0.0)]
        if entry.paper is not None:
            spread = entry.paper.error or 0.0
            values += [entry.paper.value - spread, entry.paper.value + spread]
    low, high = (min(values), max(values)) if values else (0.0, 1.0)
    return (low, high) if high - low > 1e-9 else (low - 0.5, high + 0.5)
