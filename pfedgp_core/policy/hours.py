"""Hours of the week in which a site answers its server: ``Mon-Fri 18:00-07:00`` in the site's own time."""

import re
from datetime import datetime
from typing import NamedTuple

from pfedgp_core.files.regular import MalformedError
from pfedgp_core.words import cut

__all__ = ["Hours"]

DAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
_FORM = re.compile(r"(?:([A-Z][a-z]{2})(?:-([A-Z][a-z]{2}))? )?([0-9]{2}):([0-9]{2})-([0-9]{2}):([0-9]{2})", re.ASCII)
_DAY = 24 * 60  # minutes


class Hours(NamedTuple):
    """A span of minutes of a day that begins on some days of the week.

    Attributes
    ----------
    days : frozenset of int
        0 is Monday.
    first, last : int
        Minutes of the day, the last one no longer part of it; a `last` that is not after `first` is of the next day.
    text : str
        As they were written.
    """

    days: frozenset[int]
    first: int
    last: int
    text: str

    @classmethod
    def of(cls, text: str) -> "Hours":
        """Read ``18:00-07:00``, ``Sat 08:00-24:00`` or ``Mon-Fri 18:00-07:00``.

        Raises
        ------
        MalformedError
            It is another text, or names a day or a time that there is not.
        """
        found = _FORM.fullmatch(text)
        fault = MalformedError(f"hours = {cut(repr(text), 60)} are none: write them as 'Mon-Fri 18:00-07:00'")
        if found is None:
            raise fault
        begin, end = found[1] or DAYS[0], found[2] or found[1] or DAYS[-1]
        hour, minute, until_hour, until_minute = map(int, found.groups()[2:])
        first, last = 60 * hour + minute, 60 * until_hour + until_minute
        if begin not in DAYS or end not in DAYS or max(minute, until_minute) > 59 or first >= _DAY or last > _DAY:
            raise fault
        start, stop = DAYS.index(begin), DAYS.index(end)
        return cls(frozenset((start + i) % 7 for i in range((stop - start) % 7 + 1)), first, last, text)

    def hold(self, when: datetime) -> bool:
        """Whether a moment of the site's own time is within them."""
        minute, day = 60 * when.hour + when.minute, when.weekday()
        if self.first < self.last:
            return day in self.days and self.first <= minute < self.last
        return (day in self.days and minute >= self.first) or ((day - 1) % 7 in self.days and minute < self.last)
