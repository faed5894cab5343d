"""Code and paths that a server names: a site takes its own operator's alone."""

from collections.abc import Mapping
from typing import Any

from pfedgp_core.config import Settings
from pfedgp_core.foreign_code import refuse_foreign_code

__all__ = ["ALLOWED", "allowed_code", "is_deployed", "refuse_code_of_server", "with_own_root"]

ALLOWED = "allow-code"  # node config: import paths that this site's operator lets a server name, separated by commas


def is_deployed(node_config: Mapping[str, Any]) -> bool:
    """Whether the node is a site of its own, where the server's operator is a stranger.

    ``pfedgp client`` always gives `ALLOWED`, and a node of Flower's own programs with ``data-path`` has private data.
    Any other is a part of a simulation, whose code and paths are its caller's.
    """
    return "data-path" in node_config or ALLOWED in node_config


def allowed_code(node_config: Mapping[str, Any]) -> tuple[str, ...]:
    """The import paths that this site's operator lets a server name."""
    paths = (path.strip() for path in str(node_config.get(ALLOWED, "")).split(","))
    return tuple(path for path in paths if path)


def refuse_code_of_server(settings: Settings, node_config: Mapping[str, Any]) -> None:
    """Make sure that the settings of another machine name only what belongs to pFedGP, or what the operator allowed.

    Raises
    ------
    ConfigError
        The method or the network is an import path that the operator has not allowed; nothing was imported.
    """
    if is_deployed(node_config):
        refuse_foreign_code(
            {"method": settings.method, "network": settings.network},
            allowed_code(node_config),
            "The server",
            "start this site with --allow-{kind} {name}",
        )


def with_own_root(settings: Settings, node_config: Mapping[str, Any]) -> Settings:
    """The settings with the folder of the simulated data that this site's operator gave, in place of the server's."""
    if not is_deployed(node_config):
        return settings
    return settings.replace(data_root=str(node_config.get("data-root", "")).strip())
