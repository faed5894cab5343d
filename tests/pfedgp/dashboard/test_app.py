"""Who gets an answer of the page, and what: the token, the names of hosts, the verbs, the paths, the headers."""

import json
import threading
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from pfedgp.dashboard import app as module
from pfedgp.dashboard.app import make_app
from pfedgp.dashboard.page import PAGE
from pfedgp.dashboard.watch import Watch
from pfedgp.serving.hosts import host_names
from tests.hosts import FOREIGN, OWN
from tests.pfedgp.dashboard.made_state import EVIL, MadeServer, busy, made_run

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning:pathspec.*")
TOKEN = "a-token-of-a-test"
BEHIND_THE_TOKEN = ["/state.json", "/metrics"]


def client(server: MadeServer, token: str | None = TOKEN, host: str = "127.0.0.1", **headers: str) -> TestClient:
    given = ({} if token is None else {"Authorization": f"Bearer {token}"}) | headers
    app = make_app(Watch(server.state), TOKEN, host_names(host, ["metrics.internal"]))
    return TestClient(app, "http://127.0.0.1:8788", headers=given, raise_server_exceptions=False)


def test_the_snapshot_is_that_of_the_command(server: MadeServer) -> None:
    server.start()
    busy(server)
    answer = client(server).get("/state.json")
    assert answer.status_code == 200
    expected = Watch(server.state).look()
    assert answer.json() | {"time": 0} == json.loads(json.dumps(expected)) | {"time": 0}


def test_half_a_character_in_a_file_does_not_end_the_page(server: MadeServer) -> None:
    made_run(server.state.runs / "old", status="failed", reason="half \ud800 of one")
    assert json.dumps(Watch(server.state).look(), ensure_ascii=False).encode()  # as --json prints it
    assert "half ? of one" in client(server).get("/state.json").text
    assert client(server).get("/metrics").status_code == 200


@pytest.mark.parametrize("path", BEHIND_THE_TOKEN)
@pytest.mark.parametrize("token", [None, "", "another", TOKEN[:-1], f"{TOKEN}x"])
def test_nothing_is_told_without_the_token(path: str, token: str | None, server: MadeServer) -> None:
    answer = client(server, token).get(path)
    assert answer.status_code == 401
    assert answer.json() == {"error": "Send the dashboard's token as 'Authorization: Bearer TOKEN'."}


@pytest.mark.parametrize("scheme", ["Basic", "Token"])
def test_the_token_is_a_bearer_token_alone(scheme: str, server: MadeServer) -> None:
    assert client(server, None, Authorization=f"{scheme} {TOKEN}").get("/state.json").status_code == 401
    assert client(server, None, Cookie=f"token={TOKEN}").get("/state.json").status_code == 401


@pytest.mark.parametrize("path", ["/", "/health", "/nothing", *BEHIND_THE_TOKEN])
@pytest.mark.parametrize("token", [None, TOKEN])
def test_a_token_in_an_address_is_refused_and_not_repeated(path: str, token: str | None, server: MadeServer) -> None:
    answer = client(server, token).get(f"{path}?token={TOKEN}")
    assert answer.status_code == 400
    assert "Nothing here takes parameters" in answer.json()["error"]
    assert TOKEN not in answer.text


def test_the_page_itself_holds_nothing_of_the_server(server: MadeServer) -> None:
    server.start()
    busy(server)
    answer = client(server, None).get("/")
    assert answer.text == PAGE
    assert "ward-1" not in answer.text
    assert str(server.state.path) not in answer.text
    assert client(server, None).get("/health").json() == {"status": "ok"}


@pytest.mark.parametrize("path", ["/", "/health", *BEHIND_THE_TOKEN])
@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS", "TRACE"])
def test_other_verbs_are_refused(path: str, method: str, server: MadeServer) -> None:
    answer = client(server).request(method, path)
    assert answer.status_code == 405
    assert "access-control-allow-origin" not in answer.headers


@pytest.mark.parametrize(
    "path",
    [
        "/../state/server.json",
        "/%2e%2e/%2e%2e/etc/passwd",
        "/state.json/../dashboard.token",
        "/dashboard.token",
        "//etc/passwd",
        "/metrics/",
        "/docs",
        "/openapi.json",
        "/runs/night/config.toml",
    ],
)
def test_there_is_nothing_else(path: str, server: MadeServer) -> None:
    answer = client(server).get(path)
    assert answer.status_code == 404
    assert list(answer.json()) == ["error"]


