"""TOML of others: bounded in size, depth and numbers."""

from pathlib import Path

import pytest

from pfedgp_core.config import Settings
from pfedgp_core.errors import UnreadableFileError
from pfedgp_core.files.regular import MalformedError
from pfedgp_core.files.toml_file import LARGEST, parse_toml, read_toml
from server.run.settings import dump_settings


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("a =", "Invalid value"),
        ("a = " + "[" * 5000, "nested too deep"),
        ("a = " + "[" * 60 + "]" * 60, "nested too deep"),
        (".".join("a" * 300_000) + " = 1", "nested too deep"),
        ("[" + ".".join("a" * 1000) + "]", "nested too deep"),
        ("x = {" + ".".join("a" * 1000) + " = 1}", "nested too deep"),
        ("a = " + "9" * 5000, "beyond 64 bits"),
        ("a = 0x" + "f" * 5000, "beyond 64 bits"),
        ("a = inf", "not finite"),
        ("a = -nan", "not finite"),
        ("a = 1e999", "not finite"),
        ("a = 1\na = 2", "overwrite"),
    ],
)
def test_what_no_settings_need_is_refused(text: str, reason: str) -> None:
    with pytest.raises(MalformedError, match=reason):
        parse_toml(text)


def test_files_are_named_and_bounded(tmp_path: Path) -> None:
    file = tmp_path / "a.toml"
    file.write_text(dump_settings(Settings()))
    assert read_toml(file)["gp"]["kernel"] == "rbf"
    file.write_text("#" * (LARGEST + 1))
    with pytest.raises(UnreadableFileError, match=r"a\.toml cannot be read \(it has 1\.0 MB, more than"):
        read_toml(file)


def test_comments_may_hold_anything(tmp_path: Path) -> None:
    assert parse_toml("# " + "." * 1000 + "\na = 1") == {"a": 1}
