"""A site whose table is in other units, over a real SuperLink: it reads why it is refused, with its column's name."""

import json
from pathlib import Path

import pytest

from pfedgp.cli import main
from pfedgp.dashboard.watch import Watch
from pfedgp.operator.state import ServerState
from tests.deploy.deployment import Deployment
from tests.own_sites import in_other_units, rows_of, table

pytestmark = pytest.mark.slow


def test_a_refused_site_is_told_in_the_words_of_the_servers_console(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    names = [f"ward-{i}" for i in range(4)]
    with Deployment(tmp_path, names) as made:
        made.start_server()
        for i, name in enumerate(names):
            data = table(tmp_path / f"{i}.csv", rows_of(0, 1, 2, of=4, part=i))
            made.start_site(name, "--data", str(in_other_units(data, 9) if i == 3 else data))
        made.connected()
        settings = ["--preset", "zero-mean", "--rounds", "100000", "--clients-per-round", "3", "--set", "min-clients=4"]
        settings += ["--set", "wait-timeout=120", "--set", "personalise=false"]
        run = made.start_run("refused", *settings)
        run.says("4 clients are ready|refused: ward-3's inputs are on another scale", 120.0)
        said = made.sites["ward-3"].says("the server says: (refused: ward-3's inputs are on another scale.+)", 120.0)[1]
        assert "column 'p9' has mean" in said
        assert said in run.text
        state = made.site_state("ward-3")
        assert json.loads((state / "notice.json").read_text())["words"] == said
        assert main(["status", "--state", str(state)]) == 0
        assert said in capsys.readouterr().out
        assert "the server says" not in made.sites["ward-0"].text
        page = Watch(ServerState(made.state)).look()
        (row,) = [row for row in page["refusals"] if row["kind"] == "refused"]
        assert (row["site"], f"refused: {row['reason']}") == ("ward-3", said)
        assert f"ward-3 cannot take part in refused: {row['reason']}" in [item["text"] for item in page["attention"]]
