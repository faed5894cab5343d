"""``pfedgp client`` against a SuperLink: real processes, and what happens when one dies, hangs or is stopped."""

import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.deploy.program import is_alive
from tests.deploy.site_programs import Federation, Probe, Site, federation, until

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Federation]:
    with federation(tmp_path_factory.mktemp("server")) as running:
        yield running


@pytest.fixture(scope="module")
def probe(server: Federation) -> Iterator[Probe]:
    running = server.run_probe()
    yield running
    running.end()


@pytest.fixture
def site(server: Federation, tmp_path: Path) -> Iterator[Site]:
    running = Site(server.superlink, tmp_path / "site")
    yield running
    running.close()


@pytest.fixture(scope="module")
def lasting(server: Federation, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    running = Site(server.superlink, tmp_path_factory.mktemp("lasting") / "site")
    yield running
    running.close()


@pytest.fixture
def shared(lasting: Site) -> Site:
    """One site for all tests after which it goes on, with a worker that lives."""
    until(lambda: is_alive(lasting.worker()), "a worker")
    lasting.forget()
    return lasting


def test_one_worker_answers_message_after_message(shared: Site, probe: Probe) -> None:
    node = shared.node()
    assert probe.call(node)["code"] == 0
    worker = shared.worker()
    replies = [probe.call(node) for _ in range(5)]
    assert [reply["code"] for reply in replies] == [0] * 5
    assert shared.worker() == worker
    assert is_alive(worker)
    shared.says(r"Answered the greeting of run \d+ in \d")
    # The worker holds no connection but the pair to its parent, and the client listens on loopback only.
    assert (shared.state / "logs" / "client.log").is_file()


def test_a_worker_killed_while_idle_is_back_before_the_next_message(shared: Site, probe: Probe) -> None:
    node, worker = shared.node(), shared.worker()
    assert probe.call(node)["code"] == 0
    os.kill(worker, signal.SIGKILL)
    shared.says("worker had ended while it was idle")
    assert probe.call(node)["code"] == 0
    assert shared.worker() != worker


def test_a_worker_killed_within_a_message_is_reported_and_replaced(shared: Site, probe: Probe) -> None:
    node, worker = shared.node(), shared.worker()
    assert probe.call(node)["code"] == 0
    os.kill(worker, signal.SIGSTOP)
    reply = probe.ask(node)
    until(lambda: "Receiving: query.hello message" in log_since(shared, worker), "the message at the site")
    time.sleep(1.0)
    os.kill(worker, signal.SIGKILL)
    answer = probe.answer(reply)
    assert (answer["code"], answer["reason"]) == (8, "worker died")
    shared.says(r"Problem: The worker died: it ended by itself \(signal 9\)")
    assert probe.call(node)["code"] == 0
    assert shared.worker(other_than=worker) != worker


def test_a_worker_past_the_time_limit_is_ended_and_replaced(shared: Site, probe: Probe) -> None:
    node, worker = shared.node(), shared.worker()
    assert probe.call(node)["code"] == 0
    os.kill(worker, signal.SIGSTOP)
    answer = probe.call(node, timeout=4.0)
    assert answer["code"] in (3, None)  # too late for the server, whether it says so or not
    shared.says("too slow for the server: it was ended after 4 s")
    until(lambda: not is_alive(worker), "the end of the stopped worker")
    assert probe.call(node)["code"] == 0


def test_a_request_that_no_handler_takes_is_an_error_of_a_type_alone(shared: Site, probe: Probe) -> None:
    answer = probe.call(shared.node(), kind="query.no_such_handler")
    assert (answer["code"], answer["reason"]) == (2, "ValueError")


def test_another_app_is_refused_and_the_own_one_goes_on(shared: Site, server: Federation, probe: Probe) -> None:
    node = shared.node()
    other = server.run_probe(version="0.0.9")
    answer = other.call(node)
    other.end()
    assert (answer["code"], answer["reason"]) == (7, "app not allowed")
    shared.says(r"Problem: Run \d+ is of the app pfedgp/pfedgp:0\.0\.9; only pfedgp/pfedgp:\S+ may run here")
    assert probe.call(node)["code"] == 0


@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 0), (signal.SIGINT, 130)])
def test_a_signal_ends_all_processes_and_a_restart_is_let_in(
    server: Federation, probe: Probe, tmp_path: Path, number: int, code: int
) -> None:
    site = Site(server.superlink, tmp_path / "site")
    try:
        assert probe.call(site.node())["code"] == 0
        pids = site.pids()
        site.process.send_signal(number)
        assert site.process.wait(30) == code
        assert not any(map(is_alive, pids))
        assert len(pids) == 3
        assert "Traceback" not in site.text()
        assert site.text().rstrip().endswith("Stopped.")
    finally:
        site.close()
    again = Site(server.superlink, tmp_path / "site")
    try:
        assert probe.call(again.node())["code"] == 0
    finally:
        again.close()


