"""What a site's SuperNode is started with, as Flower reads it."""

import tomllib
from pathlib import Path

from flwr.common.config import get_metadata_from_config, parse_config_args

from pfedgp.site.plan import APP, APP_ID, SitePlan


def test_every_text_of_the_node_config_arrives_at_flower(tmp_path: Path) -> None:
    config = {"client-name": "Station „3“ 😀", "data-path": '/a "b"/c\'s\\d', "partition-id": 3}
    (tmp_path / "flwr").mkdir()
    plan = SitePlan("localhost:9092", "/ca.crt", "/key", config, str(tmp_path), "x")
    assert SitePlan.from_json(plan.to_json()) == plan
    arguments = plan.supernode_arguments(4711)
    file = arguments[arguments.index("--node-config") + 1]
    assert parse_config_args([file]) == config
    assert arguments[arguments.index("--auth-supernode-private-key") + 1] == "/key"
    assert arguments[arguments.index("--host") + 1] == "127.0.0.1"
    assert "--insecure" not in arguments


def test_the_app_is_the_one_of_the_project_file() -> None:
    project = tomllib.loads((Path(__file__).parents[3] / "pyproject.toml").read_text())
    assert ":".join(get_metadata_from_config(project)) == APP_ID
    assert project["tool"]["flwr"]["app"]["components"]["clientapp"] == APP
