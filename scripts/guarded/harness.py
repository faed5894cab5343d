"""Cases of attacks and bad days, each in a process of its own under a time limit, and a line for each: pass or fail.

A script of this folder holds the cases of one section; ``make guarded`` runs them all (`__main__`):

    python scripts/guarded/environment.py            every case
    python scripts/guarded/environment.py proxy      the cases whose names contain "proxy"

Exit code 1: at least one case failed. 5: no case was chosen.
"""

import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import psutil

__all__ = ["Case", "Trial", "case", "declared", "main", "tried"]

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
        How long it may take on a machine that does nothing else.
    check : callable
        Gets a new folder, raises where the behaviour is wrong, and returns what it measured, if anything.
    tests : tuple of str
        Tests of the repository that try the same and no less, as pytest takes them.
    """

    name: str
    seconds: float
    check: Callable[[Path], str | None]
    tests: tuple[str, ...] = ()


@dataclass(frozen=True)
class Trial:
    """A case, and where it is declared: the script, and its number there."""

    script: Path
    number: int
    case: Case
    section: str = ""  # named in the case's line


_cases: list[Case] = []


def case(
    name: str, seconds: float = 60.0, tests: Sequence[str] = ()
) -> Callable[[Callable[[Path], str | None]], Callable[[Path], str | None]]:
    """Declare the decorated function as a case: see `Case`."""

    def declare(check: Callable[[Path], str | None]) -> Callable[[Path], str | None]:
        _cases.append(Case(name, seconds, check, tuple(tests)))
        return check

    return declare


def declared(script: Path, section: str = "") -> list[Trial]:
    """The cases that a script has declared since the last call."""
    trials = [Trial(script, i, each, section) for i, each in enumerate(_cases)]
    _cases.clear()
    return trials


def main(arguments: Sequence[str] = sys.argv[1:]) -> int:
    """Run the cases that the calling script has declared; the exit code."""
    if list(arguments[:1]) == [ALONE]:
        return _alone(_cases[int(arguments[1])])
    return tried(declared(Path(sys.argv[0])), arguments)


def tried(
    trials: Sequence[Trial],
    words: Sequence[str] = (),
    jobs: int = 1,
    environment: Mapping[str, str] | None = None,
    until: float | None = None,
) -> int:
    """Run cases and print a line for each; the exit code.

    Parameters
    ----------
    trials : sequence of Trial
    words : sequence of str
        Cases are run whose name has one of these in it; all, where there is none.
    jobs : int
        Cases at a time. Of several each may take twice so many times as long as it may alone.
    environment : mapping, optional
        Of the cases; by default this process's own.
    until : float, optional
        Unix time in seconds: cases that would not end by then on a machine that does nothing else are left out, and
        named.
    """
    chosen = [trial for trial in trials if not words or any(word in trial.case.name for word in words)]
    if not chosen:
        print(f"no case has {' or '.join(words)} in its name")
        return NOTHING
    running, line = set["subprocess.Popen[str]"](), threading.Lock()

    def passes(trial: Trial) -> bool | None:
        if until is not None and time.time() + trial.case.seconds > until:
            passed, told = None, [f"left          {_title(trial)}: no time left on this machine"]
        else:
            passed, told = _outcome(trial, jobs, environment, running)
        with line:
            print("\n".join(told), flush=True)
        return passed

    with ThreadPoolExecutor(jobs) as pool:
        try:
            results = list(pool.map(passes, chosen))
        except BaseException:  # Ctrl-C: no case outlives it
            pool.shutdown(wait=False, cancel_futures=True)
            for process in list(running):
                _end(process)
            raise
    print(f"{results.count(True)} of {len(chosen)} cases pass")
    if None in results:
        print(f"left out for time: {results.count(None)}")
    return 1 if False in results else 0


def _title(trial: Trial) -> str:
    return f"{trial.section}: {trial.case.name}" if trial.section else trial.case.name


def _alone(chosen: Case) -> int:
    with tempfile.TemporaryDirectory(prefix="guarded-") as folder:
        measured = chosen.check(Path(folder))
    print(measured or "")
    return 0


def _outcome(
    trial: Trial, jobs: int, environment: Mapping[str, str] | None, running: "set[subprocess.Popen[str]]"
) -> tuple[bool, list[str]]:
    """Run one case in a process group of its own; whether it passes, and its lines."""
    limit, began = trial.case.seconds * (1 if jobs == 1 else 2 * jobs), time.monotonic()
    process = subprocess.Popen(
        [sys.executable, str(trial.script), ALONE, str(trial.number)],
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        start_new_session=True,
    )
    running.add(process)
    try:
        said, late = process.communicate(timeout=limit)[0], False
    except subprocess.TimeoutExpired:
        _end(process)
        said, late = process.communicate()[0], True
    finally:
        _end(process)  # nothing that a case started outlives it
        running.discard(process)
    lines, passed = said.strip().splitlines(), process.returncode == 0 and not late
    result = f": {lines[-1]}" if passed and lines else ""
    told = [f"{'pass' if passed else 'FAIL'} {time.monotonic() - began:6.1f} s  {_title(trial)}{result}"]
    if late:
        told.append(f"       not within {limit:g} s")
    if not passed:
        told += [f"       {each}" for each in lines[-SHOWN:]]
    return passed, told


def _end(process: "subprocess.Popen[str]") -> None:
    """End a case's process group and, where it has not ended by itself, what it started in groups of their own."""
    below = []
    if process.poll() is None:
        with suppress(psutil.NoSuchProcess):
            below = psutil.Process(process.pid).children(recursive=True)
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    for each in below:
        with suppress(psutil.NoSuchProcess):
            each.kill()
