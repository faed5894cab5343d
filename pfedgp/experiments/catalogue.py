"""The experiments that come with pFedGP, by name, and where they lie."""

from pathlib import Path

from pfedgp.experiments.reading import near
from pfedgp_core.errors import ConfigError

__all__ = ["find_experiment", "known_experiments"]

_ROOTS = (Path(__file__).resolve().parents[2], Path())  # a checkout, and the working folder
_FOLDERS = ("experiments/paper", "experiments/field")


def known_experiments() -> dict[str, Path]:
    """The file of each experiment by its name, those of the paper first."""
    known: dict[str, Path] = {}
    for folder in _FOLDERS:
        for root in _ROOTS:
            for file in sorted((root / folder).glob("*.toml")):
                known.setdefault(file.stem, file)
    return known


def find_experiment(name: str) -> Path:
    """The file of an experiment that is named, or given as a path.

    Raises
    ------
    ConfigError
        There is none of that name.
    """
    if name.endswith(".toml"):
        return Path(name).expanduser()
    known = known_experiments()
    if name not in known:
        remedy = near(name, known) if known else "give the path of a .toml file; a checkout of pFedGP has some."
        raise ConfigError(f"Unknown experiment {name!r}: {remedy}")
    return known[name]
