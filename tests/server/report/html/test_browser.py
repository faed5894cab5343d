"""The report in a real browser: it fits a phone, sorts by mouse and keyboard, and loads and complains about nothing."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from server.report.drawing import DARK, LIGHT
from server.report.html.writer import write_report
from tests.browser import NEEDS_BROWSER, open_browser, shown
from tests.server.report.html.written_run import EVIL, classification_run

pytestmark = NEEDS_BROWSER


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = classification_run(tmp_path_factory.mktemp("browser") / "run", names=("ward-1", EVIL, "c10", "c9"))
    certificate = {"name": "c9", "method": "kl", "delta": 0.05, "bound_gibbs": 0.3, "conditions": "a " * 60}
    (path / "certificates.json").write_text(json.dumps([certificate]))
    return write_report(path).as_uri()


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    with open_browser(tmp_path_factory.mktemp("profile")) as driver:
        yield driver


def names(browser: Any) -> list[str]:
    """First column of the table of clients."""
    rows = "return [...document.querySelectorAll('#sites tbody th')].map(cell => cell.textContent)"
    return list(browser.execute_script(rows))


def heading(browser: Any, text: str) -> Any:
    """A button in the table of clients."""
    (found,) = [b for b in browser.find_elements("css selector", "#sites th button") if b.text.startswith(text)]
    return found


@pytest.mark.parametrize("width", [390, 1280])
def test_the_page_never_scrolls_sideways_and_wide_tables_do(browser: Any, page: str, width: int) -> None:
    shown(browser, page, width)
    script = "return [document.documentElement.scrollWidth, document.documentElement.clientWidth]"
    needed, visible = browser.execute_script(script)
    assert needed == visible <= width
    frames = browser.execute_script(
        "return [...document.querySelectorAll('.frame')].map(f => [f.scrollWidth > f.clientWidth, f.offsetWidth])"
    )
    assert all(wide <= width for _, wide in frames)
    if width == 390:
        assert any(scrolls for scrolls, _ in frames)


def test_a_click_sorts_and_a_second_one_turns_the_order(browser: Any, page: str) -> None:
    shown(browser, page, 1280)
    worst_first = names(browser)
    assert worst_first == ["ward-1", EVIL, "c10", "c9", "silent"]
    accuracy = heading(browser, "accuracy")
    accuracy.click()
    assert names(browser) == ["c9", "c10", EVIL, "ward-1", "silent"]  # without a number: last either way
    assert accuracy.find_element("xpath", "..").get_attribute("aria-sort") == "descending"
    heading(browser, "site").click()
    assert [name for name in names(browser) if name.startswith("c")] == ["c9", "c10"]  # as a person counts
    assert accuracy.find_element("xpath", "..").get_attribute("aria-sort") == "none"


def test_the_keyboard_sorts(browser: Any, page: str) -> None:
    shown(browser, page, 1280)
    heading(browser, "accuracy").send_keys("\n")
    assert names(browser)[0] == "c9"
    browser.switch_to.active_element.send_keys(" ")
    assert names(browser)[0] == "ward-1"


@pytest.mark.parametrize(("scheme", "colours"), [("light", LIGHT), ("dark", DARK)])
def test_the_page_follows_the_colour_scheme(browser: Any, page: str, scheme: str, colours: dict[str, str]) -> None:
    shown(browser, page, 1280, scheme)
    ground = browser.execute_script("return getComputedStyle(document.body).backgroundColor")
    assert ground == "rgb({}, {}, {})".format(*bytes.fromhex(colours["surface"][1:]))
    drawn = browser.execute_script("return getComputedStyle(document.querySelector('#training svg polyline')).stroke")
    assert drawn == "rgb({}, {}, {})".format(*bytes.fromhex(colours["grid"][1:]))


def test_nothing_is_loaded_and_nothing_goes_wrong(browser: Any, page: str) -> None:
    browser.get_log("browser"), browser.get_log("performance")
    shown(browser, page, 1280)
    assert browser.get_log("browser") == []
    events = [json.loads(entry["message"])["message"] for entry in browser.get_log("performance")]
    asked = {e["params"]["request"]["url"] for e in events if e["method"] == "Network.requestWillBeSent"}
    assert {url for url in asked if not url.startswith("data:")} == {page}
    # A script that came in with a name would not run either.
    inject = "const s = document.createElement('script'); s.textContent = 'window.ran = 1'; document.body.append(s)"
    browser.execute_script(inject)
    assert browser.execute_script("return window.ran") is None


def test_a_tab_stop_on_every_frame_and_heading(browser: Any, page: str) -> None:
    shown(browser, page, 390)
    stops = browser.execute_script(
        "return [...document.querySelectorAll('.frame, th button')].filter(e => e.tabIndex !== 0).length"
    )
    assert stops == 0


def test_it_prints(browser: Any, page: str, tmp_path: Path) -> None:
    import base64

    shown(browser, page, 1280, "dark")
    printed = base64.b64decode(browser.execute_cdp_cmd("Page.printToPDF", {"printBackground": True})["data"])
    assert printed.startswith(b"%PDF")
    assert len(printed) > 10_000
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print"})
    ground = browser.execute_script("return getComputedStyle(document.body).backgroundColor")
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": ""})
    assert ground == "rgb(255, 255, 255)"
