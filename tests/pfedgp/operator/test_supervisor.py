"""The programs that a server starts."""

import os
import sys
from pathlib import Path

import pytest

from pfedgp.operator.supervisor import Program, ServerSupervisor
from pfedgp_core.errors import RunFailedError

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning:pathspec.*")


def test_a_program_that_ends_as_it_starts_is_not_ready_and_its_last_error_is_told(tmp_path: Path) -> None:
    (tmp_path / "superlink.log").write_text("ERROR : of an earlier start\n")
    code = (
        "import sys; print('\\x1b[93mWARNING\\x1b[0m :   EXPERIMENTAL: may change.');"
        "print('2026-01-01T10:00:00.763Z ERROR [uvicorn.error] address already in use'); print('bye'); sys.exit(3)"
    )
    supervisor = ServerSupervisor(tmp_path, lambda line: None)
    program = Program("superlink", [sys.executable, "-c", code], os.environ, tmp_path)
    supervisor.start(program)
    try:
        # Another program's answer on the port is not this one's.
        with pytest.raises(RunFailedError) as failed:
            supervisor.wait(program, lambda: program.process is not None and program.process.wait() == 3, 30, bool)
    finally:
        supervisor.stop()
    assert str(failed.value) == "The superlink ended with exit code 3: address already in use."
