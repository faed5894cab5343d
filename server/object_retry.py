"""Flower's retry of an object that is still on its way, shortened from a second to a twentieth.

A message is announced before its objects are there. Whoever looks often sees most messages in between, and would wait
the second each time. Needs no certain version of Flower: where the parameter has another name, Flower's wait stays.
"""

__all__ = ["FIRST_WAIT", "shorten_object_retry"]

FIRST_WAIT = 0.05  # seconds; doubled after every try


def shorten_object_retry() -> bool:
    """Set the first wait of this process; False where this Flower has no such parameter."""
    try:
        from flwr.supercore.inflatable import inflatable_utils
    except ImportError:
        return False
    found = False
    for name in ("pull_objects", "pull_and_inflate_object_from_tree"):
        defaults = getattr(getattr(inflatable_utils, name, None), "__kwdefaults__", None) or {}
        if "initial_backoff" in defaults:
            defaults["initial_backoff"] = FIRST_WAIT
            found = True
    return found
