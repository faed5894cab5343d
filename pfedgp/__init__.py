"""Command line of pFedGP: personalised federated learning with Gaussian processes."""

from pfedgp.processes.own_packages import put_first

__all__ = ["__version__"]

__version__ = "0.1.0"

put_first()  # before any other import, which could find a package of the working folder