def test_a_signal_is_obeyed_in_the_middle_of_a_message(site: Site, probe: Probe) -> None:
    node, worker = site.node(), site.worker()
    assert probe.call(node)["code"] == 0
    os.kill(worker, signal.SIGSTOP)
    reply = probe.ask(node)
    until(lambda: "Receiving: query.hello message" in log_since(site, worker), "the message at the site")
    pids = site.pids()
    site.process.terminate()
    assert site.process.wait(30) == 0
    assert not any(map(is_alive, pids))
    assert probe.answer(reply)["code"] == 5  # the server is told at once that the node has left


def test_a_second_client_on_the_same_folder_is_refused(site: Site, server: Federation) -> None:
    site.node()
    second = Site(server.superlink, site.state)
    second.output = site.output  # it shares the name; the first has what it shows there
    assert second.process.wait(60) == 2
    assert f"is running already (process {site.process.pid})" in second.text()
    assert site.process.poll() is None
    assert is_alive(site.worker())


def test_the_children_end_with_a_supervisor_that_is_killed(server: Federation, probe: Probe, tmp_path: Path) -> None:
    site = Site(server.superlink, tmp_path / "site")
    try:
        node, worker = site.node(), site.worker()
        assert probe.call(node)["code"] == 0
        os.kill(worker, signal.SIGSTOP)  # even one that does not run ends
        pids = site.pids()
        site.process.kill()
        site.process.wait()
        until(lambda: not any(map(is_alive, pids)), "the end of all processes", 30)
    finally:
        site.close()
    again = Site(server.superlink, tmp_path / "site")
    try:
        assert probe.call(again.node())["code"] == 0
    finally:
        again.close()


def test_a_supernode_that_is_killed_is_started_again(site: Site, probe: Probe) -> None:
    first = site.node()
    assert probe.call(first)["code"] == 0
    supernode, worker = site.status()["supernode"], site.worker()
    os.kill(supernode, signal.SIGKILL)
    until(lambda: not is_alive(worker), "the end of its worker", 30)
    until(lambda: site.status().get("connected") and site.status()["supernode"] != supernode, "another SuperNode")
    assert probe.call(site.node())["code"] == 0


def test_a_worker_that_cannot_load_its_app_stops_the_client(server: Federation, tmp_path: Path) -> None:
    broken = tmp_path / "broken"
    broken.mkdir()
    (broken / "polyagamma.py").write_text("raise ImportError('no module named polyagamma')\n")
    path = os.pathsep.join([str(broken), os.environ.get("PYTHONPATH", "")])
    site = Site(server.superlink, tmp_path / "site", env={"PYTHONPATH": path})
    try:
        assert site.process.wait(120) == 1
        sentence = "The worker did not start three times: it cannot load client.client_app:app (ImportError: no module"
        assert sentence in site.text()
        assert not any(map(is_alive, site.pids()))
        assert (site.state / "logs" / "client.log").read_text().count("raise ImportError") == 3
    finally:
        site.close()


def test_with_stock_flowers_own_supernode_answers(server: Federation, probe: Probe, tmp_path: Path) -> None:
    site = Site(server.superlink, tmp_path / "site", "--stock")
    try:
        node = site.node()
        assert site.status()["mode"] == "stock"
        site.says("rounds are slow, and this site runs whatever app")
        assert probe.call(node)["code"] == 0
        group = os.getpgid(site.status()["supernode"])
    finally:
        site.close()
    assert site.process.returncode == 0
    assert not [pid for pid in processes() if group_of(pid) == group]


def test_a_server_that_comes_later_is_waited_for(tmp_path: Path) -> None:
    with federation(tmp_path / "server") as server:
        superlink = server.superlink
        server.flower.processes["superlink"].kill()
        server.flower.processes["superlink"].wait()
        site = Site(superlink, tmp_path / "site")
        try:
            site.says("Waiting: ")
            server.flower.start_superlink()
            site.node()
            assert site.text().count("Waiting: ") == 1
        finally:
            site.close()


def log_since(site: Site, pid: int) -> str:
    """The log of a site after the last answer."""
    return (site.state / "logs" / "client.log").read_text().rpartition("Answered")[2]


def processes() -> list[int]:
    """All processes of this machine."""
    return [int(path.name) for path in Path("/proc").iterdir() if path.name.isdigit() and is_alive(int(path.name))]


def group_of(pid: int) -> int:
    """Process group, or -1."""
    try:
        return os.getpgid(pid)
    except ProcessLookupError:
        return -1
