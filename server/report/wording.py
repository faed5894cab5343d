"""How numbers read in tables and log lines; ``n/a`` stands for a number that does not exist."""

from pfedgp_core.metrics.classification import TEMPERATURE_GRID

__all__ = ["doubt_of", "duration", "is_share", "measure", "number", "percent", "shortened", "size", "title"]

MISSING = "n/a"
_FEW = 100  # validation samples, below which one of them decides between temperatures
_TITLES = {
    "name": "client",
    "n_train": "train",
    "n_test": "test",
    "rounds_trained": "rounds trained",
    "last_trained_round": "last trained",
    "train_loss": "training loss",
    "brier": "Brier score",
    "coverage": "95 % interval coverage",
    "standard_rmse": "RMSE [sd]",
    "validation_standard_rmse": "validation RMSE [sd]",
}
_SHORT = {"ece", "mce", "nll", "rmse", "mae", "nlpd", "r2"}  # written in capitals


def number(value: float | None) -> str:
    """Three decimals."""
    return MISSING if value is None else f"{value:.3f}"


def percent(value: float | None) -> str:
    """A share, as percentage with one decimal."""
    return MISSING if value is None else f"{100 * value:.1f} %"


def measure(key: str, value: float | None) -> str:
    """A measure by its key: shares of samples as percentages, all else with three decimals."""
    return percent(value) if is_share(key) else number(value)


def is_share(key: str) -> bool:
    """Whether a measure is a share of samples, which reads best as a percentage."""
    return key.endswith(("accuracy", "coverage"))


def duration(seconds: float | None) -> str:
    """Seconds, in the unit that reads best; whole numbers without decimals."""
    if seconds is None:
        return MISSING
    if seconds < 10 and not isinstance(seconds, int):
        return f"{seconds:.2f} s"
    if seconds < 120:
        return f"{seconds:.0f} s"
    if seconds < 7200:
        return f"{seconds / 60:.0f} min"
    return f"{seconds / 3600:.1f} h"


def size(count: float) -> str:
    """Bytes, in the decimal unit that reads best."""
    for unit in ("B", "kB", "MB", "GB"):
        if count < 1000:
            return f"{count:.0f} {unit}" if unit == "B" else f"{count:.1f} {unit}"
        count /= 1000
    return f"{count:.1f} TB"


def shortened(text: str, width: int) -> str:
    """On one line, at most `width` characters."""
    line = " ".join(str(text).split())
    return line if len(line) <= width else line[: width - 3] + "..."


def doubt_of(temperature: float, samples: int | None) -> str:
    """Why the temperature with the smallest ECE may be an accident of `samples` validation samples; mostly empty."""
    reasons = ["the grid's edge"] if temperature in (TEMPERATURE_GRID[0], TEMPERATURE_GRID[-1]) else []
    if samples is not None and samples < _FEW:
        reasons.append(f"only {samples} validation {'sample' if samples == 1 else 'samples'}")
    return ", ".join(reasons)


def title(key: str) -> str:
    """The heading of a column or a chart: ``validation_ece`` reads ``validation ECE``."""
    words = _TITLES.get(key, key.replace("_", " ")).split()
    return " ".join(word.upper() if word in _SHORT else word for word in words)
