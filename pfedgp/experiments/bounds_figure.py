"""The figure of an experiment's bounds: each against the true error, with the diagonal that no bound may be below."""

from collections.abc import Mapping, Sequence
from typing import Any

from pfedgp.experiments.bounds_table import RISKS, Certified
from server.report.drawing import Drawing
from server.report.wording import shortened

__all__ = ["bounds_figure"]

SIDE, LEFT, TOP, GAP, FOOT = 260.0, 56.0, 64.0, 74.0, 62.0
_SHOWN = ("gibbs", "deployed")  # the two figures of the paper
_SMALLEST, _STEP = 2.5, 1.0  # radius of a dot at the smallest part of the samples, and by how much it grows


def bounds_figure(title: str, found: Sequence[Certified]) -> Drawing:
    """A panel for the Gibbs classifier and one for the answers, for each row and column with bounds."""
    high = TOP + SIDE + FOOT
    below = sum(point["bounds"][key] < point["errors"][key] for each in found for point in each.known for key in _SHOWN)
    total = len(_SHOWN) * sum(len(each.known) for each in found)
    said = f"{title}: bounds against true errors, {below} of {total} points below the diagonal"
    drawing = Drawing(LEFT + len(_SHOWN) * (SIDE + GAP), max(1, len(found)) * high, said)
    for i, each in enumerate(found):
        _row(drawing, i * high, each)
    return drawing


def _row(drawing: Drawing, top: float, each: Certified) -> None:
    drawing.text(10, top + 20, shortened(f"{each.row}, {each.column}", 90), fill="ink", size=13)
    shares = sorted({point["share"] for point in each.points})
    radii = {share: _SMALLEST + _STEP * i for i, share in enumerate(shares)}
    x = LEFT
    for share in shares:
        drawing.dot(x, top + 38, radii[share], fill="accent")
        drawing.text(x + 9, top + 42, f"{share:g} of the samples", size=11)
        x += 122
    drawing.dot(x, top + 38, _SMALLEST, stroke="muted")
    drawing.text(x + 9, top + 42, "paper's estimate", size=11)
    for j, key in enumerate(_SHOWN):
        _panel(drawing, LEFT + j * (SIDE + GAP), top + TOP, key, each.known, radii)


def _panel(
    drawing: Drawing,
    left: float,
    top: float,
    key: str,
    points: Sequence[Mapping[str, Any]],
    radii: Mapping[float, float],
) -> None:
    def place(error: float, bound: float) -> tuple[float, float]:
        return left + SIDE * error, top + SIDE * (1 - bound)

    drawing.rect(left, top, SIDE, SIDE, "panel", stroke="grid")
    drawing.line([place(0, 0), place(1, 1)], "muted", dashed=True)
    for value in (0.0, 0.25, 0.5, 0.75, 1.0):
        drawing.text(left + SIDE * value, top + SIDE + 16, f"{value:g}", anchor="middle", size=10)
        drawing.text(left - 6, top + SIDE * (1 - value) + 4, f"{value:g}", anchor="end", size=10)
    drawing.text(left + SIDE / 2, top + SIDE + 36, f"true error, {RISKS[key]}", anchor="middle", size=11)
    drawing.text(left - 34, top + SIDE / 2, "bound", anchor="middle", size=11, upright=False)
    for point in points:
        if key == "gibbs" and point["paper"] is not None:
            drawing.dot(*place(point["errors"][key], point["paper"]), radii[point["share"]], stroke="muted")
        wrong = point["bounds"][key] < point["errors"][key]
        at = place(point["errors"][key], point["bounds"][key])
        drawing.dot(*at, radii[point["share"]], fill="warn" if wrong else "accent")
