"""A publication keeps the model card of the run that made the model."""

import shutil
from pathlib import Path

from pfedgp_core.config import Settings
from server.publish import Publication
from tests.published_model import save_digits_model
from tests.server.test_publish import grid_of


def published(best: Path, out: Path) -> None:
    Publication.of(grid_of(), Settings(), best, out, {})


def test_the_card_of_the_run_goes_with_the_model(tmp_path: Path) -> None:
    best = save_digits_model(tmp_path / "run")
    (best.parent / "model-card.md").write_text("# Model card: run\n")
    (best.parent / "model-card.json").write_text("{}\n")
    published(best, tmp_path / "out")
    assert (tmp_path / "out" / "model-card.md").read_text() == "# Model card: run\n"
    assert (tmp_path / "out" / "model-card.json").read_text() == "{}\n"


def test_a_model_without_a_card_is_published_without_one(tmp_path: Path) -> None:
    best = save_digits_model(tmp_path / "run")
    shutil.copytree(best, tmp_path / "alone" / "model")
    published(tmp_path / "alone" / "model", tmp_path / "out")
    assert not list((tmp_path / "out").iterdir())
