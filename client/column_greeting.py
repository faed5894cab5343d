"""What a site tells of its table before there are rules for its columns: the first greeting of a run whose sites agree.

It holds no count of fewer than `FEWEST` rows; a policy of the site makes that more, or keeps all of it at the site.
"""

import logging

from client.source import Source
from pfedgp_core.data.own.raw_table import read_table
from pfedgp_core.data.tables.summary import FEWEST, TableSummary
from pfedgp_core.errors import ConfigError
from pfedgp_core.wire.hello import Hello
from pfedgp_core.wire.versions import software_versions

__all__ = ["column_greeting"]

logger = logging.getLogger("pfedgp.client")


def column_greeting(source: Source) -> Hello | None:
    """The greeting with the summary of a site's table; None where it has no table.

    Raises
    ------
    ConfigError
        The site does not give its names of columns, or every column has a rule.
    DataError
        The table cannot be read, or has too many columns.
    """
    if source.builtin or (table := read_table(source.path, source.label_column, source.layout)) is None:
        return None
    if source.columns.key or not source.columns.given:
        raise ConfigError(
            "The run has the sites agree on rules by what they tell of their columns (column-rules-from = federated), "
            "and this site keeps the names back: leave out column-key and column-names, or ask for rules by file."
        )
    if not table.columns.names:
        raise ConfigError("Every column has a rule in data.columns: set column-rules-from = file.")
    told = TableSummary.of(source.name, table.columns)
    logger.info(
        "tells the server of %d columns what %d rows hold, never of fewer than %d", len(told.columns), told.rows, FEWEST
    )
    return Hello(
        name=source.name,
        classes=(),
        class_names=(),
        n_train=told.rows,
        n_validation=0,
        n_test=0,
        input_shape=(len(told.columns),),
        partition_hash="",
        versions=software_versions(),
        mean=told.means,
        std=told.stds,
        columns=tuple(told.columns),
        summary=told.to_json(),
    )
