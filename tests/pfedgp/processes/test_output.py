"""A terminal that knows few characters ends no command."""

import os
import subprocess
import sys

import pytest

from pfedgp.processes.flower import QUIET

SMILE = "\U0001f600"
PRINTS = f"from pfedgp.processes.output import write_anything; write_anything(); print('ward {SMILE}')"


@pytest.mark.parametrize("encoding", ["ascii", "cp1252"])
def test_a_character_that_is_not_known_is_written_as_its_number(encoding: str) -> None:
    environment = os.environ | {"PYTHONIOENCODING": encoding}
    done = subprocess.run([sys.executable, "-c", PRINTS], env=environment, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "ward \\U0001f600\n")


def test_the_command_survives_one_in_its_own_message() -> None:
    environment = os.environ | {"PYTHONIOENCODING": "cp1252"}
    done = subprocess.run(
        [sys.executable, "-P", "-m", "pfedgp", SMILE], env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 2
    assert done.stderr.startswith("pfedgp: Unknown verb '\\U0001f600'")


def test_flowers_programs_write_what_we_read() -> None:
    assert QUIET["PYTHONIOENCODING"].startswith("utf-8")
