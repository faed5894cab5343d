"""A site's own data in its process: what is read when, the kept split, and what cannot work."""

import logging
from pathlib import Path

import numpy as np
import pytest
import torch

from client import own_site as own_site_module
from client.own_site import own_site
from client.site import greeting, load_site
from client.source import Source
from pfedgp_core.data.spec import DataSpec
from pfedgp_core.errors import ArtefactError, ConfigError, DataError
from pfedgp_core.wire.hello import Hello
from tests.client.site_requests import CLASSES, OWN, SPEC_OF_DIGITS, ask, node
from tests.own_sites import DIGITS, IMAGES, archive, image_folder, rows_of


def test_the_kept_split_lasts_when_data_grow(tmp_path: Path) -> None:
    state = tmp_path / "state"
    state.mkdir()
    data = image_folder(tmp_path / "data", rows_of(0, 1, of=6))
    site = own_site(Source("w", str(data), state=str(state))).loaded()
    before = {part: set(site.parts[part].ids) for part in site.parts}
    image_folder(data, rows_of(0, 1, of=6, part=1))
    own_site.cache_clear()
    grown = own_site(Source("w", str(data), state=str(state))).loaded()
    for part, ids in before.items():
        assert ids < set(grown.parts[part].ids)
    sizes = [grown.count(part) for part in ("train", "validation", "test")]
    assert np.allclose(np.array(sizes) / sum(sizes), (0.6, 0.2, 0.2), atol=0.03)


def test_a_copy_of_an_image_never_lands_in_another_part(tmp_path: Path) -> None:
    data = image_folder(tmp_path / "data", rows_of(0, 1, of=4))
    for image in list(data.rglob("*.png")):
        (image.parent / f"copy of {image.name}").write_bytes(image.read_bytes())
    site = own_site(Source("w", str(data), input_shape=(3, 4, 4))).loaded()
    of = {name.split("/")[1].removeprefix("copy of "): part for part, s in site.parts.items() for name in s.ids}
    for part, samples in site.parts.items():
        assert all(of[name.split("/")[1].removeprefix("copy of ")] == part for name in samples.ids)
    assert site.input_shape == (3, 4, 4)


def test_resizing_does_not_change_the_split(tmp_path: Path) -> None:
    data = image_folder(tmp_path / "data", rows_of(0, 1, of=6))
    plain, small = (own_site(Source("w", str(data), input_shape=s)).loaded() for s in (None, (1, 4, 4)))
    assert [plain.parts[p].ids for p in plain.parts] == [small.parts[p].ids for p in small.parts]


