"""Commands and folders as an operator knows them when pfedgp runs inside another program, as in a container.

The program that starts pfedgp, such as a compose file, sets environment variables; without them nothing changes.

``PFEDGP_CALLED_AS``
    What stands in place of ``pfedgp`` and of the options that name the server, as ``docker compose run --rm runner``.
``PFEDGP_RUNS_MOUNT``
    ``FOLDER:RUNS``: the operator's own name of the folder that is ``RUNS`` here, as ``./out:/state/runs``.
``PFEDGP_INTERNAL_CONTROL``
    ``HOST:PORT``: the Control address that only the server's own containers can reach.
"""

import os
import re

__all__ = ["called_as", "control_is_internal", "internal_host", "shown"]

# The verbs that an operator gives to a server.
_VERBS = "run|resume|status|stop|report"


def called_as() -> str:
    """The words by which the operator calls pfedgp for this server; empty where it is ``pfedgp`` itself."""
    return os.environ.get("PFEDGP_CALLED_AS", "").strip()


def control_is_internal(address: str) -> bool:
    """Whether it is known that only the server's own containers reach its Control API at `address`, a ``HOST:PORT``."""
    return bool(address) and os.environ.get("PFEDGP_INTERNAL_CONTROL") == address


def internal_host() -> str:
    """The host of the Control address that only the server's own containers can reach; empty where there is none."""
    return os.environ.get("PFEDGP_INTERNAL_CONTROL", "").rpartition(":")[0]


def shown(text: str) -> str:
    """Put the operator's own words for commands and for folders of runs into a text, where they differ."""
    own, _, runs = os.environ.get("PFEDGP_RUNS_MOUNT", "").rpartition(":")
    called, runs = called_as(), re.escape(runs.rstrip("/"))
    if called:
        text = re.sub(rf"\bpfedgp (?=({_VERBS})\b)", lambda _: f"{called} ", text)
        if runs:  # a run is known by its name there
            text = re.sub(rf"(?<= )({_VERBS}|--attach) {runs}/(?=[\w.])", r"\1 ", text)
    if own and runs:
        text = re.sub(rf"(?<![\w./-]){runs}(?![\w-])", lambda _: own.rstrip("/"), text)
    return text
