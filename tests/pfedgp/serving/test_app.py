"""A resident site's answers: the values of `pfedgp predict`, and one sentence for everything else."""

import io
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from starlette.testclient import TestClient

from pfedgp.cli import main
from pfedgp.serving import app as module
from pfedgp.serving.app import make_app
from pfedgp.serving.bodies import Reader
from pfedgp.serving.hosts import host_names
from pfedgp.serving.work import Work
from tests.hosts import FOREIGN, OWN
from tests.table_site import COLUMNS, rows, table_site

TOKEN = "a-token-of-a-test"
X = rows(30)
HOSTS = host_names("127.0.0.1", ["predictions.internal"])


def work(**limits: Any) -> Work:
    return Work(table_site(), Reader((3,), COLUMNS, **limits))


def client(token: str | None = TOKEN, **limits: Any) -> TestClient:
    headers = {} if token is None else {"Authorization": f"Bearer {token}"}
    app = make_app(work(**limits), TOKEN, HOSTS)
    return TestClient(app, "http://127.0.0.1:8787", headers=headers, raise_server_exceptions=False)


def as_npz(**arrays: Any) -> bytes:
    file = io.BytesIO()
    np.savez_compressed(file, **arrays)
    return file.getvalue()


def as_csv(columns: tuple[str, ...] = COLUMNS, table: np.ndarray = X) -> str:
    return "\n".join([",".join(columns), *(",".join(map(repr, row)) for row in table.tolist())]) + "\n"


BODIES: dict[str, tuple[str, Any]] = {
    "json": ("application/json", json.dumps({"inputs": X.tolist()}).encode()),
    "csv": ("text/csv; charset=utf-8", as_csv().encode()),
    "npz": ("application/x-npz", as_npz(x=X)),
}


def test_columns_in_another_order_give_the_same_answers() -> None:
    bodies = as_csv(), as_csv(COLUMNS[::-1], X[:, ::-1])
    answers = [client().post("/predict", content=body, headers={"Content-Type": "text/csv"}) for body in bodies]
    assert [answer.status_code for answer in answers] == [200, 200]
    assert answers[1].json()["predictions"] == answers[0].json()["predictions"]


@pytest.mark.parametrize("kind", BODIES)
def test_answers_are_those_of_the_classifier(kind: str) -> None:
    content_type, body = BODIES[kind]
    answer = client().post("/predict", content=body, headers={"Content-Type": content_type})
    assert answer.status_code == 200
    found, site = answer.json(), table_site()
    whole = site.predict(X)
    assert found["classes"] == list(site.class_names)
    assert found["model"] == site.model.sha256
    assert [one["probabilities"] for one in found["predictions"]] == whole.probabilities.tolist()
    assert [one["entropy"] for one in found["predictions"]] == whole.entropy.tolist()
    assert [one["predicted"] for one in found["predictions"]] == [site.class_names[i] for i in whole.predicted]
    assert [one["id"] for one in found["predictions"]] == [str(i + 1) for i in range(len(X))]


