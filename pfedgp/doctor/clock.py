"""The difference from a clock that only says whether it accepts a time.

Flower's server accepts a signed time that is less than 5 s ahead of its own clock and less than 305 s behind it, and
refuses every other one without a reason. Shifting the time that is signed until it is accepted, and then looking for
the edge at +5 s, tells the difference of the two clocks.
"""

from collections.abc import Callable

__all__ = ["AHEAD_LIMIT", "BEHIND_LIMIT", "clock_offset", "duration"]

AHEAD_LIMIT = 5.0
BEHIND_LIMIT = 305.0
RESOLUTION = 0.5
# A little less than the width of what is accepted, so that no step jumps over it.
STEP = 300.0


def clock_offset(accepts: Callable[[float], bool], farthest: float, over: Callable[[], bool] = bool) -> float | None:
    """Find the seconds by which the local clock is ahead of the server's (behind: negative).

    Parameters
    ----------
    accepts : callable
        Takes a shift in seconds and tells whether the server accepts the local time plus this shift.
    farthest : float
        Largest shift to try, in seconds.
    over : callable
        Tells whether to give up.

    Returns
    -------
    float or None
        Exact to about a second; None if no shift was accepted.
    """
    accepted = _accepted(accepts, farthest, over)
    if accepted is None:
        return None
    low, high = accepted, accepted + AHEAD_LIMIT + BEHIND_LIMIT
    while high - low > RESOLUTION:
        middle = (low + high) / 2
        low, high = (middle, high) if accepts(middle) else (low, middle)
    # At the edge, the local clock plus the shift is 5 s ahead of the server's.
    return AHEAD_LIMIT - (low + high) / 2


def _accepted(accepts: Callable[[float], bool], farthest: float, over: Callable[[], bool]) -> float | None:
    """The smallest shift that is accepted, outwards from 0 in both directions."""
    for step in range(int(farthest / STEP) + 1):
        for shift in dict.fromkeys((step * STEP, -step * STEP)):
            if accepts(shift):
                return shift
        if over():
            return None
    return None


def duration(seconds: float) -> str:
    """A length of time for a person.

    Examples
    --------
    >>> duration(599.6), duration(7201.0), duration(2.3)
    ('10 minutes', '2.0 hours', '2 s')
    """
    if seconds >= 3600:
        return f"{seconds / 3600:.1f} hours"
    if seconds >= 120:
        return f"{seconds / 60:.0f} minutes"
    return f"{seconds:.0f} s"
