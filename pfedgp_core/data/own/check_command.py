"""The command that shows all that is wrong with data, with every option that it needs to read them alike."""

import shlex
from pathlib import Path

from pfedgp_core.data.own.layout import Layout

__all__ = ["check_command"]


def check_command(path: str | Path, label_column: str, layout: Layout) -> str:
    """``pfedgp check-data`` with the options by which data were read, to be pasted into a shell.

    Parameters
    ----------
    path : str or Path
        Of the data.
    label_column : str
        Column of a table with the class.
    layout : Layout
        How the values of samples stand.

    Examples
    --------
    >>> check_command("a.csv", "outcome", Layout(group_column="patient"))
    'pfedgp check-data a.csv --label-column outcome --group-column patient'
    """
    words = ["pfedgp", "check-data", str(path)]
    if label_column != "label":
        words += ["--label-column", label_column]
    for key, value in layout.to_config().items():
        words += [f"--channels-{value}"] if key == "channels" else [f"--{key}", value]
    return shlex.join(words)
