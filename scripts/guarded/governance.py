"""Cases of a hostile server against a site's own policy, and of somebody who changes an audit log.

python scripts/guarded/governance.py
"""

import re
import subprocess
import sys
from pathlib import Path

from harness import REPOSITORY, case, main

HOSTILE, GATE, AUDIT = "tests/pfedgp/site/test_hostile_server.py", "tests/pfedgp/site/test_gate.py", "tests/core/audit"


@case("a hostile server's attempts get nothing past a site's policy", seconds=150, tests=[HOSTILE])
def server(_folder: Path) -> str:
    """The tests with the real app behind the real gate."""
    return tests(HOSTILE, "-k", "server or approved or thirty")


@case("an app that was turned sends nothing past a site's policy", seconds=90, tests=[HOSTILE])
def app(_folder: Path) -> str:
    """Fields, arrays, metrics and updates that no reply has."""
    return tests(HOSTILE, "-k", "turned")


@case("a policy, an approval or a ledger that is damaged refuses everything", seconds=90, tests=[GATE])
def damaged(_folder: Path) -> str:
    """The tests of the gate."""
    return tests(GATE, "-k", "cannot_be_read or damaged or vanishes or others_may")


@case("any change of an audit log is found, and a kill is survived", seconds=90, tests=[AUDIT])
def log(_folder: Path) -> str:
    """Every byte, line, order and end."""
    return tests(AUDIT)


def tests(*arguments: str) -> str:
    """Run tests of the repository; their failures are this case's."""
    command = [sys.executable, "-m", "pytest", "-q", "-n", "0", "-p", "no:cacheprovider", *arguments]
    done = subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-2000:]
    passed = re.search(r"(\d+) passed", done.stdout)
    assert passed, done.stdout[-2000:]
    return f"{passed[1]} tests"


if __name__ == "__main__":
    sys.exit(main())
