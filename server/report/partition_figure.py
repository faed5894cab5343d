"""The figure of a partition: how many training samples of each class each simulated client holds."""

from collections.abc import Sequence

import numpy as np

from server.report.drawing import Drawing
from server.report.wording import shortened

__all__ = ["partition_figure"]

_LEFT, _TOP, _RIGHT, _BOTTOM = 110.0, 46.0, 16.0, 40.0
_WIDEST = 1200.0
_LONGEST = 16  # characters of a class name


def partition_figure(counts: np.ndarray, class_names: Sequence[str], heading: str) -> Drawing:
    """A map with a column for each client and a row for each class; the darker, the more samples.

    Parameters
    ----------
    counts : int array [clients, classes]
    class_names : sequence of str
    heading : str
    """
    clients, classes = counts.shape
    wide = float(np.clip(_WIDEST / clients, 2.0, 24.0))
    high = 20.0 if classes <= 30 else 8.0
    width, height = _LEFT + max(clients * wide, 300.0) + _RIGHT, _TOP + classes * high + _BOTTOM
    most = int(counts.max(initial=1))
    drawing = Drawing(width, height, f"{heading}: {clients} clients, at most {most} samples of a class")
    drawing.text(_LEFT, 18, heading, fill="ink", size=13)
    drawing.text(_LEFT, 36, f"training samples of a class, from 0 (white) to {most}", size=11)
    drawing.rect(_LEFT, _TOP, clients * wide, classes * high, "surface", stroke="grid")
    for client, c in np.argwhere(counts > 0).tolist():
        # A single sample shows too.
        strength = 0.08 + 0.92 * float(counts[client, c]) / max(most, 1)
        drawing.rect(_LEFT + client * wide, _TOP + c * high, wide, high, "accent", opacity=strength)
    step = max(1, round(classes * 10 / (classes * high)))
    for c in range(0, classes, step):
        drawing.text(_LEFT - 6, _TOP + (c + 0.5) * high + 4, shortened(class_names[c], _LONGEST), anchor="end", size=11)
    for client in {0, clients // 2, clients - 1}:
        drawing.text(_LEFT + (client + 0.5) * wide, _TOP + classes * high + 16, str(client), anchor="middle", size=11)
    drawing.text(_LEFT + clients * wide / 2, height - 8, "client", anchor="middle", size=11)
    return drawing
