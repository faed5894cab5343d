"""Sites whose tables hold more texts than rules on which sites agree have room for."""

from pathlib import Path

import pytest

from tests.own_sites import OwnGrid
from tests.server.test_federated_rules import INPUTS, gathered
from tests.ward_tables import ward, write

pytestmark = pytest.mark.slow


def long_texts(n: int, *alike: str) -> dict[str, list[str]]:
    """110 columns of `n` rows, each with 50 texts: a greeting has room for them, and rules have not."""
    starts = alike or tuple(chr(ord("a") + i) for i in range(8))
    words = [[f"{start}{r % 50:02}".ljust(190, "-") for r in range(n)] for start in starts]
    return {f"note {c}": words[c % len(starts)] for c in range(110)}


def with_texts(root: Path, name: str, seed: int, texts: dict[str, list[str]]) -> Path:
    rows = [row | {column: texts[column][r] for column in texts} for r, row in enumerate(ward(seed, n=250))]
    return write(root / f"{name}.csv", rows)


def test_a_site_that_fills_the_rules_is_refused_by_name_and_the_run_goes_on(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    few = {f"note {c}": ["yes", "no"] * 125 for c in range(110)}
    sites: dict[str, Path | str] = {f"ward-{i}": with_texts(tmp_path, str(i), i, few) for i in range(3)}
    sites["ward-x"] = with_texts(tmp_path, "x", 3, long_texts(250, "x"))
    roster, spec = gathered(OwnGrid(sites))
    assert [client.name for client in roster.online()] == ["ward-0", "ward-1", "ward-2"]
    assert len(spec.columns) == len(INPUTS) + 110
    reason = "refused: ward-x tells of 1,067,000 characters of texts that most sites do not have, the most in 'note"
    assert reason in caplog.text


def test_columns_for_which_rules_have_no_room_are_no_feature_and_named(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    sites: dict[str, Path | str] = {f"ward-{i}": with_texts(tmp_path, str(i), i, long_texts(250)) for i in range(3)}
    roster, spec = gathered(OwnGrid(sites))
    assert len(roster.online()) == 3
    assert 4500 < len(spec.columns) < 5500
    assert "no feature, as their texts are too rare or too many to agree on: note" in caplog.text
