"""The method of the run that this process serves, built once and used for every request."""

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

import torch

from pfedgp_core.config import Settings
from pfedgp_core.data.samples import ClientData
from pfedgp_core.errors import ConfigError
from pfedgp_core.methods.base import Method
from pfedgp_core.methods.make import make_method
from pfedgp_core.registry import is_import_path

__all__ = ["ALLOWED", "site_method"]

ALLOWED = "allow-methods"  # node config: import paths that this site's operator lets a server name, by commas


def site_method(settings: Settings, data: ClientData, node_config: Mapping[str, Any]) -> Method:
    """Return the run's method, with its buffers where the data are.

    Building a network costs more than a small client's update, so a process keeps the last one. A request overwrites
    all that travels and all that is kept, which is all that is used.

    Raises
    ------
    ConfigError
        The method is not known here; or the server names code, and this site's operator has not allowed that.
    """
    _refuse_foreign_code(settings.method, node_config)
    inputs = data.train.inputs
    return _built(settings, tuple(inputs.shape[1:]), len(data.class_names), inputs.device)


def _refuse_foreign_code(method: str, node_config: Mapping[str, Any]) -> None:
    """A site with data of its own runs no code that only the server has chosen; a simulation is the caller's own."""
    if not is_import_path(method) or "data-path" not in node_config:
        return
    allowed = [path.strip() for path in str(node_config.get(ALLOWED, "")).split(",")]
    if method not in allowed:
        raise ConfigError(
            f"The server's run uses the method {method!r}, which is code that is not a part of pFedGP: if you trust "
            f"it, install it here and start this site with --allow-method {method}."
        )


@lru_cache(maxsize=1)
def _built(settings: Settings, input_shape: tuple[int, ...], class_count: int, device: torch.device) -> Method:
    return make_method(settings, input_shape, class_count, device)
