"""Whether the patches of Flower and Ray fit what is installed here."""

from collections.abc import Sequence

from pfedgp.doctor.problem import Check, Problem
from pfedgp_core.patch import FLOWER, Patch, lost_patches

__all__ = ["check_patches"]


def check_patches(patches: Sequence[Patch]) -> Check:
    """See that all patches find in the installed Flower what they need; name those that do not.

    One that carries safety is a problem, because nothing starts without it; any other is a warning.
    """
    if refused := lost_patches(patches, safety=True):
        problem = Problem("flower-patches", " ".join(refused), f"Install {FLOWER}.", lasting=True)
        return Check("Flower", "", problem)
    left_out = lost_patches(patches, safety=False)
    fact = f"{len(patches) - len(left_out)} patches fit: {', '.join(p.name for p in patches if not p.missing())}"
    if left_out:
        problem = Problem("flower-patches", " ".join(left_out), f"Install {FLOWER}.", lasting=False, warning=True)
        return Check("Flower", fact, problem)
    return Check("Flower", fact)
