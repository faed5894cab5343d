"""Damaged files: each reader gets many random changes of whole ones, and may only succeed or say what is wrong.

    python scripts/fuzz_files.py                              1000 inputs for each reader
    python scripts/fuzz_files.py --parser npz csv --count 100000 --seed 7 --save failed

An input fails where its reader raises anything but a PFedGPError, takes longer than ``--limit`` seconds, or ends the
process. Such inputs are saved in the folder of ``--save``. Input number i of a seed is always the same, but for keys,
which are made anew. Exit code 1: an input failed.
"""

import argparse
import json
import logging
import os
import random
import resource
import signal
import subprocess
import sys
import tempfile
import time
import traceback
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(REPOSITORY))
MEMORY = 8 * 1024**3  # bytes of address space of a reader's process
START = 300.0  # seconds until the first input; a loaded machine imports slowly
PATIENCE = 30.0  # seconds beyond the limit, after which a process that does not hear the alarm is ended


def main() -> int:
    """Try the readers that were asked for; the exit code."""
    from scripts.fuzzing.parsers import PARSERS

    parser = argparse.ArgumentParser(description="Change files at random and read them.")
    parser.add_argument("--parser", nargs="+", choices=PARSERS, default=list(PARSERS), help="readers (default: all)")
    parser.add_argument("--count", type=int, default=1000, help="inputs for each reader (default: 1000)")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--first", type=int, default=0, help="number of the first input (default: 0)")
    parser.add_argument("--limit", type=float, default=10.0, help="seconds for an input (default: 10)")
    parser.add_argument("--save", type=Path, default=Path("fuzz-failed"), help="folder for inputs that fail")
    parser.add_argument("--alone", action="store_true", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.alone:
        return _try(args)
    failed = 0
    for name in args.parser:
        failed += _parser_fails(name, args)
    print(f"{len(args.parser) - failed} of {len(args.parser)} readers held")
    return 1 if failed else 0


def _parser_fails(name: str, args: argparse.Namespace) -> bool:
    """Try one reader in processes of its own; one that ends is reported and followed by another."""
    began, first, failures, worst = time.monotonic(), args.first, 0, {"seconds": 0.0, "input": 0, "memory": 0}
    while first < args.first + args.count:
        with tempfile.TemporaryDirectory(prefix="fuzz-") as folder:
            progress = Path(folder) / "progress"
            command = [sys.executable, __file__, "--alone", "--parser", name, "--seed", str(args.seed)]
            command += ["--first", str(first), "--count", str(args.first + args.count - first)]
            command += ["--limit", str(args.limit), "--save", str(args.save)]
            process = subprocess.Popen(command, env={**os.environ, "TMPDIR": folder}, stdout=subprocess.PIPE, text=True)
            told = _heard(process, progress, args.limit)
            reached = int(progress.read_text() or first) if progress.exists() else first
        for line in told.splitlines():
            if line.startswith("{"):
                found = json.loads(line)
                failures += found.pop("failures")
                worst = max(worst, found, key=lambda each: float(each["seconds"]))
            else:
                print(line, flush=True)
        if process.returncode == 0:
            break
        failures += 1
        print(f"{name}: input {reached} ended its process ({process.returncode})", flush=True)
        first = reached + 1
    spent = time.monotonic() - began
    print(
        f"{'FAIL' if failures else 'held'} {name:<16} {args.count} inputs in {spent:.0f} s, {failures} failed; the "
        f"slowest, number {worst['input']}, took {worst['seconds']:.2f} s; peak memory {worst['memory'] / 1e6:.0f} MB",
        flush=True,
    )
    return failures > 0


def _heard(process: "subprocess.Popen[str]", progress: Path, limit: float) -> str:
    """What a process says; it is ended where it stays at one input."""
    at, since = "", time.monotonic()
    while True:
        try:
            return process.communicate(timeout=1.0)[0]
        except subprocess.TimeoutExpired:
            now = progress.read_text() if progress.exists() else ""
            if now != at:
                at, since = now, time.monotonic()
            elif time.monotonic() - since > (limit + PATIENCE if at else START):
                process.kill()


def _try(args: argparse.Namespace) -> int:
    """Read the inputs of one reader in this process; prints failures, and at the end a line of JSON."""
    from pfedgp_core.errors import PFedGPError
    from scripts.fuzzing.parsers import PARSERS

    (name,) = args.parser
    folder = Path(tempfile.mkdtemp())
    progress = os.open(folder.parent / "progress", os.O_WRONLY | os.O_CREAT)
    logging.disable(logging.CRITICAL)
    signal.signal(signal.SIGALRM, _too_long)
    trial = PARSERS[name](folder)
    for content in trial.whole:
        trial.read(content)
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    failures, slowest, number, parent = 0, 0.0, 0, os.getppid()
    for i in range(args.first, args.first + args.count):
        if os.getppid() != parent:  # it was ended
            return 1
        os.pwrite(progress, str(i).encode(), 0)
        rng = random.Random(f"{args.seed} {name} {i}")  # noqa: S311 (no secret)
        content = rng.choice(trial.changes)(rng, rng.choice(trial.whole))
        began = time.monotonic()
        signal.setitimer(signal.ITIMER_REAL, args.limit)
        try:
            trial.read(content)
        except PFedGPError:
            pass
        except (Exception, _TooLong) as error:  # noqa: BLE001 (that is what is looked for)
            failures += 1
            _report(args.save / f"{name}-{args.seed}-{i}", content, error)
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
        spent = time.monotonic() - began
        if spent > slowest:
            slowest, number = spent, i
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    print(json.dumps({"failures": failures, "seconds": slowest, "input": number, "memory": peak}))
    return 0


class _TooLong(BaseException):
    """An input whose reader does not come to an end; no reader may take it for an error of its own."""


def _too_long(*_: object) -> None:
    raise _TooLong


def _report(file: Path, content: bytes, error: BaseException) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(content)
    place = traceback.extract_tb(error.__traceback__)[-1]
    where = f"{Path(place.filename).name}:{place.lineno}"
    print(f"{file}: {type(error).__name__} at {where}: {' '.join(str(error).split())[:150]}", flush=True)


if __name__ == "__main__":
    sys.exit(main())
