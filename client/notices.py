"""Words of the server to this site: in its log once, and the last ones in a file under its state folder."""

import logging
from collections.abc import Mapping, Sequence
from typing import Any

from client.state_file import write_state_file
from pfedgp_core.wire.notice import with_column_names

__all__ = ["NOTICE_FILE", "note_notice", "remember_columns"]

logger = logging.getLogger("pfedgp.client")

NOTICE_FILE = "notice.json"
# Names of the columns of tables that this process has read, and their hashes, by the node's data-path.
_columns: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {}
_said: dict[str, tuple[int, str]] = {}  # the last words that the log has, by the node's name


def remember_columns(path: str, columns: Sequence[str], hashes: Sequence[str] = ()) -> None:
    """Keep the names of a table's columns, of which the server knows the hashes alone, or nothing."""
    _columns[path] = tuple(columns), tuple(hashes)


def note_notice(node_config: Mapping[str, Any], run_id: int, words: str, refused: bool) -> None:
    """Log what the server says, and keep it for ``pfedgp doctor`` and ``pfedgp status``.

    A failure to write it is a warning in the site's log.

    Parameters
    ----------
    node_config : mapping
        Of the Flower node.
    run_id : int
    words : str
        One printable line.
    refused : bool
        Whether the site cannot take part as it is.
    """
    words = with_column_names(words, *_columns.get(str(node_config.get("data-path", "")).strip(), ((), ())))
    name = str(node_config.get("client-name", ""))
    if _said.get(name) != (run_id, words):
        logger.warning("the server says: %s", words)
        _said[name] = run_id, words
    about = {"refused": refused, "words": words}
    write_state_file(node_config, NOTICE_FILE, run_id, about, "the server's notice")
