"""What a site may claim: samples, classes, names. No claim of one decides, misleads or holds back a federation."""

import csv
import io
import json
import logging
import resource
import sys
import time
from pathlib import Path

from harness import case, main

from pfedgp_core.config import Settings
from pfedgp_core.files.csv_text import csv_text, read_csv, split_names
from server.clients import waiting
from server.clients.key_names import named
from server.clients.roster import Roster
from server.clients.waiting import wait_for_clients
from server.report.figures import confusion_map
from server.report.html.writer import write_report
from tests.fakegrid import Tamper
from tests.federation_run import SMALL, federate, start
from tests.forged_claims import claims
from tests.own_sites import OWN, OwnGrid, three_image_sites
from tests.wire_parts import greets_with

FORMULA = "=HYPERLINK(1)"


def prepared() -> None:
    """What Flower sets in a process that serves one app."""
    from flwr.supercore.task_identity import TaskIdentity

    TaskIdentity.task_id = TaskIdentity.run_id = TaskIdentity.node_id = 1


def gigabytes() -> float:
    """Largest memory of this process up to now."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6


def told() -> io.StringIO:
    """What the server logs from now on."""
    stream = io.StringIO()
    logger = logging.getLogger("pfedgp")
    logger.addHandler(logging.StreamHandler(stream))
    logger.setLevel(logging.INFO)
    return stream


def _weighs_as_three(folder: Path, deployed: bool) -> str:
    prepared()
    run = federate(SMALL.replace(evaluate_every=1), folder / "run", claims(1), deployed=deployed)
    summary, record = run.summary, json.loads((run.path / "calibration.json").read_text())
    others = [sums["n"] for name, sums in record["clients"].items() if name != "client-01"]
    weight = 3 * sorted(others)[2]
    assert summary["bounded_clients"]["client-01"]["counted"] == weight
    assert record["pooled"]["n"] == sum(others) + weight
    assert all(at["test"]["n"] == sum(others) + weight for at in record["temperatures"])
    assert summary["validation_samples"] < 10 * weight
    assert all(r["validation_accuracy"] < 1 for r in run.records)
    assert any("client-01 claims 100,000,000 of all" in note for note in summary["notes"])
    return f"accuracy {summary['accuracy']:.3f}, mean over clients {summary['mean_accuracy']:.3f}"


@case("a client that claims 10^8 samples weighs as three median ones in best, summary and temperatures", 120)
def _(folder: Path) -> str:
    return _weighs_as_three(folder, deployed=False)


@case("the same where evaluations ride in train requests", 120)
def _(folder: Path) -> str:
    return _weighs_as_three(folder, deployed=True)


@case("summary, console and report state the mean over clients beside the pooled number, and name the claim", 120)
def _(folder: Path) -> str:
    prepared()
    console, stdout = io.StringIO(), sys.stdout
    sys.stdout = console
    try:
        run = federate(SMALL.replace(rounds=1), folder / "run", claims(1))
    finally:
        sys.stdout = stdout
    page = write_report(run.path).read_text()
    assert 0 <= run.summary["mean_accuracy"] <= 1
    assert "mean over clients: accuracy" in console.getvalue()
    assert "Mean client accuracy" in page
    for text in (console.getvalue(), page):
        assert "client-01 claims 100,000,000 of all" in text
    return "in all three"


@case("nine thousand class names and 10^6 samples in a greeting are refused by name, in short lines", 120)
def _(folder: Path) -> str:
    prepared()
    sites = three_image_sites(folder)
    sites["z"] = sites["ward-b"]
    names = [f"class {i:05} {'x' * 180}" for i in range(9_000)]
    log, before, began = told(), gigabytes(), time.monotonic()
    run = start(
        OwnGrid(sites, greets_with(3, class_names=names, classes=[0], n_train=10**6)),
        OWN.replace(rounds=1),
        folder / "run",
    )
    assert run.summary["clients"] == 3
    assert "refused: z names 9,000 classes" in log.getvalue()
    assert max(map(len, log.getvalue().splitlines())) < 1000
    return f"{time.monotonic() - began:.1f} s, {gigabytes() - before:.2f} GB more memory"


@case("the figure of two thousand classes is as large as that of 150", 120)
def _(_: Path) -> str:
    before, began = gigabytes(), time.monotonic()
    counts = {(i, (7 * i) % 2000): 1 + i % 3 for i in range(2000)}
    picture = confusion_map([f"c{i}" for i in range(2000)], counts).png()
    assert len(picture) < 1_000_000
    assert gigabytes() - before < 0.3
    return f"{time.monotonic() - began:.1f} s, {gigabytes() - before:.2f} GB more memory"


def _second_is_refused(folder: Path, name: str, said: str) -> str:
    prepared()
    log = told()
    settings = OWN.replace(clients_per_round=2, min_clients=2)
    roster = Roster(settings)
    wait_for_clients(roster, OwnGrid(three_image_sites(folder), greets_with(1, name=name)))
    assert [client.name for client in roster.online()] == ["ward-a", "ward-c"]
    assert said in log.getvalue(), log.getvalue()
    return f"refused: {name!a}"


@case("a name with a letter of another script that looks like another client's is refused", 120)
def _(folder: Path) -> str:
    prepared()
    log, twins = told(), {"ward-a", "w\u0430rd-a"}
    roster = Roster(OWN.replace(clients_per_round=2, min_clients=2))
    wait_for_clients(roster, OwnGrid(three_image_sites(folder), greets_with(1, name="w\u0430rd-a")))
    # Without keys the one that answers first has the name.
    (kept,) = {client.name for client in roster.online()} & twins
    (refused,) = twins - {kept}
    assert f"A client calls itself {named(refused)}, which looks like {named(kept)}, another client's" in log.getvalue()
    assert len(roster.online()) == 2
    return f"refused: {refused!a}"


@case("a name with a trailing space, a Hangul filler or another invisible character is refused", 120)
def _(folder: Path) -> str:
    for i, name in enumerate(("ward-a ", "ward-a\u3164", "ward\u200b-a", "ward-a\u2800")):
        (folder / f"{i}").mkdir()
        _second_is_refused(folder / f"{i}", name, "hello with a client name that has")
    return "all four"


@case("names that are formulas are texts in clients.csv, and read back as they are", 120)
def _(folder: Path) -> str:
    prepared()
    run = start(
        OwnGrid(three_image_sites(folder), greets_with(0, name=FORMULA)),
        OWN.replace(rounds=1, min_clients=2),
        folder / "run",
    )
    rows = list(csv.DictReader((run.path / "clients.csv").open(newline="")))
    assert not any(cell.startswith(tuple("=+-@\t\r")) for row in rows for cell in row.values() if not _number(cell))
    assert FORMULA in [row["name"] for row in read_csv((run.path / "clients.csv").read_text())]
    return f"{FORMULA} as a name"


@case("every CSV of the product comes from the one writer", 120)
def _(_: Path) -> None:
    root = Path(__file__).resolve().parents[2]
    writers = [
        path.relative_to(root).as_posix()
        for package in ("client", "pfedgp", "pfedgp_core", "server")
        for path in (root / package).rglob("*.py")
        if any(word in path.read_text() for word in ("csv.writer", "csv.DictWriter", ".to_csv("))
    ]
    assert writers == ["pfedgp_core/files/csv_text.py"]
    assert csv_text(["a"], [["+1+1"], [-2], ["-2"]]) == "a\n'+1+1\n-2\n-2\n"


@case("a class called a;b survives its way into clients.csv and back", 120)
def _(folder: Path) -> str:
    prepared()
    sites = three_image_sites(folder)
    (folder / "images" / "d0").rename(folder / "images" / "a;b")
    run = start(OwnGrid(sites), OWN.replace(rounds=1), folder / "run")
    rows = {row["name"]: split_names(row["classes"]) for row in read_csv((run.path / "clients.csv").read_text())}
    assert rows["ward-a"] == ["a;b", "d1", "d2", "d3"]
    assert "a;b, d1, d2, d3" in write_report(run.path).read_text()
    return "in clients.csv and report.html"


@case("a run starts without a site that cannot be read after the wait that its log states", 120)
def _(folder: Path) -> str:
    prepared()
    waiting.UNFIT_PATIENCE, waiting.WAITING_LOG_INTERVAL = 6.0, 2.0
    log, roster, began = told(), Roster(_unset()), time.monotonic()
    wait_for_clients(roster, OwnGrid(three_image_sites(folder), broken(1)))
    waited = time.monotonic() - began
    assert len(roster.online()) == 2
    assert "it starts without those that cannot take part in" in log.getvalue()
    assert "starting with 2 of 3 sites, without: malformed hello" in log.getvalue()
    assert waited >= 6
    return f"{waited:.1f} s of a stated 6 s"


def _unset() -> Settings:
    return OWN.replace(min_clients=0, clients_per_round=3, wait_timeout=600.0)


def broken(client: int) -> Tamper:
    """A client whose greeting cannot be read."""
    return greets_with(client, classes="nonsense")


def _number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True


if __name__ == "__main__":
    sys.exit(main())
