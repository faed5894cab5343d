"""What was done to a site, when and by whom. It names no sample, so that it can stay after samples are gone."""

import getpass
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from typing import Any

from pfedgp_core.checks import count, finite, text
from pfedgp_core.files.regular import MalformedError

__all__ = ["VERBS", "Event", "next_batch", "user_name"]

VERBS = ("add", "forget", "learn", "undo")


@dataclass(frozen=True)
class Event:
    """One change of a site.

    Attributes
    ----------
    verb : str
        One of `VERBS`.
    when : str
        Time in UTC, ISO 8601, to the second.
    by : str
        Who did it.
    samples : int
        How many samples came or went.
    total : int
        Samples of the site after it.
    batch : int
        Number of the addition that came or was taken back; 0 where samples were forgotten.
    nll_before, nll_after : float, optional
        Mean leave-one-out NLL of the former samples, before and after, where that was measured.
    """

    verb: str
    when: str
    by: str
    samples: int
    total: int
    batch: int = 0
    nll_before: float | None = None
    nll_after: float | None = None

    @classmethod
    def now(cls, verb: str, by: str, samples: int, total: int, **rest: Any) -> "Event":
        """An event of this second."""
        return cls(verb, datetime.now(UTC).isoformat(timespec="seconds"), by or user_name(), samples, total, **rest)

    @classmethod
    def of(cls, values: Mapping[str, Any]) -> "Event":
        """From what `to_dict` gave.

        Raises
        ------
        TypeError, ValueError, KeyError
            A field is missing or something else.
        """
        if values["verb"] not in VERBS:
            raise MalformedError("its history has an event of an unknown kind")
        numbers = (count(values[key]) for key in ("samples", "total", "batch"))
        scores = (None if values[key] is None else finite(values[key]) for key in ("nll_before", "nll_after"))
        return cls(values["verb"], text(values["when"]), text(values["by"]), *numbers, *scores)

    def to_dict(self) -> dict[str, Any]:
        """The fields by name, for JSON."""
        return asdict(self)


def next_batch(history: tuple[Event, ...]) -> int:
    """Number of the next addition; none is used twice."""
    return 1 + max((event.batch for event in history), default=0)


def user_name() -> str:
    """Name of the user of this process, or ``unknown``."""
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return "unknown"
