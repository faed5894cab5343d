"""The length of the log that Flower's database has, with the patch and without it."""

from pathlib import Path
from typing import Any

import pytest
from flwr.supercore import sql_mixin
from flwr.supercore.object_store import ObjectStoreFactory
from sqlalchemy import text

from pfedgp.operator.inside_superlink.long_log import PAGES, LongLog


@pytest.mark.slow
@pytest.mark.parametrize("mended", [False, True])
def test_the_length_of_the_log(mended: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sql_mixin, "SQLITE_PRAGMAS", sql_mixin.SQLITE_PRAGMAS)  # put back in the end
    if mended:
        LongLog().apply()
    store: Any = ObjectStoreFactory(str(tmp_path / "state.db")).store()
    with store.session() as session:
        found = [session.execute(text(f"PRAGMA {name}")).scalar() for name in ("wal_autocheckpoint", "journal_mode")]
    assert found == [PAGES if mended else 1000, "wal"]


def test_the_pinned_flower_has_what_it_needs() -> None:
    assert LongLog().missing() == ""
