"""``pfedgp run`` and ``deploy-local``: whether the sites of a deployment share a head where nobody says."""

import argparse
from pathlib import Path

import pytest

from pfedgp.cli import main
from pfedgp.commands import run
from pfedgp_core.config import Settings

SPOILT = "Prior mean: zero, as one site could spoil a shared head for all"
NEAREST = ["--set", "aggregation=nearest", "--set", "trim-share=0.2"]


@pytest.mark.parametrize(
    ("sites", "options", "note"),
    [
        (3, [], SPOILT),
        (5, [], SPOILT),
        (40, [*NEAREST, "--clients-per-round", "15"], SPOILT),
        (5, ["--set", "dp-noise=1"], "Prior mean: zero, as a shared head does not go with dp-noise"),
        (5, ["--preset", "zero-mean"], ""),
        (5, ["--preset", "shared-head", *NEAREST], ""),
    ],
)
def test_sites_share_a_head_where_it_is_asked_for(sites: int, options: list[str], note: str) -> None:
    parser = argparse.ArgumentParser()
    run.add_arguments(parser)
    settings, notes = run._settings(parser.parse_args(options), {}, sites)
    assert settings.gp.prior_mean == ("head" if "shared-head" in options else "zero")
    assert "\n".join(notes).startswith(note)
    assert bool(notes) is bool(note)


@pytest.mark.parametrize(("options", "head"), [(["--preset", "shared-head"], True), (["--rounds", "60"], False)])
def test_a_local_deployment_says_it_too(
    options: list[str], head: bool, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    deployed: list[Settings] = []
    monkeypatch.setattr("pfedgp.local.deployment.deploy_local", lambda settings, *_, **__: deployed.append(settings))
    assert main(["deploy-local", "--sites", "5", *options, "--out", str(tmp_path / "a")]) == 0
    assert [settings.gp.prior_mean for settings in deployed] == ["head" if head else "zero"]
    assert capsys.readouterr().out.startswith(SPOILT) is not head
