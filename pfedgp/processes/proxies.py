"""HTTP proxies of the environment: connections within this machine never go through one."""

import os
import re
from collections.abc import Mapping

__all__ = ["direct", "keep_direct"]

LOOPBACK = ("localhost", "127.0.0.1", "::1")
_PROXY = re.compile(r"(?:grpc|https?|all)_proxy", re.IGNORECASE)


def direct(environment: Mapping[str, str], *hosts: str) -> dict[str, str]:
    """Return the variables by which programs reach this machine without the proxies of an environment.

    The exceptions that the user has set stay. gRPC and most programs read the names in lower case, some the others.

    Parameters
    ----------
    environment : mapping
    *hosts : str
        Further hosts that are reached directly.

    Returns
    -------
    dict
        Empty where the environment names no proxy.
    """
    if not any(value and _PROXY.fullmatch(name) for name, value in environment.items()):
        return {}
    own = (*LOOPBACK, *hosts)
    entries = _joined(environment.get("no_proxy") or environment.get("NO_PROXY", ""), own)
    variables = {"no_proxy": entries, "NO_PROXY": entries}
    if environment.get("no_grpc_proxy"):  # where it is set, gRPC does not look at the other
        variables["no_grpc_proxy"] = _joined(environment["no_grpc_proxy"], own)
    return variables


def keep_direct(*hosts: str) -> None:
    """Set these variables in this process, and so in all that it starts."""
    os.environ.update(direct(os.environ, *hosts))


def _joined(given: str, more: tuple[str, ...]) -> str:
    entries = [entry.strip() for entry in given.split(",") if entry.strip()]
    return ",".join(dict.fromkeys([*entries, *filter(None, more)]))
