"""Words of the server to this site: in its log once, and the last ones in a file under its state folder."""

import json
import logging
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pfedgp_core.errors import ArtefactError
from pfedgp_core.files.whole import write_whole
from pfedgp_core.wire.notice import with_column_names

__all__ = ["NOTICE_FILE", "note_notice", "remember_columns"]

logger = logging.getLogger("pfedgp.client")

SCHEMA = 1
NOTICE_FILE = "notice.json"
_columns: dict[str, tuple[str, ...]] = {}  # of the tables that this process has read, by the node's data-path
_said: dict[str, tuple[int, str]] = {}  # the last words that the log has, by the node's name


def remember_columns(path: str, columns: Sequence[str]) -> None:
    """Keep the names of a table's columns, which the server does not know."""
    _columns[path] = tuple(columns)


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
    words = with_column_names(words, _columns.get(str(node_config.get("data-path", "")).strip(), ()))
    name = str(node_config.get("client-name", ""))
    if _said.get(name) != (run_id, words):
        logger.warning("the server says: %s", words)
        _said[name] = run_id, words
    state = str(node_config.get("state", "")).strip()
    if not state:
        return
    about = {
        "schema_version": SCHEMA,
        "run": str(run_id),  # beyond what JSON readers keep of a number
        "refused": refused,
        "words": words,
        "time": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
    }
    try:
        write_whole(Path(state).expanduser() / NOTICE_FILE, json.dumps(about, indent=2) + "\n")
    except ArtefactError as error:
        logger.warning("the server's notice is not on disk: %s", error)
