"""The doctor's findings: a problem is a sentence with its remedy, a check is one line of the report."""

import time
from collections.abc import Callable
from typing import NamedTuple

from pfedgp_core.errors import PFedGPError

__all__ = ["Check", "Deadline", "Problem", "ProblemError", "checked"]


class Problem(NamedTuple):
    """Something that keeps, or will keep, a deployment from working.

    Attributes
    ----------
    code : str
        A word for programs, such as ``wrong-ca``.
    sentence : str
        What is wrong.
    remedy : str
        What to do about it; empty where the sentence says it.
    lasting : bool
        Whether waiting does not help, because someone has to change something.
    warning : bool
        Whether nothing is broken yet.
    """

    code: str
    sentence: str
    remedy: str
    lasting: bool
    warning: bool = False

    @property
    def text(self) -> str:
        """Sentence and remedy."""
        return f"{self.sentence} {self.remedy}".strip()


class ProblemError(PFedGPError):
    """Raised inside a check by the first thing that keeps it from going on."""

    def __init__(self, code: str, sentence: str, remedy: str, lasting: bool = True) -> None:
        super().__init__(f"{sentence} {remedy}")
        self.problem = Problem(code, sentence, remedy, lasting)


class Check(NamedTuple):
    """One thing that was looked at.

    Attributes
    ----------
    topic : str
        What it was, in a word or two.
    fact : str
        What was found.
    problem : Problem or None
        What is wrong with that.
    """

    topic: str
    fact: str
    problem: Problem | None = None

    @property
    def status(self) -> str:
        """``ok``, ``warning`` or ``problem``."""
        if self.problem is None:
            return "ok"
        return "warning" if self.problem.warning else "problem"

    @property
    def line(self) -> str:
        """The check for a person, on one line."""
        said = self.fact if self.problem is None else self.problem.text
        return f"{self.status:<8} {self.topic}: {said}"


def checked(topic: str, look: Callable[[], Check], code: str = "") -> Check:
    """Return what `look` finds; an error of the product that it raises becomes a problem, under `code` or the topic."""
    try:
        return look()
    except ProblemError as error:
        return Check(topic, "", error.problem)
    except PFedGPError as error:
        return Check(topic, "", Problem(code or topic, str(error), "", lasting=True))


class Deadline:
    """The time that all steps of a check share.

    Parameters
    ----------
    seconds : float
        Time from now on.
    """

    def __init__(self, seconds: float) -> None:
        self._end = time.monotonic() + seconds

    def left(self, at_most: float = float("inf")) -> float:
        """Seconds that a step may take; never 0, which sockets take for something else."""
        return max(0.05, min(at_most, self._end - time.monotonic()))

    @property
    def over(self) -> bool:
        """Whether the time is up."""
        return time.monotonic() >= self._end
