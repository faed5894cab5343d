"""A method by its name or import path."""

import importlib
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import torch

from pfedgp_core.config import Settings
from pfedgp_core.errors import ConfigError, PFedGPError, RunFailedError
from pfedgp_core.files.regular import one_line
from pfedgp_core.methods.base import Method
from pfedgp_core.registry import METHODS, entry, is_import_path

__all__ = ["check_vector", "explained_method", "find_method", "make_method", "require_onboards"]


def make_method(
    settings: Settings, input_shape: tuple[int, ...], class_count: int, device: torch.device | str = "cpu"
) -> Method:
    """Make the method that ``settings.method`` names; raises as `find_method`."""
    found = find_method(settings)
    with explained_method(settings.method, "constructor"):
        return found(settings, input_shape, class_count, device)


@contextmanager
def explained_method(method: str, part: str) -> Iterator[None]:
    """Turn an exception of a user's own method into a sentence; what pFedGP raises stays as it is.

    Raises
    ------
    RunFailedError
        The `part` of the method raised something.
    """
    try:
        yield
    except PFedGPError:
        raise
    except Exception as error:
        if not is_import_path(method):  # a fault of ours, which needs its traceback
            raise
        brief = (str(error).splitlines() or [""])[0][:200].rstrip(".")
        raise RunFailedError(
            f"The {part} of method = {method!r} failed ({type(error).__name__}: {brief}): correct its code; "
            "PFEDGP_DEBUG=1 shows where."
        ) from error


def check_vector(method: str, part: str, vector: object) -> None:
    """Make sure that what a part of a method gave is a vector as it travels and is kept.

    Raises
    ------
    RunFailedError
        It is no float32 array of one dimension, or not finite.
    """
    if not isinstance(vector, np.ndarray) or vector.dtype != np.float32 or vector.ndim != 1:
        found = f"{vector.dtype} {list(vector.shape)}" if isinstance(vector, np.ndarray) else type(vector).__name__
        raise RunFailedError(f"The {part} of method = {method!r} is {found}: return a float32 array of one dimension.")
    if not np.isfinite(vector).all():
        raise RunFailedError(
            f"The {part} of method = {method!r} holds values that are not finite, so nothing of it is kept: lower its "
            "step sizes."
        )


def find_method(settings: Settings) -> type[Method]:
    """The class of the method that ``settings.method`` names; it goes with the settings.

    An import path is imported here. A caller that serves a request of another machine checks first whether that
    machine may name code (see `client.method`).

    Raises
    ------
    ConfigError
        There is no such method, it cannot be imported, is no `Method`, or does not go with a setting.
    """
    found = _imported(settings.method) if is_import_path(settings.method) else _registered(settings.method)
    if not found.name.isidentifier() and found.name not in METHODS:
        raise ConfigError(
            f"method = {settings.method!r} has the name {found.name!r}: give its class a name of one word."
        )
    for key, _ in settings.own.given:
        group, _, rest = key.partition(".")
        if group not in METHODS and (group != found.name or rest not in found.options):
            known = ", ".join(f"{found.name}.{own}" for own in found.options) or "none"
            raise ConfigError(f"Unknown setting {key!r}: the settings of this method are: {known}.")
    for own in found.options:
        settings.own.get(f"{found.name}.{own}", found.options)  # checks the value
    if settings.dp_noise > 0 and not found.private:
        raise ConfigError(
            f"dp-noise > 0 does not go with method = {settings.method!r}, whose update is not one vector that can be "
            "clipped: set dp-noise = 0, or choose another method."
        )
    with explained_method(settings.method, "check of settings"):
        found.check_settings(settings)
    return found


def require_onboards(settings: Settings, trusted: bool = False) -> None:
    """Make sure that a model of this method gives a site that did not train a classifier.

    Parameters
    ----------
    settings : Settings
        Of the model.
    trusted : bool
        Whether code that they name may be imported; otherwise a user's own method is not asked.

    Raises
    ------
    ConfigError
        It does not; or as `find_method`.
    """
    if is_import_path(settings.method) and not trusted:
        return
    if not find_method(settings).onboards:
        able = ", ".join(name for name, method in METHODS.items() if method.load().onboards)
        raise ConfigError(
            f"A model of method = {settings.method!r} cannot be published, onboarded or certified: give one of a "
            f"method that can ({able})."
        )


def _registered(name: str) -> type[Method]:
    found: type[Method] = entry(METHODS, "method", name).load()
    return found


def _imported(path: str) -> type[Method]:
    module, _, name = path.partition(":")
    try:
        found = getattr(importlib.import_module(module), name)
    except AttributeError as error:
        raise ConfigError(f"method = {path!r}: the module {module} has no {name}: correct the name.") from error
    except (Exception, SystemExit) as error:
        if isinstance(error, ModuleNotFoundError) and error.name in (module, module.partition(".")[0]):
            raise ConfigError(
                f"method = {path!r}: Python finds no module {error.name}: install its package, name the folder of its "
                "file in PYTHONPATH, or correct the path."
            ) from error
        raise ConfigError(
            f"method = {path!r} cannot be imported ({type(error).__name__}: {one_line(error)}): install what it lacks, "
            "or mend it."
        ) from error
    if not isinstance(found, type) or not issubclass(found, Method):
        raise ConfigError(f"method = {path!r} is no method: name a subclass of pfedgp_core.methods.base.Method.")
    return found
