"""A site's state folder: one owner, a log and a status."""

import json
import os
from pathlib import Path

import pytest

from pfedgp.site.state import SiteState
from pfedgp_core.errors import ConfigError


def test_a_state_folder_has_one_owner(tmp_path: Path) -> None:
    folder = SiteState(tmp_path / "a" / "b")
    refused = pytest.raises(ConfigError, match=rf"running already \(process {os.getpid()}\)")
    with folder.locked(), refused, SiteState(folder.path).locked():
        raise AssertionError
    with folder.locked(), folder.logs() as logger:
        logger.info("kept")
        folder.write_status({"connected": True})
    assert "kept" in folder.log_file.read_text()
    assert json.loads((folder.path / "client.json").read_text()) == {"connected": True}
