"""The part of Flower that the agent needs: it replaces Flower's own programs, which would run any app."""

import importlib
from typing import ClassVar

from pfedgp_core.patch import Patch

__all__ = ["OwnAgent"]

TESTED = "1.39."


class OwnAgent(Patch):
    """The agent takes the messages of a SuperNode; it speaks to interfaces that Flower keeps for its own programs."""

    name: ClassVar = "own-agent"
    purpose: ClassVar = "a site runs its installed app and no other"
    safety: ClassVar = True

    def missing(self) -> str:
        """The version where it is untested, or the part that is gone."""
        import flwr

        if not flwr.__version__.startswith(TESTED):
            return f"Flower {flwr.__version__} is installed and {TESTED}x is what it was tested with"
        try:
            importlib.import_module("pfedgp.site.agent")
        except ImportError as error:
            return str(error)
        return ""
