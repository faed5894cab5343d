"""Shares with their 95 % intervals, a line each, on an axis from 0 to 1."""

from collections.abc import Sequence

from pfedgp_core.metrics.intervals import Estimate
from server.report.drawing import Drawing
from server.report.wording import percent, shortened

__all__ = ["MOST_BARS", "interval_bars"]

MOST_BARS = 40
_LEFT, _WIDE, _RIGHT, _LINE = 112.0, 200.0, 164.0, 22.0


def interval_bars(heading: str, measured: str, rows: Sequence[tuple[str, Estimate]]) -> Drawing:
    """Draw a bar for each share, and its interval as a line across the bar's end.

    Parameters
    ----------
    heading : str
    measured : str
        What the shares are, for the legend.
    rows : sequence of (name, share)
        In the order to draw; the first `MOST_BARS` are.
    """
    drawn, top = rows[:MOST_BARS], 54.0
    bottom = top + _LINE * len(drawn)
    said = "; ".join(f"{name} {percent(share.value)}" for name, share in drawn[:5])
    drawing = Drawing(_LEFT + _WIDE + _RIGHT, bottom + 30, f"{heading}: {said}")
    drawing.text(8, 18, heading, fill="ink", size=13)
    drawing.rect(8, 30, 18, 8, "accent", opacity=0.55)
    drawing.text(31, 39, measured, size=11)
    after = 31 + 6.2 * len(measured) + 18
    drawing.line([(after, 34), (after + 18, 34)], "ink", width=1.6)
    drawing.text(after + 23, 39, "95 % interval", size=11)
    for tick in (0.0, 0.25, 0.5, 0.75, 1.0):
        x = _LEFT + _WIDE * tick
        drawing.line([(x, top), (x, bottom)], "grid")
        drawing.text(x, bottom + 16, f"{100 * tick:g} %", anchor="middle", size=11)
    for i, (name, share) in enumerate(drawn):
        middle = top + _LINE * (i + 0.5)
        value, low, high = (_LEFT + _WIDE * min(1.0, max(0.0, end)) for end in share)
        drawing.text(_LEFT - 8, middle + 4, shortened(name, 16), anchor="end", size=11, fill="ink")
        drawing.rect(_LEFT, middle - 6, max(0.5, value - _LEFT), 12, "accent", opacity=0.55)
        drawing.line([(low, middle), (high, middle)], "ink", width=1.6)
        for x in (low, high):
            drawing.line([(x, middle - 4), (x, middle + 4)], "ink", width=1.6)
        said = f"{percent(share.value)} ({100 * share.low:.1f} to {100 * share.high:.1f})"
        drawing.text(_LEFT + _WIDE + 12, middle + 4, said, size=11)
    return drawing
