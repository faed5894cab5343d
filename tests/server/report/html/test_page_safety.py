"""What a client writes into a report is text: no name becomes an element, an attribute or a script."""

import base64
import hashlib
import json
import re

import pytest

from server.report.html.writer import write_report
from tests.server.report.html.written_run import EVIL, Page, classification_run


def test_the_page_needs_nothing_else(page: Page) -> None:
    assert "http" not in page.text.replace("http-equiv", "")
    assert "@import" not in page.text
    assert not re.search(r"url\(|\bfetch\(|XMLHttpRequest|\bimport\(", page.text)
    assert [a["href"] for a in page.all("link")] == ["data:,"]
    assert not any("src" in attributes for _, attributes in page.elements)
    assert all((a["href"] or "").startswith("#") for a in page.all("a"))
    assert not any(key.startswith("on") for _, attributes in page.elements for key in attributes)


def test_the_policy_allows_the_one_script_and_no_other(page: Page) -> None:
    (policy,) = [a["content"] for a in page.all("meta") if a.get("http-equiv") == "Content-Security-Policy"]
    (script,) = re.findall(r"<script>(.*?)</script>", page.text, re.DOTALL)
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    assert policy is not None
    assert "default-src 'none'" in policy
    assert f"script-src 'sha256-{digest}'" in policy


def test_names_are_text(page: Page) -> None:
    assert len(page.all("script")) == 1
    assert EVIL in page.words
    assert "<b>1</b>" in page.words
    assert not any("alert" in str(a) for tag, a in page.elements if tag == "script")
    assert "pFedGP run first & last" in page.words
    (evil,) = [a for a in page.all("svg") if EVIL in str(a["aria-label"])]
    assert str(evil["aria-label"]).startswith(f"Reliability of {EVIL}: accuracy ")


HOSTILE = (
    '" onmouseover="alert(1)" x="',
    "' onfocus='alert(1)' autofocus x='",
    "--><img src=x onerror=alert(1)>",
    "</style><script>alert(1)</script>",
    "javascript:alert(1)",
    "&quot; onclick=alert(1) x=&quot;",
    "{{ 7 * 7 }}{% for x in cards %}",
    "a\tb\u2028c",
)
ATTRIBUTES = {
    *("lang", "charset", "http-equiv", "content", "name", "rel", "href", "class", "id", "role", "tabindex", "scope"),
    *("aria-label", "aria-sort", "type", "data-sort", "style"),
    *("viewbox", "width", "height", "font-family", "font-size", "text-anchor", "transform", "x", "y", "cx", "cy", "r"),
    *("points", "fill", "stroke", "stroke-width", "stroke-linejoin", "stroke-dasharray", "opacity"),
}


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Page:
    """The page of a run in which everything that a client or an operator can name is hostile."""
    path = classification_run(tmp_path_factory.mktemp("hostile") / "run", names=HOSTILE)
    summary = json.loads((path / "summary.json").read_text())
    told = {"missing_clients": dict.fromkeys(HOSTILE, HOSTILE[0]), "notes": list(HOSTILE)}
    versions = {"run": {"versions": dict.fromkeys(HOSTILE, HOSTILE[1])}}
    (path / "summary.json").write_text(json.dumps(summary | told | versions))
    calibration = json.loads((path / "calibration.json").read_text())
    (path / "calibration.json").write_text(json.dumps(calibration | {"class_names": list(HOSTILE[:3])}))
    certificates = [{"name": name, "conditions": [name], name: name} for name in HOSTILE]
    (path / "certificates.json").write_text(json.dumps(certificates))
    return Page(write_report(path).read_text(encoding="utf-8"))


@pytest.mark.slow
def test_no_name_brings_an_attribute(hostile: Page) -> None:
    assert {key for _, attributes in hostile.elements for key in attributes} <= ATTRIBUTES


def test_no_name_brings_an_element(hostile: Page, page: Page) -> None:
    assert {tag for tag, _ in hostile.elements} == {tag for tag, _ in page.elements}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_name_is_a_text(hostile: Page, name: str) -> None:
    assert name in hostile.words


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_name_is_the_value_of_its_attribute(hostile: Page, name: str) -> None:
    assert name in [attributes.get("data-sort") for attributes in hostile.all("th")]


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_name_is_the_label_of_its_picture(hostile: Page, name: str) -> None:
    assert any(str(a["aria-label"]).startswith(f"Reliability of {name}: ") for a in hostile.all("svg"))


def test_no_style_comes_from_a_name(hostile: Page) -> None:
    styles = {str(attributes["style"]) for _, attributes in hostile.elements if "style" in attributes}
    assert all(re.fullmatch(r"--share:\d+%", style) for style in styles)


def test_links_stay_inside_the_page(hostile: Page) -> None:
    assert all(str(attributes["href"]).startswith("#") for attributes in hostile.all("a"))
