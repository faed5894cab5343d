"""The one check of a stated probability, such as delta: strictly between 0 and 1."""

from pfedgp_core.errors import ConfigError

__all__ = ["require_level"]


def require_level(name: str, value: float, example: float = 0.01) -> None:
    """Make sure that `value` is a probability between 0 and 1; ConfigError with the name and an example if not."""
    if not 0 < value < 1:
        raise ConfigError(f"{name} = {value} is not between 0 and 1; give for example {example:g}.")
