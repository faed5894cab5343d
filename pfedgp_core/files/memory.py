"""Whether this machine has the memory that a file asks for, before any of it is taken."""

from pfedgp_core.files.regular import MalformedError
from pfedgp_core.memory import group_limits
from pfedgp_core.words import size

__all__ = ["require_free"]


def require_free(needed: int, what: str = "it") -> None:
    """Raise MalformedError where `needed` bytes for `what` are more than this process can have now."""
    import psutil  # for the few files that are large

    free = int(min([psutil.virtual_memory().available, *group_limits()]))
    if needed > free:
        raise MalformedError(
            f"{what} take{'s' if what == 'it' else ''} {size(needed)} of memory, and {size(free)} are free"
        )