def test_a_damaged_split_refuses_the_site_and_names_no_path_outside(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(logging.getLogger("pfedgp.client"), "handlers", [])
    monkeypatch.setenv("PFEDGP_CLIENT_LOG", str(tmp_path / "site.log"))
    (tmp_path / "split.json").write_text("{}")
    config = node(archive(tmp_path / "a.npz", rows_of(0, 1)), state=str(tmp_path))
    with pytest.raises(ArtefactError, match="restore it from a copy"):
        greeting(OWN, config)
    reply = ask("query.hello", config)
    assert (reply.error.code, reply.error.reason) == (2, "ArtefactError")
    assert "restore it from a copy" in (tmp_path / "site.log").read_text()


def test_files_are_read_again_only_at_a_greeting_and_only_if_they_changed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    reads: list[str] = []
    read = own_site_module.read_splits
    monkeypatch.setattr(own_site_module, "read_splits", lambda path, **o: reads.append(path) or read(path, **o))
    path = archive(tmp_path / "a.npz", rows_of(0, 1, of=4))
    config = node(path)
    n = greeting(OWN, config).n_train
    first = load_site(OWN, config, SPEC_OF_DIGITS).data
    greeting(OWN, config)
    assert load_site(OWN, config, SPEC_OF_DIGITS).data is first
    assert len(reads) == 1
    archive(path, rows_of(0, 1, of=2))
    assert load_site(OWN, config, SPEC_OF_DIGITS).data is first
    assert len(reads) == 1
    assert greeting(OWN, config).n_train > n
    assert len(reads) == 2
    assert len(load_site(OWN, config, SPEC_OF_DIGITS).data.train) > n
    path.unlink()
    with pytest.raises(DataError, match="nothing at"):
        greeting(OWN, config)
    with pytest.raises(DataError, match="nothing at"):
        load_site(OWN, config, SPEC_OF_DIGITS)


def test_the_greeting_tells_own_classes_and_raw_moments(tmp_path: Path) -> None:
    rows = rows_of(1, 3)
    images = IMAGES[rows].copy()
    images[:] = 51
    images[:, 0] += np.arange(len(rows), dtype=np.uint8)[:, None] % 2  # not all equal, or there would be one sample
    np.savez(tmp_path / "a.npz", images=images, labels=DIGITS[rows])
    hello = greeting(OWN, node(tmp_path / "a.npz"))
    assert (hello.name, hello.class_names, hello.classes, hello.partition_hash) == ("ward-3", ("1", "3"), (0, 1), "")
    assert hello.own_data
    assert hello.mean[0] == pytest.approx(0.2, rel=0.01)
    assert hello.std[0] < 0.01
    assert Hello.from_wire(*hello.to_wire()) == hello


def test_inputs_are_normalised_as_the_federation_says(tmp_path: Path) -> None:
    rows = rows_of(0, 2)
    data = load_site(OWN, node(archive(tmp_path / "a.npz", rows)), SPEC_OF_DIGITS).data
    raw = own_site(Source("ward-3", str(tmp_path / "a.npz"))).parts["train"]
    expected = (torch.from_numpy(raw.inputs) / 255.0 - 0.3) / 0.35
    torch.testing.assert_close(data.train.inputs, expected)
    assert data.train.labels.unique().tolist() == [0, 2]
    assert data.class_names == CLASSES


@pytest.mark.parametrize(
    ("config", "error", "text"),
    [
        ({"data_path": "a.npz", "client_name": ""}, ConfigError, "client-name"),
        ({"data_path": "a.npz", "client_name": "a\nb"}, ConfigError, "client-name"),
        ({"data_path": "none.npz"}, DataError, "nothing at"),
        ({"data_path": "/dev/null"}, DataError, "no known kind"),
        ({"data_path": "digits", "data_root": "/data"}, ConfigError, "leave out data-root"),
        ({"data_path": "a.npz", "data_root": "/data"}, ConfigError, "leave out data-root"),
        ({"data_path": "a.npz", "device": "cuda:99"}, ConfigError, "device"),
    ],
)
def test_node_configs_that_cannot_work(
    config: dict[str, str], error: type[Exception], text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    archive(tmp_path / "a.npz", rows_of(0, 1))
    full = node("a.npz") | {key.replace("_", "-"): value for key, value in config.items()}
    with pytest.raises(error, match=text):
        greeting(OWN, full)
    with pytest.raises(error, match=text):
        load_site(OWN, full, SPEC_OF_DIGITS)


def test_requests_without_a_description_of_the_data_are_refused(tmp_path: Path) -> None:
    config = node(archive(tmp_path / "a.npz", rows_of(0, 1)))
    with pytest.raises(DataError, match="same pfedgp version"):
        load_site(OWN, config)
    with pytest.raises(DataError, match="shape 1 x 8 x 8, and the federation's 64"):
        load_site(OWN, config, DataSpec(CLASSES, (64,), (0.0,) * 64, (1.0,) * 64))


def test_a_built_in_set_keeps_its_parts(tmp_path: Path) -> None:
    hello = greeting(OWN.replace(input_shape="3,10,10"), node("digits"))
    assert (hello.n_train, hello.n_validation, hello.n_test) == (1078, 362, 357)
    assert hello.input_shape == (3, 10, 10)
    assert hello.class_names == tuple("0123456789")
    regression = greeting(OWN.replace(task="regression"), node("diabetes"))
    assert regression.class_names == ()
    assert regression.n_train == 265
    with pytest.raises(DataError, match="is no finite number"):
        greeting(OWN.replace(task="regression"), node(archive(tmp_path / "a.npz", rows_of(0, 1))))


def test_a_class_name_that_the_server_would_refuse_is_told_at_the_site(tmp_path: Path) -> None:
    np.savez(tmp_path / "b.npz", images=IMAGES[:2], labels=np.array(["a\nb", "c"]))
    with pytest.raises(DataError, match="Not a name of a class"):
        own_site(Source("ward-3", str(tmp_path / "b.npz"))).refresh()
