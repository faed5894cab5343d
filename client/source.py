"""Where a site's own data are and how they are read, by its node config.

=================  ====================================================================================================
node config        meaning
=================  ====================================================================================================
``data-path``      the site's labelled data, as for ``pfedgp check-data``, or the name of a built-in data set
``data-root``      folder of a built-in data set that has files
``label-column``   column of a table that holds the class or the target (default ``label``)
``column-names``   what the server gets to know of a table's names, and ``column-key``: see `column_policy`
``channels``       and ``pages``, ``value-range``, ``columns`` and more: see `pfedgp_core.data.own.layout`
``client-name``    the site's name in the federation
``state``          folder in which the split is kept
``device``         where the site computes: auto (default), cpu, cuda, cuda:1
``max-memory``     gigabytes that the site may use; default: most of the machine's memory
=================  ====================================================================================================
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from client.column_policy import ColumnPolicy
from client.memory import site_limit
from pfedgp_core.config import Settings
from pfedgp_core.data.own.layout import AS_TOLD, Layout, layout_of
from pfedgp_core.data.spec import parse_shape
from pfedgp_core.errors import ConfigError
from pfedgp_core.memory import MemoryLimit
from pfedgp_core.names import NAME_LIMIT, name_fault
from pfedgp_core.registry import DATASETS, TASKS

__all__ = ["Source"]


@dataclass(frozen=True)
class Source:
    """Where a site's data are, and how they are read.

    Parameters
    ----------
    name : str
        Of the site in the federation; may be empty for a site that only takes a published model.
    path : str
        Of the data, or the name of a built-in data set.
    root : str
        Folder of a built-in data set.
    label_column : str
    state : str
        Folder in which the split is kept; empty: nowhere.
    input_shape : tuple of int, optional
        Shape to which images are brought.
    regression : bool
        Whether the labels are targets.
    resize : bool
        Whether images of another size than that are resized or refused.
    memory : MemoryLimit, optional
        How much the samples may take; default: most of the machine's memory.
    layout : Layout
        How the values of samples stand, where the data do not tell.
    columns : ColumnPolicy
        What leaves the site of the names of a table's columns.
    """

    name: str
    path: str
    root: str = ""
    label_column: str = "label"
    state: str = ""
    input_shape: tuple[int, ...] | None = None
    regression: bool = False
    resize: bool = True
    memory: MemoryLimit | None = field(default=None, compare=False)
    layout: Layout = AS_TOLD
    columns: ColumnPolicy = field(default_factory=ColumnPolicy)

    @classmethod
    def of(cls, settings: Settings, node_config: Mapping[str, Any]) -> "Source":
        """The source of a node with ``data-path``.

        Raises
        ------
        ConfigError
            The node has no name that the federation could know it by, the setting ``input-shape`` is no shape, or
            ``max-memory`` is no amount of memory.
        """
        name = str(node_config.get("client-name", "")).strip()
        if fault := name_fault(name, NAME_LIMIT):
            raise ConfigError(
                f"client-name = {name!r} is not the name of a site, as it {fault}: give a site with data of its own a "
                f'name of at most {NAME_LIMIT} printable characters, such as client-name="ward-3".'
            )
        return cls(
            name,
            str(node_config["data-path"]).strip(),
            str(node_config.get("data-root", "")).strip(),
            str(node_config.get("label-column", "label")),
            str(node_config.get("state", "")).strip(),
            parse_shape(settings.input_shape),
            not TASKS[settings.task].classes,
            memory=site_limit(node_config),
            layout=replace(layout_of(node_config), rules=settings.column_rules),
            columns=ColumnPolicy.of(node_config),
        )

    @property
    def builtin(self) -> bool:
        """Whether the path is the name of a built-in data set; a folder of that name is given as ``./digits``."""
        return self.path in DATASETS
