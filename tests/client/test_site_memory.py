"""A server asks a site for more memory than it may use: one sentence, and nothing of that size is made."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from client.onboard import Onboarding
from client.own_site import own_site
from client.published import onboard_node
from client.source import Source
from pfedgp_core.config import Settings
from pfedgp_core.errors import MemoryLimitError
from pfedgp_core.memory import MemoryLimit
from pfedgp_core.model.shared import SharedState
from pfedgp_core.site.trained_model import TrainedModel
from tests.client.site_requests import OWN, ask, node
from tests.own_sites import archive, image_folder, rows_of

HUGE = OWN.replace(input_shape="3,5000,5000")


@pytest.fixture(autouse=True)
def no_large_arrays(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody resizes an image."""

    def refused(*_: Any, **__: Any) -> None:
        raise AssertionError("an image was resized")

    monkeypatch.setattr("PIL.Image.Image.resize", refused)


@pytest.mark.parametrize("kind", ["folder", "archive", "builtin"])
def test_images_are_not_resized_beyond_the_limit(kind: str, tmp_path: Path) -> None:
    rows = rows_of(0, 1)
    made = {
        "folder": lambda: image_folder(tmp_path / "images", rows),
        "archive": lambda: archive(tmp_path / "images.npz", rows),
        "builtin": lambda: "digits",
    }[kind]()
    with pytest.raises(MemoryLimitError, match=r"of shape 3 x 5000 x 5000, and 2\.0 GB may be used here") as refused:
        own_site(Source.of(HUGE, node(made, max_memory="2"))).refresh()
    assert str(refused.value).endswith("or start this site with a larger --max-memory.")


@pytest.mark.parametrize("kind", ["query.hello", "train", "evaluate"])
def test_the_server_hears_the_type_and_the_site_the_sentence(
    kind: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    config = node(archive(tmp_path / "images.npz", rows_of(0, 1)), max_memory="2")
    assert ask(kind, config, HUGE).error.reason == "MemoryLimitError"


@pytest.mark.parametrize(
    "changes",
    [
        {"gp.solver": "dense", "gp.predict-chains": 10_000},
        {"variant": "ip-data", "inducing-per-class": 100_000},
        {"variant": "ip-compute", "inducing-per-class": 100_000},
    ],
)
def test_settings_that_ask_for_much_are_refused(changes: dict[str, Any], tmp_path: Path) -> None:
    config = node(archive(tmp_path / "images.npz", rows_of(0, 1, 2, 3)), max_memory="0.5")
    settings = Settings.from_run_config(OWN.to_run_config() | changes)
    assert ask("train", config, settings).error.reason == "MemoryLimitError"
    assert not ask("train", config).has_error()


def test_a_published_model_is_not_built_beyond_the_limit(tmp_path: Path) -> None:
    model = TrainedModel(np.zeros(3, np.float32), OWN, ("0", "1"), (3, 5000, 5000), np.zeros(3), np.ones(3))
    with pytest.raises(MemoryLimitError, match="the network 'auto' of"):
        onboard_node(model, node(tmp_path / "data.npz", state=str(tmp_path / "state"), max_memory="4"))
    assert not (tmp_path / "state").exists()


def test_a_carried_model_that_does_not_fit_is_refused_before_images_are_resized(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(MemoryLimit, "of_machine", lambda: MemoryLimit(4e9))
    model = TrainedModel(np.zeros(3, np.float32), OWN, ("0", "1"), (3, 5000, 5000), np.zeros(3), np.ones(3))
    made = Onboarding(tmp_path / "site", resize=True)
    with pytest.raises(MemoryLimitError, match="the network 'auto' of"):
        made.create(model, [archive(tmp_path / "few.npz", rows_of(0, 1)[:2])])


@pytest.mark.parametrize("kind", ["folder", "archive"])
def test_a_classifier_that_does_not_fit_is_refused_before_images_are_resized(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    vector = SharedState.initial(OWN, (1, 16, 16), 2).to_vector()
    model = TrainedModel(vector, OWN, ("0", "1"), (1, 16, 16), np.zeros(1), np.ones(1))
    rows, asked = rows_of(0, 1), []

    def no_room(_: TrainedModel, samples: int, classes: int) -> None:
        asked.append((samples, classes))
        raise MemoryLimitError("no room")

    monkeypatch.setattr(TrainedModel, "require_room", no_room)
    data = image_folder(tmp_path / "a", rows) if kind == "folder" else archive(tmp_path / "a.npz", rows)
    with pytest.raises(MemoryLimitError, match="no room"):
        Onboarding(tmp_path / "site", resize=True).create(model, [data])
    assert asked == [(len(rows), 2)]
