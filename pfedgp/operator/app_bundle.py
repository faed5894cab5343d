"""The app as a Flower bundle, built from the installed packages, with the keys of a run's config and nothing else."""

import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pfedgp import __version__
from pfedgp_core.errors import RunFailedError
from server.run.settings import toml_value

__all__ = ["app_files", "build_bundle"]

PACKAGES = ("client", "pfedgp_core", "server")
APP = f"""\
[build-system]
requires = ["setuptools>=77"]
build-backend = "setuptools.build_meta"

[project]
name = "pfedgp"
version = "{__version__}"
description = "Personalised federated learning with Gaussian processes"
license = "Apache-2.0"
dependencies = ["flwr"]

[tool.flwr.app]
publisher = "pfedgp"

[tool.flwr.app.components]
serverapp = "server.server_app:app"
clientapp = "client.client_app:app"

[tool.flwr.app.config]
"""


def app_files(defaults: Mapping[str, Any]) -> dict[str, bytes]:
    """Return the files of the app: the installed packages, and a ``pyproject.toml`` with `defaults` as run config."""
    root = Path(__file__).resolve().parent.parent.parent
    files = {
        str(path.relative_to(root)): path.read_bytes()
        for package in PACKAGES
        for path in sorted((root / package).rglob("*.py"))
    }
    config = "".join(f"{key} = {toml_value(value)}\n" for key, value in defaults.items())
    return files | {"pyproject.toml": (APP + config).encode()}


def build_bundle(defaults: Mapping[str, Any]) -> tuple[bytes, str]:
    """Build the bundle.

    The values of a run travel beside the bundle, so that all runs of a version share one, which Flower installs once.

    Parameters
    ----------
    defaults : mapping
        A value for each key that a run may set.

    Returns
    -------
    bytes
        The bundle.
    str
        Its SHA-256.

    Raises
    ------
    RunFailedError
        Flower refuses the app.
    """
    import click
    from flwr.cli.build import build_fab_from_files

    try:
        content = build_fab_from_files(app_files(defaults))[0]
    except (click.ClickException, ValueError) as error:
        raise RunFailedError(f"Flower cannot build the app ({error}): install pfedgp again.") from error
    return content, hashlib.sha256(content).hexdigest()
