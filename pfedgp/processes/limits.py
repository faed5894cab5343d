"""The number of files that a process may open, which many systems set low: checked before the work begins."""

import resource

from pfedgp_core.errors import ConfigError

__all__ = ["allow_files", "most_files"]


def most_files() -> int:
    """How many files this process may open at once, after `allow_files` has raised its limit."""
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    return 2**31 - 1 if hard == resource.RLIM_INFINITY else hard


def allow_files(needed: int, what: str) -> None:
    """Raise this process's limit of open files to `needed` where it is lower and the system allows it.

    Parameters
    ----------
    needed : int
        Files and connections that are open at once, with some room.
    what : str
        What needs them, as the subject of a sentence.

    Raises
    ------
    ConfigError
        The limit is lower and cannot be raised.
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft == resource.RLIM_INFINITY or soft >= needed:
        return
    if hard != resource.RLIM_INFINITY and hard < needed:
        raise ConfigError(
            f"{what} needs {needed} open files, and this process may have {hard}: raise the limit with "
            f"ulimit -n {needed}, or LimitNOFILE={needed} of a service."
        )
    resource.setrlimit(resource.RLIMIT_NOFILE, (needed, hard))
