"""Notes on data, on the standard error, so that the standard output holds nothing but results."""

import sys
from collections.abc import Sequence

__all__ = ["print_notes"]


def print_notes(notes: Sequence[str], looked_at: str) -> None:
    """Print each note in a line that says which samples it stands on, as "by the first 2048 samples"."""
    for note in notes:
        print(f"Note, {looked_at}: {note}", file=sys.stderr, flush=True)
