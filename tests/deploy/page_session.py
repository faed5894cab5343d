"""Runs the commands of a page of the docs as they stand, and compares what they print with what the page shows."""

import os
import re
import subprocess
import sys
from pathlib import Path
from types import TracebackType
from typing import NamedTuple, Self

from pfedgp.processes.flower import free_ports
from pfedgp_core.policy.runs import Runs
from tests.conftest import QUIET
from tests.deploy.namespaces import Host
from tests.deploy.program import Program
from tests.waiting import wait_for

__all__ = ["Block", "Session", "blocks", "is_shown"]

ROOT = Path(__file__).resolve().parents[2]
READY = {"server": ("registered", 180.0), "client": ("Connected to ", 180.0)}  # what a program says, and seconds
HASH = "RUN"  # stands in the page for the hash of the run that asks
NUMBER = re.compile(r"(?<![\w.-])[0-9]+(?:\.[0-9]+)?(?![\w-])")


class Block(NamedTuple):
    """A block of code of a page: its language, the file that it is (of ``toml``), and its text."""

    language: str
    file: str
    text: str


def blocks(page: str) -> list[Block]:
    """All blocks of a page, in order."""
    return [Block(*found) for found in re.findall(r"^```(\w+) ?(\S*)\n(.*?)^```", page, re.MULTILINE | re.DOTALL)]


def is_shown(line: str, printed: str) -> bool:
    """Whether a line of a page is what was printed.

    ``...`` stands for anything. Whole numbers are equal. Others, of which the last digits are those of a processor,
    differ by at most a tenth or 0.05, and above 10, where they are percentages, by 4.
    """
    parts = NUMBER.split(line)
    form = r"([0-9]+(?:\.[0-9]+)?)".join(re.escape(part).replace(re.escape("..."), ".*") for part in parts)
    shown = NUMBER.findall(line)
    for found in re.finditer(rf"^\s*{form}\s*$", printed, re.MULTILINE):
        if all(_near(a, b) for a, b in zip(shown, found.groups(), strict=True)):
            return True
    return False


def _near(shown: str, printed: str) -> bool:
    if "." not in shown and "." not in printed:
        return shown == printed
    a, b = float(shown), float(printed)
    return abs(a - b) <= (4.0 if a > 10 else max(0.1 * a, 0.05))


class Session:
    """A folder in which the lines of a page are run; a context manager that ends its programs.

    Parameters
    ----------
    folder : Path
    ports : mapping of str to int, optional
        Those of the page, each to be replaced by a free one.
    """

    def __init__(self, folder: Path, ports: tuple[str, ...] = ("9092", "8000")) -> None:
        self.folder, self.printed = folder, ""
        self.programs: dict[str, Program] = {}
        self._ports = dict(zip(ports, free_ports(len(ports)), strict=True))
        bin_folder = folder / "bin"
        bin_folder.mkdir()
        for name, options in (("pfedgp", "-P -m pfedgp"), ("python", "")):
            (bin_folder / name).write_text(f'#!/bin/sh\nexec "{sys.executable}" {options} "$@"\n')
            (bin_folder / name).chmod(0o755)
        self._environment = QUIET | {"PATH": f"{bin_folder}:{os.environ['PATH']}", "CUDA_VISIBLE_DEVICES": ""}

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for program in reversed(self.programs.values()):
            program.stop()

    def run(self, line: str) -> None:
        """Run a line: in the background where it ends with ``&``, else to its end, with the code that it names."""
        words, _, remark = line.partition("  #")
        command = self._here(words.strip())
        if command.endswith(" &"):
            self._start(command.removesuffix(" &"))
            return
        expected = int(found[1]) if (found := re.search(r"ends with ([0-9]+)", remark)) else 0
        done = subprocess.run(
            ["bash", "-c", command],
            cwd=self.folder,
            env=os.environ | self._environment,
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )
        assert done.returncode == expected, f"{command} ended with {done.returncode}\n{done.stdout}{done.stderr}"
        self.printed += done.stdout + done.stderr

    def write(self, file: str, text: str) -> None:
        """Write a file that the page shows, in place of one that a command has made."""
        (self.folder / file).write_text(text, encoding="utf-8")

    def _start(self, command: str) -> None:
        verb = command.split()[1]
        log = self.folder / f"{verb}-{len(self.programs)}.log"
        self.programs[command] = program = Program(
            *(log, Host(), ["-c", f"exec {command}"], self._environment, self.folder, ("bash",))
        )
        if verb in READY:
            program.says(*READY[verb])
        if verb == "run":
            wait_for(self._asked, 180.0, "a run asks for approval")

    def _asked(self) -> list[str]:
        """Runs that ask at a site of this folder, and are not approved."""
        found = [Runs.read(policy.parent) for policy in self.folder.glob("*/policy")]
        return [key for runs in found for key in runs.asked if key not in runs.approved]

    def _here(self, command: str) -> str:
        for shown, port in self._ports.items():
            command = command.replace(f":{shown}", f":{port}")
        if f" {HASH} " in command:
            command = command.replace(f" {HASH} ", f" {self._asked()[0][:16]} ")
        return command.replace("python experiments/", f"python {ROOT}/experiments/")
