"""Command line of pFedGP: personalised federated learning with Gaussian processes."""

__all__ = ["__version__"]

__version__ = "0.1.0"
