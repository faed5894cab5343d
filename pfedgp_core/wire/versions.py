"""The software that a program runs with, as runs, greetings and ``pfedgp doctor`` name it."""

import importlib.metadata
import platform
from functools import cache

__all__ = ["software_versions"]


def software_versions() -> dict[str, str]:
    """Return the versions of Python and of the packages that decide results and compatibility."""
    return dict(_installed())


@cache  # asked for in every greeting; each answer reads a file a package
def _installed() -> dict[str, str]:
    versions = {"python": platform.python_version()}
    for package in ("pfedgp", "flwr", "numpy", "polyagamma", "scikit-learn", "torch"):
        try:
            versions[package] = importlib.metadata.version(package)
        except importlib.metadata.PackageNotFoundError:
            versions[package] = "not installed"
    return versions
