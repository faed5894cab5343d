"""The policy of a site: a TOML file in its state folder, read anew for every request, which refuses all if unreadable.

The file lies in a folder of its own, ``STATE/policy``. Where there is no such folder, the site has no policy. Where
there is one, a file that is missing, damaged, or open to the hands of others refuses everything.
"""

import dataclasses
import stat
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pfedgp_core.errors import PolicyError, UnreadableFileError
from pfedgp_core.files.regular import MalformedError, decoding, one_line
from pfedgp_core.files.toml_file import read_toml
from pfedgp_core.policy.hours import Hours
from pfedgp_core.words import cut

__all__ = ["FILE", "FOLDER", "METRICS", "SitePolicy", "read_policy"]

FOLDER, FILE = "policy", "policy.toml"
RUNS = ("approved", "any")
# Groups of numbers about the site's samples: results of an evaluation, tables of bins and classes, sums for the model's
# temperature, what an update reports beside its vector, seconds, and what a table's columns hold.
METRICS = ("results", "calibration", "evidence", "training", "seconds", "columns")
_WRITABLE = stat.S_IWGRP | stat.S_IWOTH


@dataclass(frozen=True)
class SitePolicy:
    """What may happen at a site, and what may leave it. A key that the file lacks has its value here.

    Attributes
    ----------
    runs : {"approved", "any"}
        Which runs: those that ``pfedgp approve`` was given, or all that the rest allows.
    methods, networks : tuple of str
        Names that a run may give; empty: all that the site knows.
    min_samples : int
        Training samples below which nothing leaves the site, the greeting neither.
    shared_head : bool or None
        Whether an update may hold a head that ``gp.prior-mean = head`` shares; None: of a run that was approved, or
        where `methods` does not name such methods alone as send no head.
    max_update_norm : float or None
        Largest Euclidean norm of what leaves minus what arrived; None: any.
    max_updates : int or None
        Updates that one run gets; None: twice its rounds, as an interrupted run repeats some.
    max_evaluations : int or None
        Evaluations that one run gets; None: twice those of its rounds, and some for its tests.
    min_evaluate_every : int
        Least rounds from one evaluation of a run to the next.
    dp_noise, dp_clip : float
        Least noise and largest norm of an update, as the settings of the same names; noise 0 leaves the run's own.
    max_epsilon : float or None
        Of all updates that have left the site, at `dp_delta`; None: any.
    dp_delta : float
    hours : tuple of Hours
        In which the site answers, in its own time; empty: at any time.
    metrics : tuple of str
        Groups of `METRICS` that may leave.
    min_cell : int
        Samples below which a count does not leave.
    publications : bool
        Whether the site takes a published model.
    """

    runs: str = "approved"
    methods: tuple[str, ...] = ()
    networks: tuple[str, ...] = ()
    min_samples: int = 0
    shared_head: bool | None = None
    max_update_norm: float | None = None
    max_updates: int | None = None
    max_evaluations: int | None = None
    min_evaluate_every: int = 1
    dp_noise: float = 0.0
    dp_clip: float = 1.0
    max_epsilon: float | None = None
    dp_delta: float = 1e-5
    hours: tuple[Hours, ...] = field(default=())
    metrics: tuple[str, ...] = METRICS
    min_cell: int = 0
    publications: bool = False

    @classmethod
    def of(cls, table: dict[str, Any]) -> "SitePolicy":
        """Read the keys of a policy file, in kebab-case.

        Raises
        ------
        MalformedError
            A key that there is not, or a value of another type or out of range; the text names it.
        """
        known = {f.name.replace("_", "-"): f.name for f in dataclasses.fields(cls)}
        if others := sorted(set(table) - set(known)):
            listed = ", ".join(known)
            raise MalformedError(f"{cut(repr(others[0]), 60)} is no key of a policy: the keys are {listed}")
        values = {known[key]: _CHECKS[known[key]](key, value) for key, value in table.items()}
        return cls(**values)


def read_policy(state: Path) -> SitePolicy | None:
    """Return the policy in a site's state folder; None where the site has none.

    Raises
    ------
    PolicyError
        There is a folder for it, and the file there is missing, cannot be read, holds something else, or others than
        its owner may change it.
    """
    folder = state / FOLDER
    path = folder / FILE
    try:
        if not folder.is_symlink() and not folder.exists():
            return None
        for each in (folder, path):
            if each.stat().st_mode & _WRITABLE:
                raise PolicyError(f"The policy is refused: others may change {each}; take that right (chmod go-w).")
        with decoding(path):
            return SitePolicy.of(read_toml(path))
    except (UnreadableFileError, OSError) as error:
        reason = one_line(error)
        raise PolicyError(
            f"The policy {path} cannot be used ({reason}), so everything is refused: mend the file, or remove the "
            "folder to have no policy."
        ) from error


def _one_of(choices: tuple[str, ...]) -> Any:
    def check(key: str, value: Any) -> str:
        if value not in choices or not isinstance(value, str):
            raise MalformedError(f"{key} = {cut(repr(value), 60)}: give one of {', '.join(choices)}")
        return value

    return check


def _texts(key: str, value: Any) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(isinstance(text, str) and text for text in value):
        raise MalformedError(f"{key} = {cut(repr(value), 60)}: give a list of texts")
    return tuple(value)


def _names(key: str, value: Any) -> tuple[str, ...]:
    """An empty list would read as nothing and mean all."""
    if not (names := _texts(key, value)):
        raise MalformedError(f"{key} = []: name at least one, or leave the key out to allow all")
    return names


def _groups(key: str, value: Any) -> tuple[str, ...]:
    names = _texts(key, value)
    if others := sorted(set(names) - set(METRICS)):
        raise MalformedError(f"{key} holds {cut(repr(others[0]), 60)}: the groups are {', '.join(METRICS)}")
    return names


def _number(low: float, high: float) -> Any:
    def check(key: str, value: Any) -> float:
        if not isinstance(value, int | float) or isinstance(value, bool) or not low <= value <= high:
            raise MalformedError(f"{key} = {cut(repr(value), 60)}: give a number from {low:g} to {high:g}")
        return float(value)

    return check


def _whole(low: int, high: int) -> Any:
    def check(key: str, value: Any) -> int:
        if type(value) is not int or not low <= value <= high:
            raise MalformedError(f"{key} = {cut(repr(value), 60)}: give a whole number from {low} to {high:,}")
        return value

    return check


def _flag(key: str, value: Any) -> bool:
    if not isinstance(value, bool):
        raise MalformedError(f"{key} = {cut(repr(value), 60)}: give true or false")
    return value


_CHECKS: dict[str, Any] = {
    "runs": _one_of(RUNS),
    "methods": _names,
    "networks": _names,
    "min_samples": _whole(0, 10**9),
    "shared_head": _flag,
    "max_update_norm": _number(1e-9, 1e12),
    "max_updates": _whole(1, 10**9),
    "max_evaluations": _whole(1, 10**9),
    "min_evaluate_every": _whole(1, 10**6),
    "dp_noise": _number(0.0, 1e6),
    "dp_clip": _number(1e-9, 1e9),
    "max_epsilon": _number(1e-6, 1e6),
    "dp_delta": _number(1e-12, 0.5),
    "hours": lambda key, value: tuple(map(Hours.of, _names(key, value))),
    "metrics": _groups,
    "min_cell": _whole(0, 10**6),
    "publications": _flag,
}
