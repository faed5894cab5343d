"""The two pictures of a run of either task, as PNG. matplotlib is imported only when one is drawn."""

import io
import logging
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from pfedgp_core.metrics.classification import MetricSums, calibration_curve
from pfedgp_core.metrics.regression import RegressionSums, coverage_curve
from pfedgp_core.metrics.summary import summarise
from server.run.files import write_whole

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["accuracy_png", "coverage_png", "reliability_png", "rmse_png", "write_pictures"]

_log = logging.getLogger(__name__)

_BLUE, _RED, _GREY = "#2b6cb0", "#c53030", "#4a5568"


def accuracy_png(history: Sequence[Mapping[str, Any]]) -> bytes:
    """Draw validation accuracy over rounds, pooled over all clients, with the best round marked.

    Parameters
    ----------
    history : sequence of round records
        Rounds without an evaluation (``validation_accuracy`` None) are left out.
    """
    points = [
        (int(r["round"]), float(r["validation_accuracy"])) for r in history if r.get("validation_accuracy") is not None
    ]
    figure, (axes,) = _figure(6.4, 4.0, 1)
    axes.set(xlabel="round", ylabel="validation accuracy [%]", title="Accuracy of the personal classifiers")
    axes.grid(alpha=0.3)
    if points:
        rounds = [r for r, _ in points]
        percent = [100 * a for _, a in points]
        # Unclipped and above the frame, so that a curve at 100 % is seen.
        axes.plot(rounds, percent, color=_BLUE, marker="o", markersize=3.5, linewidth=1.5, clip_on=False, zorder=3)
        best = max((r["round"] for r in history if r.get("best")), default=None)
        if best in rounds:
            value = percent[rounds.index(best)]
            mark: dict[str, Any] = {"markersize": 9, "fillstyle": "none", "color": _RED, "clip_on": False, "zorder": 3}
            axes.plot([best], [value], "o", label=f"best: {value:.1f} %", **mark)
            axes.legend(frameon=False)  # where the curve is not
        axes.set_xlim(min(0, *rounds), max(rounds) * 1.04 + 0.5)
        axes.set_ylim(top=min(100.0, max(percent) + 3.0))
        axes.locator_params(axis="x", integer=True)
    else:
        _say(axes, "no round was evaluated")
    return _png(figure)


def reliability_png(sums: MetricSums) -> bytes:
    """Draw the reliability diagram of the pooled test predictions above the histogram of their confidence.

    Bars show the accuracy of each bin; the red part is its distance to the mean confidence. ECE is the mean of
    these distances, weighted with the counts below.
    """
    figure, (axes, counts) = _figure(5.2, 6.0, 2)
    curve = calibration_curve(sums)
    bins = len(curve.count)
    left = np.arange(bins) / bins
    full = np.array(curve.count) > 0
    confidence = np.array([np.nan if c is None else c for c in curve.confidence])
    accuracy = np.array([np.nan if a is None else a for a in curve.accuracy])
    box: dict[str, Any] = {"width": 1 / bins, "align": "edge", "linewidth": 0.8}

    axes.bar(left[full], accuracy[full], color=_BLUE, edgecolor="white", label="accuracy", **box)
    low = np.minimum(accuracy, confidence)
    gap = np.abs(accuracy - confidence)
    tinted: dict[str, Any] = {"facecolor": (0.77, 0.19, 0.19, 0.3), "edgecolor": _RED, "hatch": "//"}
    axes.bar(left[full], gap[full], bottom=low[full], label="gap to confidence", **tinted, **box)
    axes.plot([0, 1], [0, 1], "--", color=_GREY, linewidth=1, label="calibrated")
    axes.set(xlim=(0, 1), ylim=(0, 1), ylabel="accuracy", title=_title(sums))
    axes.legend(loc="upper left", frameon=False)

    counts.bar(left, curve.count, color=_GREY, edgecolor="white", **box)
    counts.set(xlim=(0, 1), xlabel="confidence", ylabel="samples")
    if not full.any():
        _say(axes, "no sample")
    return _png(figure)


