"""A longer log of the SuperLink's database: SQLite copies it into the database at every 4 MB, here at every 64 MB.

An object of a large model has 5 MB, so that every one was copied as soon as it was written, although most are deleted
within a second. A log is safe from crashes at any length; it lies beside the database.
"""

import importlib
from typing import Any, ClassVar

from pfedgp_core.patch import Patch, lacks

__all__ = ["PAGES", "LongLog"]

PAGES = 16384  # of 4 KB
_DATABASE = "flwr.supercore.sql_mixin"
_SETTING = "wal_autocheckpoint"


class LongLog(Patch):
    """Adds the length of the log to what the SuperLink of this process sets for each connection to its database.

    Parameters
    ----------
    module : module, optional
        With Flower's settings of SQLite; Flower's own by default.
    """

    name: ClassVar = "long-log"
    purpose: ClassVar = "an object that is deleted again at once is not copied into the database"

    def __init__(self, module: Any = None) -> None:
        self._module = module

    def missing(self) -> str:
        """Whether the settings are gone."""
        return lacks(_DATABASE, "SQLITE_PRAGMAS")

    def apply(self) -> None:
        """Add the setting."""
        module: Any = self._module or importlib.import_module(_DATABASE)
        others = tuple(entry for entry in module.SQLITE_PRAGMAS if entry[0] != _SETTING)
        module.SQLITE_PRAGMAS = (*others, (_SETTING, str(PAGES)))
