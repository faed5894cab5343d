"""The software that a program runs with, as runs, greetings and ``pfedgp doctor`` name it."""

import importlib.metadata
import platform

__all__ = ["software_versions"]


def software_versions() -> dict[str, str]:
    """Return the versions of Python and of the packages that decide results and compatibility."""
    versions = {"python": platform.python_version()}
    for package in ("pfedgp", "flwr", "numpy", "polyagamma", "scikit-learn", "torch"):
        try:
            versions[package] = importlib.metadata.version(package)
        except importlib.metadata.PackageNotFoundError:
            versions[package] = "not installed"
    return versions
