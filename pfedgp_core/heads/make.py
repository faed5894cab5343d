"""A head by the name of its task."""

from pfedgp_core.config import Settings
from pfedgp_core.heads.base import Head
from pfedgp_core.registry import TASKS, entry

__all__ = ["make_head"]


def make_head(settings: Settings) -> Head:
    """The head of ``settings.task``.

    Raises
    ------
    ConfigError
        The registry does not know the task.
    """
    made: Head = entry(TASKS, "task", settings.task).load()(settings)
    return made
