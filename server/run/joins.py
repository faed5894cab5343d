"""Checkpoints from before a client joined, in ``checkpoints/joins``, from which a run goes on without that client.

The last three checkpoints alone would not be enough, because sites leave long after they came. A run whose clients are
all there before round 1 keeps none.
"""

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

from server.run.checkpoint import CHECKPOINTS, Checkpoint, checkpoint_name, whole_checkpoints
from server.run.files import explained

__all__ = ["before_joins", "drop_joins_after", "keep_before_join"]

JOINS, MOST = "joins", 20  # folder; checkpoints there, each of which has the size of the model or two


def keep_before_join(run: Path, round: int) -> None:
    """Keep the last checkpoint, that of a round after which somebody joined; ArtefactError where it cannot be."""
    source, folder = run / CHECKPOINTS / checkpoint_name(round), run / CHECKPOINTS / JOINS
    target = folder / source.name
    with explained(target):
        if target.exists() or not source.exists():
            return
        folder.mkdir(exist_ok=True)
        try:
            os.link(source, target)
        except OSError:  # a file system without links
            shutil.copyfile(source, target)
        for old in _files(run)[:-MOST]:
            old.unlink(missing_ok=True)


def drop_joins_after(run: Path, round: int) -> None:
    """Forget those of later rounds, which a run that goes on from a former one does again."""
    for path in _files(run):
        if _age(path) > _age(Path(checkpoint_name(round))):
            with explained(path):
                path.unlink(missing_ok=True)


def before_joins(run: Path) -> Iterator[Checkpoint]:
    """The checkpoints of a run that are whole, those before a join too, newest first."""
    folders = (run / CHECKPOINTS / JOINS, run / CHECKPOINTS)
    found = {kept.round: kept for folder in folders for kept in whole_checkpoints(folder)}
    yield from (found[round] for round in sorted(found, reverse=True))


def _files(run: Path) -> list[Path]:
    """Oldest first."""
    folder = run / CHECKPOINTS / JOINS
    return sorted(folder.glob("round-*.safetensors"), key=_age) if folder.is_dir() else []


def _age(path: Path) -> tuple[int, str]:
    """Orders names by their number, of which the longest is the largest."""
    return len(path.name), path.name
