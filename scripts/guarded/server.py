"""Cases of a server against a site: code, files and memory that it names, and what a refused site learns.

python scripts/guarded/server.py
"""

import json
import resource
import subprocess
import sys
from pathlib import Path

from harness import REPOSITORY, case, main

GIB = 2**30
CARRIED = ["tests/pfedgp/commands/test_foreign_models.py"]
TOLD = ["tests/server/clients/test_notices.py", "tests/client/test_notices.py"]


def audited(folder: Path, *allowed: str) -> dict[str, object]:
    """The site that answers a hostile server's requests under an audit hook; what it saw."""
    import numpy as np

    from tests.client.hostile_texts import write_traps

    write_traps(folder)
    pixels = np.random.default_rng(0).integers(0, 256, (24, 1, 8, 8), dtype=np.uint8)
    np.savez(folder / "data.npz", images=pixels, labels=np.arange(24) % 2)
    command = [sys.executable, "-m", "tests.client.audited_site", str(folder), *allowed]
    done = subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True, check=True)
    return dict(json.loads(done.stdout.splitlines()[-1]))


@case(
    "no text that a server sends is imported, opened or connected to at a site",
    seconds=150,
    tests=["tests/client/test_server_texts.py::test_no_text_of_a_server_reaches_beyond_the_site"],
)
def texts(folder: Path) -> str:
    """Every text setting, field and class name, in every kind of message."""
    seen = audited(folder)
    assert seen["findings"] == [], seen["findings"]
    assert not (folder / "written").exists()
    return f"{seen['requests']} requests, {seen['answered']} of them answered"


@case(
    "the audit does see code that the site's operator allowed",
    seconds=150,
    tests=["tests/client/test_server_texts.py::test_the_audit_sees_code_that_the_operator_allowed"],
)
def control(folder: Path) -> None:
    """The trial above can fail."""
    from tests.client.hostile_texts import MODULE

    findings = audited(folder, f"{MODULE}:run")["findings"]
    assert any(f"import {MODULE}" in found for found in findings), findings  # type: ignore[attr-defined]


@case("a carried model and a site's folder bring no code to onboard, predict and certify", seconds=90, tests=CARRIED)
def carried(_folder: Path) -> None:
    """The tests of the commands, which really call them."""
    tests(*CARRIED)


@case("input-shape=3,5000,5000 is refused at a site before it takes memory", seconds=60)
def shape(folder: Path) -> str:
    """A site with 1 GB for runs and 500 images, in a process whose peak is measured."""
    import numpy as np

    from client.own_site import Source, own_site
    from pfedgp_core.config import Settings
    from pfedgp_core.errors import MemoryLimitError

    np.savez(folder / "data.npz", images=np.zeros((500, 3, 32, 32), np.uint8), labels=np.arange(500) % 2)
    node = {"client-name": "ward-3", "data-path": str(folder / "data.npz"), "max-memory": "1"}
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    try:
        own_site(Source.of(Settings(input_shape="3,5000,5000"), node)).refresh()
    except MemoryLimitError as error:
        grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
        assert grown < 100, f"{grown:.0f} MiB"
        return f"{grown:.0f} MiB; {error}"
    raise AssertionError("it was not refused")


@case("a model that no machine holds is refused at the server before it is built", seconds=60)
def network(_folder: Path) -> str:
    """The shape that images would have, as sites tell it."""
    from pfedgp_core.config import Settings
    from pfedgp_core.errors import MemoryLimitError
    from pfedgp_core.memory import MemoryLimit, require_memory
    from pfedgp_core.model.needs import model_needs

    model_needs(Settings(), (3, 32, 32), 10, 5)  # what torch loads to know shapes alone is no part of this
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    try:
        require_memory(model_needs(Settings(), (3, 5000, 5000), 10, 5), MemoryLimit(16 * GIB))
    except MemoryLimitError as error:
        grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
        assert grown < 100, f"{grown:.0f} MiB"
        return f"{grown:.0f} MiB; {error}"
    raise AssertionError("it was not refused")


@case("a site that is refused reads why, with its column's name, in its log and its state", seconds=90, tests=TOLD)
def told(_folder: Path) -> None:
    """The tests of the roster with real sites."""
    tests(*TOLD)


def tests(*files: str) -> None:
    """Run tests of the repository; their failures are this case's."""
    command = [sys.executable, "-m", "pytest", "-q", "-n", "0", "-p", "no:cacheprovider", *files]
    done = subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-2000:]


if __name__ == "__main__":
    sys.exit(main())
