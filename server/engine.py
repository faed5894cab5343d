"""Properties of the engine that carries a run's messages: requests at a time, and whether evaluations ride along."""

from dataclasses import dataclass

__all__ = ["DEPLOYMENT", "Engine"]


@dataclass(frozen=True)
class Engine:
    """How a run may use its grid.

    Attributes
    ----------
    name : str
        ``simulation`` or ``deployment``, as the origin of a run says it.
    window : int or None
        Requests that may be under way at a time; None stands for any number.
    riding : bool
        Whether the evaluation of a round's model rides in the next round's exchange, which is worth it where every
        exchange costs most of a second.
    patches_missing : tuple of str
        Patches of the engine that this run goes on without, because they do not fit what is installed; a sentence each.
    steady : bool
        Whether all nodes are there from the start to the end.
    backend : str
        What runs the clients of a simulation; empty in a deployment.
    """

    name: str
    window: int | None
    riding: bool
    patches_missing: tuple[str, ...] = ()
    steady: bool = False
    backend: str = ""


DEPLOYMENT = Engine("deployment", window=None, riding=True)