def rmse_png(history: Sequence[Mapping[str, Any]]) -> bytes:
    """Draw the RMSE of a regression on the pooled validation data over rounds, in units of each client's deviation.

    Parameters
    ----------
    history : sequence of round records
        Rounds without an evaluation (``validation_standard_rmse`` None) are left out.
    """
    key = "validation_standard_rmse"
    points = [(int(r["round"]), float(r[key]), bool(r["best"])) for r in history if r.get(key) is not None]
    figure, (axes,) = _figure(6.4, 4.0, 1)
    axes.set(xlabel="round", ylabel="validation RMSE [deviations]", title="Error of the personal regressors")
    axes.grid(alpha=0.3)
    if points:
        rounds, errors = [p[0] for p in points], [p[1] for p in points]
        axes.plot(rounds, errors, color=_BLUE, marker="o", markersize=3.5, linewidth=1.5)
        best = [p for p in points if p[2]][-1:]
        for t, error, _ in best:
            axes.plot([t], [error], "o", markersize=9, fillstyle="none", color=_RED, label=f"best: {error:.3f}")
            axes.legend(frameon=False)
        axes.set_xlim(min(0, *rounds), max(rounds) * 1.04 + 0.5)
        axes.locator_params(axis="x", integer=True)
    else:
        _say(axes, "no round was evaluated")
    return _png(figure)


def coverage_png(sums: RegressionSums) -> bytes:
    """Draw the calibration of the intervals: share of pooled test targets inside the central interval of each level."""
    figure, (axes,) = _figure(5.2, 5.0, 1)
    curve = coverage_curve(sums)
    axes.plot([0, 1], [0, 1], "--", color=_GREY, linewidth=1, label="calibrated")
    axes.set(xlim=(0, 1), ylim=(0, 1), xlabel="level of the interval", ylabel="share of targets inside")
    axes.grid(alpha=0.3)
    if curve:
        levels, shares = zip(*curve, strict=True)
        axes.plot(levels, shares, color=_BLUE, marker="o", markersize=4, linewidth=1.5, label="measured")
        axes.set_title(f"Intervals: {100 * shares[-1]:.1f} % inside {100 * levels[-1]:.0f} %, {sums.n} samples")
    else:
        axes.set_title("Intervals")
        _say(axes, "no sample")
    axes.legend(loc="upper left", frameon=False)
    return _png(figure)


def _title(sums: MetricSums) -> str:
    values = summarise(sums)
    if not values["n"]:
        return "Reliability"
    return f"Reliability: ECE {values['ece']:.3f}, MCE {values['mce']:.3f}, {values['n']} samples"


def _figure(width: float, height: float, rows: int) -> "tuple[Figure, list[Axes]]":
    # A Figure without pyplot draws through Agg, needs no display and leaves no global state.
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), dpi=150, layout="constrained")
    ratios = [1] if rows == 1 else [3, 1]
    grid = figure.subplots(rows, 1, squeeze=False, sharex=rows > 1, gridspec_kw={"height_ratios": ratios})
    return figure, list(grid[:, 0])


def _say(axes: "Axes", text: str) -> None:
    axes.text(0.5, 0.5, text, transform=axes.transAxes, ha="center", va="center", color=_GREY)


def _png(figure: "Figure") -> bytes:
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png")
    return buffer.getvalue()


def write_pictures(folder: Path, history: Sequence[Mapping[str, Any]], sums: MetricSums | RegressionSums) -> None:
    """Draw the two pictures of the task; one that fails is a warning, not a failed run."""
    pair = (
        {"rmse": rmse_png, "coverage": coverage_png}
        if isinstance(sums, RegressionSums)
        else {"accuracy": accuracy_png, "reliability": reliability_png}
    )
    for (name, draw), shown in zip(pair.items(), (history, sums), strict=True):
        try:
            write_whole(folder / f"{name}.png", draw(shown))
        except Exception as error:
            _log.warning("The picture %s.png could not be made (%s: %s).", name, type(error).__name__, error)
