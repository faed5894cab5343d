"""``pfedgp run`` and ``deploy-local``: whether the sites of a deployment share a head where nobody says."""

import argparse
from pathlib import Path

import pytest

from pfedgp.cli import main
from pfedgp.commands import run
from pfedgp_core.config import Settings

HEAD = "Prior mean: a softmax head that the clients share"


NEAREST = ["--set", "aggregation=nearest", "--set", "trim-share=0.2"]


@pytest.mark.parametrize(
    ("sites", "options", "note"),
    [
        (3, [], "Prior mean: zero, as the run has 180 visits of clients (60 rounds x 3)"),
        (5, [], "Prior mean: zero, as one site could spoil a shared head for all"),
        (5, NEAREST, HEAD),
        (40, [*NEAREST, "--rounds", "20"], "Prior mean: zero, as the run has 100 visits of clients (20 rounds x 5)"),
        (40, [*NEAREST, "--rounds", "20", "--clients-per-round", "15"], HEAD),
        (5, ["--set", "dp-noise=1"], "Prior mean: zero, as a shared head does not go with dp-noise"),
        (5, ["--preset", "zero-mean"], ""),
    ],
)
def test_registered_sites_are_the_clients_that_count(sites: int, options: list[str], note: str) -> None:
    parser = argparse.ArgumentParser()
    run.add_arguments(parser)
    settings, notes = run._settings(parser.parse_args(options), {}, sites)
    assert settings.gp.prior_mean == ("head" if note == HEAD else "zero")
    assert "\n".join(notes).startswith(note)
    assert bool(notes) is bool(note)


@pytest.mark.parametrize(("options", "head"), [([*NEAREST, "--rounds", "60"], True), (["--rounds", "60"], False)])
def test_a_local_deployment_says_it_too(
    options: list[str], head: bool, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    deployed: list[Settings] = []
    monkeypatch.setattr("pfedgp.local.deployment.deploy_local", lambda settings, *_, **__: deployed.append(settings))
    command = ["deploy-local", "--sites", "5", *options]
    assert main([*command, "--out", str(tmp_path / "a")]) == 0
    assert main([*command, "--preset", "zero-mean", "--out", str(tmp_path / "b")]) == 0
    assert [settings.gp.prior_mean for settings in deployed] == ["head" if head else "zero", "zero"]
    said = HEAD if head else "Prior mean: zero, as one site could spoil a shared head for all"
    assert capsys.readouterr().out.startswith(said)
