"""Two registered keys over a real SuperLink, of which one comes under the other's name."""

from pathlib import Path

import pytest

from tests.deploy.deployment import Deployment
from tests.deploy.digit_images import write_digits

pytestmark = pytest.mark.slow


def test_a_site_under_the_name_of_another_sites_key_is_refused(tmp_path: Path) -> None:
    with Deployment(tmp_path, ["owner", "thief"]) as made:
        made.start_server()
        data = {name: str(write_digits(tmp_path / "data" / name, (0, 1), 30)) for name in made.names}
        made.start_site("owner", "--data", data["owner"])
        made.start_site("thief", "--data", data["thief"], "--name", "owner")
        made.connected()
        few = ["--set", "min-clients=1", "--set", "min-results=1", "--set", "personalise=false"]
        run = made.start_run("named", "--rounds", "3", "--clients-per-round", "2", *few)
        assert run.ends(120.0) == 0, run.text
        assert "refused: A site with the key 'thief' calls itself 'owner'" in run.text
        assert all(record["sampled"] == ["owner"] for record in made.rounds("named"))
        assert made.summary("named")["clients"] == 1
