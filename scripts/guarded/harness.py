"""Cases of attacks and bad days, each in a process of its own under a time limit, and a line for each: pass or fail.

A script of this folder holds the cases of one section; ``make guarded`` runs them all:

    python scripts/guarded/environment.py            every case
    python scripts/guarded/environment.py proxy      the cases whose names contain "proxy"

Exit code 1: at least one case failed. 5: no case was chosen.
"""

import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

__all__ = ["case", "main"]

REPOSITORY = Path(__file__).resolve().parents[2]
ALONE = "--alone"  # asks a script to run one case in this very process
NOTHING = 5  # exit code of a script of which no case was chosen
SHOWN = 12  # last lines of a case that failed

sys.path.insert(0, str(REPOSITORY))  # cases share their deployments and small inputs with the tests


@dataclass(frozen=True)
class Case:
    """One trial.

    Attributes
    ----------
    name : str
        The right behaviour, as a sentence without its full stop.
    seconds : float
        How long it may take.
    check : callable
        Gets a new folder, raises where the behaviour is wrong, and returns what it measured, if anything.
    """

    name: str
    seconds: float
    check: Callable[[Path], str | None]


_cases: list[Case] = []


def case(name: str, seconds: float = 60.0) -> Callable[[Callable[[Path], str | None]], Callable[[Path], str | None]]:
    """Declare the decorated function as a case: see `Case`."""

    def declare(check: Callable[[Path], str | None]) -> Callable[[Path], str | None]:
        _cases.append(Case(name, seconds, check))
        return check

    return declare


def main(arguments: Sequence[str] = sys.argv[1:]) -> int:
    """Run the cases that the calling script has declared; the exit code."""
    if list(arguments[:1]) == [ALONE]:
        return _alone(_cases[int(arguments[1])])
    chosen = [i for i, c in enumerate(_cases) if not arguments or any(word in c.name for word in arguments)]
    if not chosen:
        print(f"no case has {' or '.join(arguments)} in its name")
        return NOTHING
    failed = sum(not _passes(i) for i in chosen)
    print(f"{len(chosen) - failed} of {len(chosen)} cases pass")
    return 1 if failed else 0


def _alone(chosen: Case) -> int:
    with tempfile.TemporaryDirectory(prefix="guarded-") as folder:
        measured = chosen.check(Path(folder))
    print(measured or "")
    return 0


def _passes(number: int) -> bool:
    """Run one case in a process group of its own and print its line."""
    tried, began = _cases[number], time.monotonic()
    process = subprocess.Popen(
        [sys.executable, sys.argv[0], ALONE, str(number)],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        start_new_session=True,
    )
    try:
        told, late = process.communicate(timeout=tried.seconds)[0], False
    except subprocess.TimeoutExpired:
        _end(process)
        told, late = process.communicate()[0], True
    finally:
        _end(process)  # nothing that a case started outlives it
    lines, passed = told.strip().splitlines(), process.returncode == 0 and not late
    result = f": {lines[-1]}" if passed and lines else ""
    print(f"{'pass' if passed else 'FAIL'} {time.monotonic() - began:6.1f} s  {tried.name}{result}", flush=True)
    if late:
        print(f"       not within {tried.seconds:g} s")
    if not passed:
        print("".join(f"       {line}\n" for line in lines[-SHOWN:]), end="", flush=True)
    return passed


def _end(process: "subprocess.Popen[str]") -> None:
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
