"""Code that a server names, as a method or a network of its own: a site runs it only with its operator's consent."""

from collections.abc import Mapping
from typing import Any

from pfedgp_core.config import Settings
from pfedgp_core.errors import ConfigError

__all__ = ["ALLOWED", "refuse_foreign_code"]

ALLOWED = "allow-code"  # node config: import paths that this site's operator lets a server name, separated by commas


def refuse_foreign_code(settings: Settings, node_config: Mapping[str, Any]) -> None:
    """Make sure that the settings of another machine name only what belongs to pFedGP, or what the operator allowed.

    Nothing is imported. A node without data of its own is a part of a simulation, whose code is its caller's.

    Raises
    ------
    ConfigError
        The method or the network is an import path that the operator has not allowed.
    """
    if "data-path" not in node_config:
        return
    allowed = {path.strip() for path in str(node_config.get(ALLOWED, "")).split(",")}
    for kind, name in (("method", settings.method), ("network", settings.network)):
        if ":" in name and name not in allowed:
            raise ConfigError(
                f"The server names the {kind} {name!r}, which is code that is not a part of pFedGP: if you trust it, "
                f"install it here and start this site with --allow-{kind} {name}."
            )
