"""Replies of a run that failed, were late or were shortened: by site and reason, with the last round of each."""

from collections.abc import Mapping
from typing import Any

from pfedgp_core.checks import printable
from server.run.record_lines import WITH_UPDATE

__all__ = ["FailedReplies"]

MOST = 500  # sites with a reason that are told apart; what is beyond is counted
LONGEST = 300  # characters of a reason


class FailedReplies:
    """Counts them round by round.

    Attributes
    ----------
    beyond : int
        Replies of sites or reasons beyond `MOST`.
    took_part : set of str
        Sites that were asked to train.
    """

    def __init__(self) -> None:
        self._rows: dict[tuple[str, str, str], list[int]] = {}  # kind, site, reason -> times, last round
        self.beyond = 0
        self.took_part: set[str] = set()

    def add(self, record: Mapping[str, Any]) -> None:
        """Take the record of a round.

        Raises
        ------
        TypeError, AttributeError
            A field is something else.
        """
        t = record["round"]
        self.took_part.update(record.get("sampled") or ())
        for kind, key in (("training", "failed"), ("validation", "validation_failed")):
            for site, reason in dict(record.get(key) or {}).items():
                if not reason.startswith(WITH_UPDATE):  # it is counted as the reply that brought both
                    self._count(kind, site, reason, t)
        for site, norm in dict(record.get("clipped") or {}).items():
            self._count("shortened", site, f"update of {float(norm):.3g} times the usual norm", t)
        for site in record.get("late") or ():
            self._count("late", site, "its answer was not waited for (wait-share)", t)

    def rows(self) -> list[dict[str, Any]]:
        """A row for each site and reason, the latest first."""
        rows = [
            {"kind": kind, "site": site, "reason": reason, "times": times, "round": last}
            for (kind, site, reason), (times, last) in self._rows.items()
        ]
        return sorted(rows, key=lambda row: (-row["round"], row["site"], row["kind"], row["reason"]))

    def _count(self, kind: str, site: str, reason: str, t: int) -> None:
        key = kind, printable(site, 100), printable(reason, LONGEST)
        if key not in self._rows and len(self._rows) >= MOST:
            self.beyond += 1
            return
        seen = self._rows.setdefault(key, [0, 0])
        seen[0], seen[1] = seen[0] + 1, t
