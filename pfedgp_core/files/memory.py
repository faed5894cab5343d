"""Whether this machine has the memory that a file asks for, before any of it is taken."""

from pfedgp_core.files.regular import MalformedError
from pfedgp_core.words import size

__all__ = ["require_memory"]


def require_memory(needed: int) -> None:
    """Raise MalformedError where `needed` bytes are more than this machine has free."""
    import psutil  # for the few files that are large

    free = psutil.virtual_memory().available
    if needed > free:
        raise MalformedError(f"it unpacks to {size(needed)}, and {size(free)} of memory are free")
