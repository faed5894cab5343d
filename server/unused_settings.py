"""Settings that were given and change nothing in a run, said before round 1 rather than ignored in silence."""

from pfedgp_core.config import Settings
from pfedgp_core.methods.base import Method
from pfedgp_core.registry import METHODS, is_gaussian
from pfedgp_core.wire.encodings import FLOAT32
from pfedgp_core.words import few

__all__ = ["unused_settings"]

_GAUSSIAN = ("variant", "objective")  # beside the group gp.*


def unused_settings(settings: Settings, method: Method) -> list[str]:
    """A sentence for each group of settings that differ from their defaults and say nothing to this method.

    Parameters
    ----------
    settings : Settings
    method : Method
        Of the run.
    """
    sentences = []
    others = [f"{key} = {value}" for key, value in settings.own.given if key.partition(".")[0] != method.name]
    if others:
        sentences.append(f"settings of other methods change nothing under method = {settings.method}: {few(others)}")
    if settings.method in METHODS and not is_gaussian(settings.method):
        usual = Settings().to_run_config()
        given = [
            f"{key} = {value}"
            for key, value in settings.to_run_config().items()
            if (key.startswith("gp.") or key in _GAUSSIAN) and value != usual[key]
        ]
        if given:
            sentences.append(
                f"settings of Gaussian processes change nothing under method = {settings.method}: {few(given)}"
            )
    if settings.update_encoding != FLOAT32 and not method.private:
        sentences.append(
            f"method = {settings.method} sends all bits, as its uploads are no updates: update-encoding = "
            f"{settings.update_encoding} changes nothing"
        )
    return sentences
