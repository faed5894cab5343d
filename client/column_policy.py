"""In what form the names of a site's columns leave it: as they are, as hashes, or not at all.

=================  ====================================================================================================
node config        meaning
=================  ====================================================================================================
``column-names``   ``plain`` (default): the server gets the names; ``none``: it gets none, and columns go by position
``column-key``     file with a key that all sites share: the server gets hashes of the names under it
=================  ====================================================================================================
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pfedgp_core.data.column_names import columns_fault, hashed_columns, plain_columns
from pfedgp_core.data.own.wanted_columns import WantedColumns
from pfedgp_core.errors import ConfigError
from pfedgp_core.files.column_key import read_column_key

__all__ = ["PLAIN", "ColumnPolicy"]

FORMS = PLAIN, NONE = "plain", "none"


@dataclass(frozen=True)
class ColumnPolicy:
    """What the site's operator decided about its names of columns.

    Parameters
    ----------
    given : bool
        Whether they leave the site at all.
    key : bytes
        With which they are hashed; empty: they leave as they are.
    """

    given: bool = True
    key: bytes = field(default=b"", repr=False)

    @classmethod
    def of(cls, node_config: Mapping[str, Any]) -> "ColumnPolicy":
        """The policy of a node.

        Raises
        ------
        ConfigError
            The form is unknown, or the key cannot be read.
        """
        form = str(node_config.get("column-names", PLAIN)).strip()
        file = str(node_config.get("column-key", "")).strip()
        if form not in FORMS:
            raise ConfigError(
                f"column-names = {form[:40]!r} is no form: give plain or none, or a column-key to have them hashed."
            )
        return cls(form != NONE, read_column_key(Path(file)) if file else b"")

    def sent(self, columns: Sequence[str]) -> tuple[str, ...]:
        """What the server gets to know of a table's names; empty where none, or where there are too many."""
        names = plain_columns(columns)
        if not self.given or columns_fault(names):
            return ()
        return hashed_columns(names, self.key) if self.key else names

    def wanted(self, names: tuple[str, ...], whose: str) -> WantedColumns:
        """The names of a federation or a model, to compare a table with."""
        return WantedColumns(names, self.key, whose)
