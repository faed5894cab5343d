"""Rules on which the sites of a table agree in a simulation: by the very functions of a deployment.

Each site tells of its own rows alone, and as little as in a deployment. Sites that stay out of the run, or do not
train, have no say.
"""

from collections import Counter
from collections.abc import Collection

import numpy as np

from pfedgp_core.config import Settings
from pfedgp_core.data.own.layout import Layout
from pfedgp_core.data.own.raw_table import read_table
from pfedgp_core.data.partitions.natural import drawn_sites
from pfedgp_core.data.tables.agreement import agreed_rules, of_another_kind
from pfedgp_core.data.tables.summary import TableSummary
from pfedgp_core.errors import DataError, RunFailedError

__all__ = ["clients_of", "rules_of_sites"]


def clients_of(sites: Collection[str], by: str) -> dict[str, str]:
    """Names of the clients that sites are, by what names the sites; in the order of numbers where all are."""
    width = max(map(len, sites), default=0) if all(name.isdecimal() for name in sites) else 0
    return {name: f"{by}-{name.zfill(width)}" for name in sites}


def rules_of_sites(path: str, label_column: str, layout: Layout, by: str, settings: Settings) -> str:
    """The rules, as the setting ``column-rules`` has them.

    Parameters
    ----------
    path : str
        Of the data; those that are no table have the rules of the settings.
    label_column : str
    layout : Layout
        Whose groups are the sites.
    by : str
        What names the sites; empty: there are none, and all rows are one.
    settings : Settings

    Raises
    ------
    DataError
        The sites do not agree.
    """
    if (table := read_table(path, label_column, layout)) is None or not table.columns.names:
        return settings.column_rules
    of = np.array(table.groups if by and table.groups else [""] * len(table.columns), dtype=object)
    told = [
        TableSummary.of(name, table.columns.rows(np.flatnonzero(of == site)))
        for site, name in _training(of.tolist(), by, settings).items()
    ]
    for reason in of_another_kind(told).values():
        raise DataError(reason)
    try:
        return agreed_rules(told, settings.column_rules)
    except RunFailedError as error:
        raise DataError(str(error)) from error


def _training(of: list[str], by: str, settings: Settings) -> dict[str, str]:
    """The sites that train, and the clients that they are."""
    clients, rows = clients_of(set(of), by), Counter(of)
    sites = sorted(clients, key=clients.__getitem__)
    kept = np.array([i for i, site in enumerate(sites) if not by or rows[site] >= settings.natural_floor], dtype=int)
    return {sites[i]: clients[sites[i]] for i in drawn_sites(kept, settings)[: settings.trainers].tolist()}
