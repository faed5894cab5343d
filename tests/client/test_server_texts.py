"""Whatever text a server sends: no import, no file read or written outside the site, no connection, no process."""

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pfedgp_core.registry import METHODS
from tests.client.hostile_texts import MODULE, SECRET, write_traps

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def audited(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., tuple[dict[str, Any], Path]]:
    """Runs the audited site with the code that its operator allows; what it saw, and its folder."""

    def run(*allowed: str) -> tuple[dict[str, Any], Path]:
        folder = tmp_path_factory.mktemp("audited")
        write_traps(folder)
        pixels = np.random.default_rng(0).integers(0, 256, (24, 1, 8, 8), dtype=np.uint8)
        np.savez(folder / "data.npz", images=pixels, labels=np.arange(24) % 2)
        command = [sys.executable, "-m", "tests.client.audited_site", str(folder), *allowed]
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True, timeout=600)
        return json.loads(done.stdout.splitlines()[-1]), folder

    return run


@pytest.mark.slow
def test_no_text_of_a_server_reaches_beyond_the_site(
    audited: Callable[..., tuple[dict[str, Any], Path]],
) -> None:
    seen, folder = audited()
    assert seen["findings"] == []
    assert not (folder / "written").exists()
    assert (folder / "secret.txt").read_text() == SECRET
    assert {path.name for path in folder.iterdir()} == {"data.npz", "modules", "secret.txt", "state"}
    assert seen["honest"] == 3 * len(METHODS) + 1  # pfedgp alone gives a newcomer a classifier
    assert seen["answered"] > 200  # texts that a site may ignore, so that more than the reading of settings is tried


@pytest.mark.slow
def test_the_audit_sees_code_that_the_operator_allowed(
    audited: Callable[..., tuple[dict[str, Any], Path]],
) -> None:
    seen, folder = audited(f"{MODULE}:run")
    assert any(f"import {MODULE}" in found for found in seen["findings"])
    assert any(f"open {folder / 'written'} to write" in found for found in seen["findings"])
