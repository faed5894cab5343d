"""The folder in which data sets lie by default."""

import os
from pathlib import Path

__all__ = ["data_folder"]


def data_folder(root: str) -> Path:
    """The folder or file that the setting ``data-root`` names.

    Where it is empty: ``$XDG_DATA_HOME/pfedgp``, or ``~/.local/share/pfedgp``.
    """
    if root:
        return Path(root).expanduser()
    base = os.environ.get("XDG_DATA_HOME")
    return (Path(base) if base else Path(os.path.expanduser("~")) / ".local" / "share") / "pfedgp"  # noqa: PTH111 (as in array_cache)
