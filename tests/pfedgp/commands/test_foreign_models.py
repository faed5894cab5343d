"""A carried model or site that names code: the commands of a site run it only with ``--allow-network``."""

import sys
from pathlib import Path

import numpy as np
import pytest

from pfedgp.cli import main
from pfedgp_core.data.datasets import load_dataset
from pfedgp_core.model.shared import SharedState
from server.run.artefacts import RunFolder
from tests.published_model import MODEL_SETTINGS, save_digits

MODULE = "pfedgp_network_of_a_carried_model"
NETWORK = f"{MODULE}:network"
SOURCE = """from torch import nn


def network(shape, width):
    return nn.Sequential(nn.Flatten(), nn.Linear(64, width))
"""


@pytest.fixture
def carried(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a model that names the code beside it, which can be imported, and a site's data."""
    (tmp_path / f"{MODULE}.py").write_text(SOURCE)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delenv("PFEDGP_DEBUG", raising=False)
    settings, dataset = MODEL_SETTINGS.replace(network=NETWORK), load_dataset("digits")
    vector = SharedState.initial(settings, dataset.input_shape, 10).to_vector()
    meta = {
        "class_names": list(dataset.class_names),
        "input_shape": list(dataset.input_shape),
        "normalisation": {"mean": dataset.mean.tolist(), "std": dataset.std.tolist()},
        "settings": settings.to_run_config(),
    }
    (tmp_path / "run").mkdir()
    RunFolder(tmp_path / "run", {}).save_model("best", vector, meta)
    save_digits(tmp_path / "data.npz", (0, 1), 20)
    del sys.modules[MODULE]
    return tmp_path


def refused(capsys: pytest.CaptureFixture[str], *argv: str) -> None:
    capsys.readouterr()
    assert main(list(argv)) == 2
    error = capsys.readouterr().err
    assert error == (
        f"pfedgp: The model names the network '{NETWORK}', which is code that is not a part of pFedGP: if you trust "
        f"it, install it here and give --allow-network {NETWORK}.\n"
    )
    assert MODULE not in sys.modules


@pytest.mark.slow
def test_a_carried_model_brings_no_code_to_any_command(carried: Path, capsys: pytest.CaptureFixture[str]) -> None:
    model, data, site = (str(carried / name) for name in ("run/best", "data.npz", "site"))
    onboard = ("onboard", "--model", model, "--data", data, "--out", site)
    refused(capsys, *onboard)
    assert not Path(site).exists()
    assert main([*onboard, "--allow-network", NETWORK]) == 0  # and the site names the code from now on
    predict = ("predict", "--site", site, "--data", data, "--out", str(carried / "answers.csv"))
    certify = ("certify", "--site", site, "--unseen", "--repeats-are-genuine")
    more = ("onboard", "--add", data, "--out", site)
    again = ("onboard", "--refresh", "--data", data, "--out", site)
    labels = ("check-data", "--site", site)
    for command in (predict, certify, labels, more, again):
        del sys.modules[MODULE]
        refused(capsys, *command)
        assert main([*command, "--allow-network", NETWORK]) == 0


def test_a_comparison_with_a_carried_model_runs_nothing(carried: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check-data", str(carried / "data.npz"), "--model", str(carried / "run" / "best")]) == 0
    assert "These data can be used." in capsys.readouterr().out
    assert MODULE not in sys.modules
    assert main(["check-data", str(carried / "data.npz"), "--allow-network", NETWORK]) == 2
    assert "--allow-network belongs to --site" in capsys.readouterr().err


def test_a_carried_model_names_no_folder_to_read(carried: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    roots = []
    monkeypatch.setattr(
        "pfedgp_core.site.trained_model.load_dataset",
        lambda name, root="", seed=0: roots.append(root) or load_dataset(name, root, seed),
    )
    settings = MODEL_SETTINGS.replace(data_root=str(carried)).to_run_config()
    meta = {"class_names": [str(i) for i in range(10)], "input_shape": [1, 8, 8], "settings": settings}
    RunFolder(carried / "run", {}).save_model("best", np.zeros(3, np.float32), meta)
    assert main(["check-data", str(carried / "data.npz"), "--model", str(carried / "run" / "best")]) == 0
    assert roots == [""]