@pytest.mark.parametrize("host", FOREIGN)
def test_a_name_that_points_here_by_rebinding_gets_nothing(host: str, server: MadeServer) -> None:
    for path in ("/", "/health", *BEHIND_THE_TOKEN):
        answer = client(server, Host=host).get(path)
        assert answer.status_code == 421
        assert "--allow-host" in answer.json()["error"]
        assert answer.headers["cache-control"] == "no-store"


@pytest.mark.parametrize("host", [*OWN, "metrics.internal:8788"])
def test_own_names_are_answered(host: str, server: MadeServer) -> None:
    assert client(server, Host=host).get("/state.json").status_code == 200


@pytest.mark.parametrize("path", ["/", "/state.json", "/metrics", "/nothing", "/?token=x"])
def test_a_browser_is_told_to_load_and_keep_nothing(path: str, server: MadeServer) -> None:
    headers = client(server).get(path).headers
    policy = dict(part.split(" ", 1) for part in headers["content-security-policy"].split("; "))
    assert policy["default-src"] == policy["base-uri"] == policy["form-action"] == policy["frame-ancestors"] == "'none'"
    assert policy["connect-src"] == "'self'"
    assert policy["script-src"].startswith("'sha256-")
    assert "unsafe" not in headers["content-security-policy"]
    assert headers["cache-control"] == "no-store"
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["referrer-policy"] == "no-referrer"


def test_names_of_sites_cannot_leave_the_json(server: MadeServer) -> None:
    server.start()
    busy(server)
    answer = client(server).get("/state.json")
    assert answer.headers["content-type"] == "application/json"
    assert EVIL in answer.json()["sites"][-1]["name"]


def test_many_who_ask_at_once_cost_one_look(server: MadeServer, monkeypatch: pytest.MonkeyPatch) -> None:
    looks, go = [], threading.Event()
    original = Watch.look

    def slow(self: Watch) -> dict[str, Any]:
        looks.append(1)
        go.wait(10)
        return original(self)

    monkeypatch.setattr(Watch, "look", slow)
    with client(server.start()) as browser:
        answers: list[int] = []
        threads = [
            threading.Thread(target=lambda: answers.append(browser.get("/state.json").status_code)) for _ in range(8)
        ]
        for thread in threads:
            thread.start()
        go.set()
        for thread in threads:
            thread.join()
    assert answers == [200] * 8
    assert len(looks) <= 2  # a slow thread may ask after the first look was over


def test_a_server_that_hangs_is_an_answer_in_time(server: MadeServer, monkeypatch: pytest.MonkeyPatch) -> None:
    go = threading.Event()
    monkeypatch.setattr(Watch, "look", lambda _: go.wait(10))
    monkeypatch.setattr(module, "PATIENCE", 0.05)
    try:
        answer = client(server).get("/state.json")
    finally:
        go.set()
    assert (answer.status_code, answer.json()) == (503, {"error": "The server takes long to answer: try again."})


def test_a_failure_is_one_sentence_without_its_content(
    server: MadeServer, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail(_: Watch) -> None:
        raise RuntimeError("a secret path")

    monkeypatch.setattr(Watch, "look", fail)
    answer = client(server).get("/state.json")
    assert answer.status_code == 500
    assert "a secret path" not in answer.text
    assert "Unexpected RuntimeError: a secret path" in capsys.readouterr().err


def test_the_page_loads_nothing_from_elsewhere() -> None:
    page = PAGE.replace("http://www.w3.org/2000/svg", "")
    loads = ("http:", "https:", "src=", "@import", "url(", "innerHTML", "insertAdjacentHTML", "document.write", "eval(")
    assert [word for word in loads if word in page] == []


def test_a_state_folder_that_goes_away_is_a_sentence(server: MadeServer, tmp_path: Path) -> None:
    server.start()
    here = client(server)
    server.state.path.rename(tmp_path / "elsewhere")
    assert here.get("/state.json").json()["headline"]["level"] == "broken"
