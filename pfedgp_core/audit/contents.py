"""What a message holds, for the audit log: names, bytes and a digest, never contents."""

import hashlib
from collections.abc import Mapping
from typing import Any

from pfedgp_core.checks import printable
from pfedgp_core.errors import DataError
from pfedgp_core.wire.layout import unpack
from pfedgp_core.wire.names import CONFIG, METRICS

__all__ = ["described"]

MOST = 60  # names of a message that a line of the log holds
LONGEST = 60  # characters of a name
LARGE = 65_536  # bytes from which a value that several messages share is hashed once


def described(content: Any, known: dict[int, bytes] | None = None) -> dict[str, Any]:
    """Return what a message holds; both sides of a message get the same.

    Parameters
    ----------
    content : RecordDict
        Of Flower, which nothing here imports: it has ``config_records`` and ``array_records``.
    known : dict, optional
        Hashes of values that several messages share, by their identity; to be dropped before these values are.

    Returns
    -------
    dict
        ``fields`` (bytes of each), ``metrics`` (groups of numbers), ``bytes`` and ``sha256`` of all.
    """
    config: Mapping[str, Any] = content.config_records.get(CONFIG, {})
    values: dict[str, Any] = {str(key): value for key, value in config.items()}
    for part, record in content.array_records.items():
        values |= {f"{part}.{name}": array.data for name, array in record.items()}
    known = {} if known is None else known
    sizes: dict[str, int] = {}
    whole = hashlib.sha256()
    for name, value in sorted(values.items()):
        shared = isinstance(value, bytes) and len(value) > LARGE
        data = value if isinstance(value, bytes) else repr(value).encode("utf-8", "replace")
        digest = known.get(id(value)) if shared else None
        if digest is None:
            digest = hashlib.sha256(data).digest()
            known |= {id(value): digest} if shared else {}
        sizes[printable(name, LONGEST)] = len(data)
        whole.update(hashlib.sha256(name.encode("utf-8", "replace")).digest() + digest)
    return {
        "fields": dict(list(sizes.items())[:MOST]),
        "metrics": _groups(config),
        "bytes": sum(sizes.values()),
        "sha256": whole.hexdigest(),
    }


def _groups(config: Mapping[str, Any]) -> list[str]:
    """The groups that names of metrics begin with, or the names where they have none."""
    if METRICS not in config:
        return []
    try:
        names = unpack({METRICS: config[METRICS]})[1]
    except DataError:
        return ["unreadable"]
    return [printable(name, LONGEST) for name in sorted({name.rpartition(".")[0] or name for name in names})][:MOST]
