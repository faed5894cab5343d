"""Where results come from: the commit of pFedGP's code, and the machine."""

import subprocess
from functools import cache
from pathlib import Path
from typing import Any

__all__ = ["commit", "machine"]

_CODE = ("client", "pfedgp", "pfedgp_core", "server")


@cache
def commit() -> str:
    """The short hash of the checked-out commit, with ``+changes`` where the code differs from it; else ``unknown``."""
    root = Path(__file__).resolve().parents[2]

    def git(*arguments: str) -> str:
        command = ["git", "-C", str(root), *arguments]
        return subprocess.run(command, capture_output=True, text=True, check=True, timeout=60).stdout.strip()

    try:
        changed = git("status", "--porcelain", "--", *_CODE)
        return git("rev-parse", "--short=10", "HEAD") + ("+changes" if changed else "")
    except (OSError, subprocess.SubprocessError):
        return "unknown"


@cache
def machine() -> dict[str, Any]:
    """Processor, cores, memory and versions; no names of hosts, users or folders."""
    from pfedgp.benchmarking.machine import describe_machine

    return {key: value for key, value in describe_machine().items() if key not in ("load_at_start", "threads")}