def test_the_table_is_that_of_predict(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    table_site().save(tmp_path / "site")
    (tmp_path / "new.csv").write_text(as_csv())
    argv = ["--site", str(tmp_path / "site"), "--data", str(tmp_path / "new.csv"), "--out", "-"]
    assert main(["predict", *argv, "--min-confidence", "0.6", "--temperature", "2"]) == 0
    answer = client().post(
        "/predict?min-confidence=0.6&temperature=2",
        content=as_csv(),
        headers={"Content-Type": "text/csv", "Accept": "text/csv"},
    )
    assert answer.headers["content-type"].startswith("text/csv")
    assert answer.text == capsys.readouterr().out


def test_names_of_samples_come_back() -> None:
    answer = client().post("/predict", json={"inputs": X[:2].tolist(), "ids": ["first", "second"]}).json()
    assert [one["id"] for one in answer["predictions"]] == ["first", "second"]


@pytest.mark.parametrize("token", [None, "", "another", TOKEN[:-1]])
def test_nothing_is_answered_without_the_token(token: str | None) -> None:
    answer = client(token).post("/predict", json={"inputs": X.tolist()})
    assert answer.status_code == 401
    assert answer.headers["www-authenticate"] == "Bearer"
    assert answer.json() == {"error": "Send the site's token as 'Authorization: Bearer TOKEN'."}


@pytest.mark.parametrize("host", FOREIGN)
def test_a_name_that_points_here_by_rebinding_gets_nothing(host: str) -> None:
    for method, path in (("POST", "/predict"), ("GET", "/health"), ("GET", "/docs"), ("GET", "/openapi.json")):
        answer = client().request(method, path, headers={"Host": host})
        assert answer.status_code == 421
        assert "--allow-host" in answer.json()["error"]


@pytest.mark.parametrize("host", [*OWN, "predictions.internal:8787"])
def test_own_names_are_answered(host: str) -> None:
    answer = client().post("/predict", json={"inputs": X[:1].tolist()}, headers={"Host": host})
    assert answer.status_code == 200


BAD: list[tuple[str, bytes, int, str]] = [
    ("application/json", b"{", 400, "cannot be read as JSON"),
    ("application/json", b"[" * 10_000, 400, "nested too deep"),
    ("application/json", b'{"inputs": [[NaN, 1, 2]]}', 400, "NaN, which is no number"),
    ("application/json", b'{"inputs": [[1e39, 1, 2]]}', 400, "too large for 32 bits"),
    ("application/json", b'{"inputs": [[1, 2, 3], [1, 2]]}', 400, "differ in shape"),
    ("application/json", b'{"inputs": [["1", "2", "3"]]}', 400, "something else than numbers"),
    ("application/json", b'{"inputs": [[1, 2, null]]}', 400, "something else than numbers"),
    ("application/json", b'{"inputs": [[1, 2]]}', 400, "the model takes inputs of shape 3"),
    ("application/json", b'{"inputs": [1, 2, 3]}', 400, "vectors of numbers"),
    ("application/json", b'{"inputs": []}', 400, "at least one sample"),
    ("application/json", b'{"inputs": [[1, 2, 3]], "more": 1}', 400, "the key 'more'"),
    ("application/json", b'{"inputs": [[1, 2, 3]], "ids": [1]}', 400, "a text for each of the 1 samples"),
    ("application/json", b'{"inputs": [[1, 2, 3]], "ids": ["\\ud800"]}', 400, "not a text for each of the 1 samples"),
    ("application/json", b"", 400, "cannot be read as JSON"),
    ("text/csv", b"", 400, "no column beside the label"),
    ("text/csv", b"age,weight,=risk\n1,2,x\n", 400, "Something else than numbers"),
    ("text/csv", b"age,weight,=risk\n1,2,\n", 400, "Missing or infinite values"),
    ("text/csv", b"age,weight\n1,2\n", 400, "it lacks the column '=risk'"),
    ("text/csv", b"weight,age,risk\n1,2,3\n", 400, "has the column 'risk' beside the expected ones"),
    ("text/csv", b"\xff\xff\n", 400, "not UTF-8"),
    ("application/x-npz", b"PK", 400, "cannot be read as .npz"),
    ("application/x-npz", as_npz(z=X), 400, "none of inputs, images, x, features"),
    ("application/x-npz", as_npz(x=np.zeros((10, 100_000))), 400, "it unpacks to 8.0 MB, more than"),
    ("application/x-npz", as_npz(x=np.array([{}], dtype=object)), 400, "Python objects"),
    ("text/html", b"x", 415, "one of the types application/json"),
    ("application/json", b" " * 60_000, 413, "more than 50.0 kB"),
    ("application/json", json.dumps({"inputs": [[1, 2, 3]] * 101}).encode(), 400, "more than 100 samples"),
    ("text/csv", as_csv(table=rows(101)).encode(), 400, "more than 100 samples"),
]


@pytest.mark.parametrize(("content_type", "body", "status", "words"), BAD, ids=[words for *_, words in BAD])
def test_what_cannot_be_used_is_refused_in_a_sentence(content_type: str, body: bytes, status: int, words: str) -> None:
    limited = client(most_bytes=50_000, most_rows=100)
    answer = limited.post("/predict", content=body, headers={"Content-Type": content_type})
    assert answer.status_code == status
    assert list(answer.json()) == ["error"]
    assert words in answer.json()["error"]
    assert "Traceback" not in answer.text


def test_a_body_of_unknown_length_is_bounded() -> None:
    pieces = (bytes(10_000) for _ in range(10))
    answer = client(most_bytes=50_000).post("/predict", content=pieces)
    assert answer.status_code == 413


@pytest.mark.parametrize("query", ["temperature=0", "temperature=x", "temperature=nan", "min-confidence=1.5"])
def test_a_parameter_that_cannot_be_is_named(query: str) -> None:
    answer = client().post(f"/predict?{query}", json={"inputs": X.tolist()})
    assert answer.status_code == 422
    assert f"The parameter {query.partition('=')[0]} cannot be used" in answer.json()["error"]


@pytest.mark.parametrize("query", ["min_confidence=0.99", "temperature=2&foo=1", "Temperature=2", "="])
def test_a_parameter_that_there_is_not_is_refused_with_those_there_are(query: str) -> None:
    answer = client().post(f"/predict?{query}", json={"inputs": X.tolist()})
    assert answer.status_code == 422
    wrong = query.rpartition("&")[2].partition("=")[0]
    assert answer.json() == {"error": f"There is no parameter {wrong!r}: give temperature or min-confidence, or none."}


def test_the_parameters_that_are_named_are_those_of_the_description() -> None:
    described = client().get("/openapi.json").json()["paths"]["/predict"]["post"]["parameters"]
    assert [one["name"] for one in described] == list(module.PARAMETERS)


@pytest.mark.parametrize(("method", "path", "status"), [("GET", "/predict", 405), ("GET", "/../etc/passwd", 404)])
def test_there_is_nothing_else(method: str, path: str, status: int) -> None:
    answer = client().request(method, path)
    assert answer.status_code == status
    assert "See /docs" in answer.json()["error"] or "see /docs" in answer.json()["error"]


def test_images_are_whole_numbers_of_a_byte() -> None:
    reader = Reader((1, 2, 2))
    (part,) = reader.samples("JSON", b'{"inputs": [[[[0, 255], [1, 2]]]]}')
    assert part.inputs.dtype == np.uint8
    assert part.inputs.tolist() == [[[[0, 255], [1, 2]]]]
    for text in (b'{"inputs": [[[[0, 256], [1, 2]]]]}', b'{"inputs": [[[[0, 0.5], [1, 2]]]]}'):
        with pytest.raises(module.PFedGPError, match="whole numbers from 0 to 255"):
            reader.samples("JSON", text)


def test_health_and_description_need_no_token_and_say_nothing_of_the_site() -> None:
    anonymous = client(None)
    assert anonymous.get("/health").json() == {"status": "ok"}
    described = anonymous.get("/openapi.json").json()
    assert set(described["paths"]) == {"/predict", "/health"}
    assert described["paths"]["/predict"]["post"]["security"]
    page = anonymous.get("/docs")
    assert "default-src 'none'" in page.headers["content-security-policy"]
    assert "/predict" in page.text
    for text in (page.text, json.dumps(described)):
        assert "ward-3" not in text
        assert "://" not in text


def test_what_nobody_foresaw_is_one_line_here_and_a_sentence_there(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(Work, "as_json", lambda *_: 1 / 0)
    answer = client().post("/predict", json={"inputs": X.tolist()})
    assert answer.status_code == 500
    assert answer.json() == {"error": "The site could not answer; its own output says why."}
    assert capsys.readouterr().err == "pfedgp: Unexpected ZeroDivisionError: division by zero\n"


def test_beyond_a_few_requests_at_once_others_are_told_to_come_back(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "AT_ONCE", 0)
    answer = client().post("/predict", json={"inputs": X.tolist()})
    assert answer.status_code == 503
    assert answer.headers["retry-after"] == "1"
