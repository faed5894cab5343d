"""``pfedgp check-data --site`` from the command line."""

import json
from pathlib import Path

import numpy as np
import pytest

from pfedgp.cli import main
from pfedgp_core.data.samples import Split
from pfedgp_core.site.origins import Origin
from pfedgp_core.site.samples import SiteSamples
from pfedgp_core.site.saved import SavedSite
from tests.core.site.test_saved import data, model_of


@pytest.fixture
def ward(tmp_path: Path) -> Path:
    split, model = data(100), model_of()
    labels = split.labels.copy()
    labels[[5, 50]] = np.array([1, 3, 0])[np.searchsorted([0, 1, 3], labels[[5, 50]])]
    origins = [Origin(f"a{i}", "", 0) for i in range(100)]
    samples = SiteSamples.compute(Split(split.inputs, labels), model, origins)
    SavedSite.fit("ward", model, samples).save(tmp_path / "ward")
    return tmp_path / "ward"


def test_the_wrong_labels_are_named(ward: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check-data", "--site", str(ward), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert {"a5", "a50"} <= {one["id"] for one in found["samples"]}
    assert found["checked"] == 100
    assert all(one["probability"] < 0.5 for one in found["samples"])
    assert main(["check-data", "--site", str(ward), "--most", "1"]) == 0
    assert capsys.readouterr().out.count("\n") == 3


@pytest.mark.parametrize("options", [[], ["data.npz", "--site", "ward"]])
def test_either_data_or_a_site(options: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check-data", *options]) == 2
    assert "PATH" in capsys.readouterr().err


def test_json_belongs_to_a_site(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check-data", "data.npz", "--json"]) == 2
    assert "--json belongs to --site" in capsys.readouterr().err


@pytest.mark.parametrize("verb", ["check-data", "watch"])
def test_copies_in_the_site_are_told(verb: str, ward: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    np.savez(tmp_path / "new.npz", x=data(4, seed=3).inputs)
    argv = [verb, "--site", str(ward), *(["--data", str(tmp_path / "new.npz")] if verb == "watch" else [])]
    assert main(argv) == 0
    assert "repeat another one" not in capsys.readouterr().err
    site = SavedSite.load(ward)
    copied = site.samples.union(site.samples.take(np.arange(7)))
    SavedSite.fit("ward", site.model, copied).save(ward, replace=True)
    assert main(argv) == 0
    assert "Note, on the site: 7 samples of the site repeat another one" in capsys.readouterr().err
