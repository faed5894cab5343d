"""Code outside pFedGP that a message or a file names: it runs only where the operator of this machine named it too."""

from collections.abc import Collection, Mapping

from pfedgp_core.backbones import is_frozen
from pfedgp_core.errors import ConfigError

__all__ = ["refuse_foreign_code"]


def refuse_foreign_code(named: Mapping[str, str], allowed: Collection[str], author: str, remedy: str) -> None:
    """Make sure that only what belongs to pFedGP is named, or what the operator allowed. Nothing is imported.

    A frozen backbone is no code of who names it: its file is one that the operator gave (`pfedgp_core.backbones`).

    Parameters
    ----------
    named : mapping of str to str
        Names of the registry or import paths, by kind (``method``, ``network``).
    allowed : collection of str
        Import paths that this machine's operator lets others name.
    author : str
        Who names it, as the beginning of a sentence.
    remedy : str
        What the operator can give; ``{kind}`` and ``{name}`` are filled in.

    Raises
    ------
    ConfigError
        An import path that is not allowed.
    """
    for kind, name in named.items():
        if ":" in name and name not in allowed and not (kind == "network" and is_frozen(name)):
            raise ConfigError(
                f"{author} names the {kind} {name!r}, which is code that is not a part of pFedGP: if you trust it, "
                f"install it here and {remedy.format(kind=kind, name=name)}."
            )
