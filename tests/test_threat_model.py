"""docs/threat-model.md: every row names a test, and every test that it names exists."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
TEXT = (ROOT / "docs/threat-model.md").read_text(encoding="utf-8")
ROWS = [line for line in TEXT.splitlines() if line.startswith("|") and not re.match(r"\|(---|.*\| test \|$)", line)]
NAMED = re.compile(r"`((?:tests|scripts)/[\w/]+\.py)(?:::(\w+))?`")


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.split("|")[1].strip()[:60])
def test_a_row_names_tests_that_exist(row: str) -> None:
    found = NAMED.findall(row.rstrip("| ").rpartition("|")[2])
    assert found, "the last column names no test"
    for file, name in found:
        assert (ROOT / file).exists(), file
        assert not name or re.search(rf"^def {name}\(", (ROOT / file).read_text(encoding="utf-8"), re.MULTILINE), name
