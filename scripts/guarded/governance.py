"""Cases of a hostile server against a site's own policy, and of somebody who changes an audit log.

python scripts/guarded/governance.py
"""

import re
import subprocess
import sys
from pathlib import Path

from harness import REPOSITORY, case, main


@case("a hostile server's attempts get nothing past a site's policy", seconds=150)
def server(_folder: Path) -> str:
    """The tests with the real app behind the real gate."""
    return tests("tests/pfedgp/site/test_hostile_server.py", "-k", "server or approved or thirty")


@case("an app that was turned sends nothing past a site's policy", seconds=90)
def app(_folder: Path) -> str:
    """Fields, arrays, metrics and updates that no reply has."""
    return tests("tests/pfedgp/site/test_hostile_server.py", "-k", "turned")


@case("a policy, an approval or a ledger that is damaged refuses everything", seconds=90)
def damaged(_folder: Path) -> str:
    """The tests of the gate."""
    return tests("tests/pfedgp/site/test_gate.py", "-k", "cannot_be_read or damaged or vanishes or others_may")


@case("any change of an audit log is found, and a kill is survived", seconds=90)
def log(_folder: Path) -> str:
    """Every byte, line, order and end."""
    return tests("tests/core/audit")


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
