"""The commands of docs/after-training.md, as they stand there: two sites onboard themselves over gRPC."""

import json
import re
import shlex
import shutil
from pathlib import Path

import pytest

from pfedgp.local.processes import LocalFlower
from pfedgp.operator.addresses import is_open
from pfedgp.processes.flower import flower_program, free_ports
from pfedgp_core.site.saved import SavedSite
from tests.deploy.program import wait_for
from tests.published_model import save_digits, save_digits_model

ROOT = Path(__file__).resolve().parents[2]
SECTION = (ROOT / "docs/after-training.md").read_text(encoding="utf-8").partition("With Flower's own commands")[2]


def block(language: str) -> str:
    """The first block of code in a language."""
    found = re.search(rf"^```{language}\n(.*?)^```$", SECTION, re.MULTILINE | re.DOTALL)
    assert found
    return found[1]


def documented(changes: dict[str, str]) -> list[list[str]]:
    """The commands for superlink, supernode and run, with paths and ports of this test."""
    text = block("sh")
    for old, new in changes.items():
        assert old in text, old
        text = text.replace(old, new)
    lines = text.replace("\\\n", " ").splitlines()
    return [shlex.split(line) for line in lines if not line.startswith("#")]


def copy_of_the_app(folder: Path) -> Path:
    """What ``flwr run .`` sends of a checkout."""
    for name in ("client", "server", "pfedgp_core"):
        shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("pyproject.toml", "LICENSE", "README.md"):
        shutil.copy(ROOT / name, folder)
    return folder


def ran(flower: LocalFlower, app: Path, options: list[str]) -> tuple[str, list[str]]:
    """Run the app; its final status and what it printed."""
    run_id = str(flower.flwr("run", str(app), "federation", *options, "--format", "json")["run-id"])
    lines = list(flower.follow(run_id))

    def final() -> str:
        status = flower.status(run_id)[0]
        return status if status.startswith("finished") else ""

    return wait_for(final, 20.0, "the end of the run"), lines


@pytest.mark.slow
def test_two_sites_with_their_own_data_take_a_published_model(tmp_path: Path) -> None:
    best = save_digits_model(tmp_path / "runs" / "first")
    for name, classes in (("ward-3", (3, 8)), ("ward-4", (0, 1, 2))):
        save_digits(tmp_path / "data" / f"{name}.npz", classes)
    with LocalFlower(tmp_path) as flower:
        node_ports = free_ports(2)
        ports = {":9092": f":{flower.fleet_port}", "--port 8000": f"--port {flower.port}"}
        paths = {f'"/{top}/': f'"{tmp_path}/{top}/' for top in ("runs", "data", "state")}
        superlink, supernode, run = documented(ports | paths)
        connection = block("toml").replace("127.0.0.1:8000", f"127.0.0.1:{flower.port}")
        with (tmp_path / "cli-home" / "config.toml").open("a", encoding="utf-8") as file:
            file.write("\n" + connection)

        flower._start("superlink", flower_program(superlink[0]), *superlink[1:])
        both = (flower.port, flower.fleet_port)

        def listens() -> bool:
            flower.check("superlink")  # raises with its last words where it has ended
            return all(is_open("127.0.0.1", port) for port in both)

        wait_for(listens, 120.0, "both ports of the SuperLink")
        for name, port in zip(("ward-3", "ward-4"), node_ports, strict=True):
            own = [part.replace("ward-3", name).replace("9094", str(port)) for part in supernode]
            flower._start(f"site-{name}", flower_program(own[0]), *own[1:])

        assert run[:2] == ["flwr", "run"]
        assert run[2:5] == [".", "federation", "--stream"]
        app = copy_of_the_app(tmp_path / "pfedgp")
        status, lines = ran(flower, app, run[5:])
        assert status == "finished:completed", lines

        shutil.rmtree(tmp_path / "data")
        failed, last = ran(flower, app, [part.replace("first-published", "second") for part in run[5:]])
        assert failed == "finished:failed"
        assert any("None of 2 nodes could be onboarded (DataError)" in line for line in last), last

    result = json.loads((tmp_path / "runs" / "first-published" / "onboarded.json").read_text())
    assert result["status"] == "completed"
    assert result["model"]["path"] == str(best)
    told = {row["client"]: (row["outcome"], row["samples"], row["classes"]) for row in result["sites"]}
    assert told == {"ward-3": ("created", 24, ["3", "8"]), "ward-4": ("created", 36, ["0", "1", "2"])}
    assert any("ward-4: created, 36 samples" in line for line in lines)
    for name in told:
        site = SavedSite.load(tmp_path / "state" / name)
        assert (site.name, site.model.sha256) == (name, result["model"]["sha256"])
