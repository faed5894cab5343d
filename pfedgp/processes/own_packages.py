"""The packages of this installation come before others of the same names, which a working folder may hold.

``client`` and ``server`` are names that many Flower apps use. This file imports nothing of pFedGP, as that could be
another's.
"""

import importlib
import importlib.util
import sys
from importlib.machinery import ModuleSpec
from pathlib import Path

__all__ = ["PACKAGES", "foreign", "put_first"]

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = ("pfedgp_core", "server", "client")


def put_first() -> None:
    """Let Python look in this installation first, where it would find another package of one of our names."""
    if any(not _is_own(name, _spec(name)) for name in PACKAGES):
        sys.path.insert(0, str(ROOT))
        importlib.invalidate_caches()


def foreign() -> list[str]:
    """Files that this process imported under a name of ours before it imported pFedGP."""
    imported = {name: sys.modules[name] for name in PACKAGES if name in sys.modules}
    return [
        str(getattr(module, "__file__", None) or name)
        for name, module in imported.items()
        if not _is_own(name, getattr(module, "__spec__", None))
    ]


def _spec(name: str) -> ModuleSpec | None:
    try:
        return importlib.util.find_spec(name)
    except ValueError:  # a module without a spec, such as one that a program made itself
        return None


def _is_own(name: str, spec: ModuleSpec | None) -> bool:
    origin = spec.origin if spec is not None else None
    return origin is not None and Path(origin).resolve() == ROOT / name / "__init__.py"
