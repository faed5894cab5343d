"""Files that are replaced whole."""

import os
from pathlib import Path

import pytest

from pfedgp_core.errors import ArtefactError
from server.run.files import write_whole


def test_a_link_is_written_through_and_a_device_not_at_all(tmp_path: Path) -> None:
    target, link = tmp_path / "target.csv", tmp_path / "link.csv"
    target.write_text("old")
    link.symlink_to(target)
    write_whole(link, "new")
    assert link.is_symlink()
    assert target.read_text() == "new"
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(ArtefactError, match="no regular file"):
        write_whole(tmp_path / "pipe", "new")
