"""The token of a resident site: a file for its owner alone."""

import os
import stat
from pathlib import Path

import pytest

from pfedgp.serving.token import read_token
from pfedgp_core.errors import ArtefactError, ConfigError


def test_a_token_is_made_once_for_its_owner_alone(tmp_path: Path) -> None:
    former = os.umask(0)
    try:
        token = read_token(tmp_path / "t")
    finally:
        os.umask(former)
    assert stat.S_IMODE((tmp_path / "t").stat().st_mode) == 0o600
    assert len(token) >= 40
    assert read_token(tmp_path / "t") == token
    assert read_token(tmp_path / "other") != token


def test_a_token_that_others_may_read_is_refused(tmp_path: Path) -> None:
    read_token(tmp_path / "t")
    (tmp_path / "t").chmod(0o640)
    with pytest.raises(ArtefactError, match="Other users of this machine may read the token"):
        read_token(tmp_path / "t")


@pytest.mark.parametrize("content", [b"", b"short", b"two words that are long", b"\xff" * 40, b"x" * 5000])
def test_what_is_no_token_is_refused(content: bytes, tmp_path: Path) -> None:
    (tmp_path / "t").write_bytes(content)
    (tmp_path / "t").chmod(0o600)
    with pytest.raises(ConfigError, match="to have a new one made"):
        read_token(tmp_path / "t")
