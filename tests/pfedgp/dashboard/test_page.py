"""The operator's page in a real browser: it asks for the token, follows a run, fits, and runs nothing of a site."""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from pfedgp.dashboard.app import make_app
from pfedgp.dashboard.watch import Watch
from pfedgp.processes.flower import free_ports
from pfedgp.serving.hosts import host_names
from pfedgp.serving.server import listen, make_server
from server.report.drawing import DARK, LIGHT
from tests.browser import NEEDS_BROWSER, shown
from tests.pfedgp.dashboard.made_state import EVIL, MadeServer, busy, made_run, published, record
from tests.waiting import wait_for

pytestmark = [*NEEDS_BROWSER, pytest.mark.filterwarnings("ignore::DeprecationWarning:pathspec.*")]
TOKEN = "t" * 32


@contextmanager
def answering(server: MadeServer, port: int) -> Iterator[str]:
    """The page of a server, in a thread."""
    app = make_app(Watch(server.state), TOKEN, host_names("127.0.0.1"))
    with listen("127.0.0.1", port) as socket:
        web = make_server(app, None, None)
        thread = threading.Thread(target=web.run, kwargs={"sockets": [socket]}, daemon=True)
        thread.start()
        try:
            yield f"http://127.0.0.1:{port}/"
        finally:
            web.should_exit = True
            thread.join(30)


@pytest.fixture
def address(server: MadeServer) -> Iterator[str]:
    server.start()
    busy(server)
    with answering(server, free_ports(1)[0]) as here:
        yield here


def text(browser: Any, selector: str) -> str:
    return str(browser.execute_script("return document.querySelector(arguments[0]).innerText", selector))


def enter(browser: Any, address: str, width: int = 1400, scheme: str = "light") -> None:
    """Open the page and give the token."""
    shown(browser, address, width, scheme)
    browser.execute_script("sessionStorage.clear()")
    browser.get(address)
    field = browser.find_element("id", "token")
    field.send_keys(TOKEN, "\n")
    wait_for(lambda: text(browser, "#headline"), 30, "the snapshot is shown")


def test_the_token_is_asked_for_and_a_wrong_one_refused(browser: Any, address: str) -> None:
    shown(browser, address, 1400)
    assert not browser.find_element("id", "page").is_displayed()
    browser.find_element("id", "token").send_keys("not-the-token-of-it", "\n")
    wait_for(lambda: text(browser, "#why") == "This is not the token.", 30, "it is refused")
    assert not browser.find_element("id", "page").is_displayed()
    browser.find_element("id", "token").send_keys(TOKEN, "\n")
    wait_for(lambda: browser.find_element("id", "page").is_displayed(), 30, "the page is shown")
    browser.refresh()  # the tab knows it
    wait_for(lambda: text(browser, "#headline"), 30, "the page is shown again")
    browser.find_element("id", "leave").click()
    assert browser.execute_script("return sessionStorage.length") == 0
    assert not browser.find_element("id", "page").is_displayed()


def test_a_token_in_the_address_is_removed_and_not_used(browser: Any, address: str) -> None:
    shown(browser, address, 1400)
    browser.execute_script("sessionStorage.clear()")
    browser.get("about:blank")
    browser.get(f"{address}#{TOKEN}")
    assert browser.current_url == address
    assert "stays in the browser's history" in text(browser, "#why")
    assert not browser.find_element("id", "page").is_displayed()


def test_names_of_sites_are_texts_and_nothing_is_loaded(browser: Any, address: str) -> None:
    browser.get_log("browser"), browser.get_log("performance")
    enter(browser, address)
    assert EVIL in text(browser, "#sites")
    assert EVIL in text(browser, "#attention")
    assert browser.execute_script("return [window.ran, document.images.length]") == [None, 0]
    inject = "const s = document.createElement('script'); s.textContent = 'window.ran = 1'; document.body.append(s)"
    browser.execute_script(inject)
    assert browser.execute_script("return window.ran") is None
    events = [json.loads(entry["message"])["message"] for entry in browser.get_log("performance")]
    asked = {e["params"]["request"]["url"] for e in events if e["method"] == "Network.requestWillBeSent"}
    assert {url for url in asked if not url.startswith("data:")} == {address, f"{address}state.json"}


def test_one_headline_and_what_needs_attention_comes_first(browser: Any, address: str) -> None:
    enter(browser, address)
    assert text(browser, "#headline").startswith("4 things need attention: 3 of 4 sites connected")
    assert len(browser.find_elements("css selector", "h1")) - 1 == 1  # the other one is that of the hidden form
    assert browser.execute_script("return document.title") == "(4) pFedGP"
    tops = browser.execute_script(
        "return ['headline', 'attention', 'live', 'runs'].map(id => document.getElementById(id)"
        ".getBoundingClientRect().top)"
    )
    assert tops == sorted(tops)
    assert "not connected" in text(browser, "#sites tbody tr")  # who is gone is first


def test_a_publication_that_reached_all_sites_says_so(browser: Any, address: str, server: MadeServer) -> None:
    published(made_run(server.state.runs / "given", status="completed"))
    enter(browser, address)
    wait_for(lambda: "given" in text(browser, "#publications"), 30, "the publication is shown")
    cells = "return [...document.querySelectorAll('#publications tr')].map(r => [...r.children].map(e => e.innerText))"
    heads, *rows = browser.execute_script(cells)
    failed = {row[0]: row[[head.lower() for head in heads].index("failed")] for row in rows}
    assert failed["given"] == "none"
    assert failed["first"].startswith("ward-2 (")


def test_a_run_is_followed_without_a_reload(browser: Any, address: str, server: MadeServer) -> None:
    enter(browser, address)
    browser.execute_script("window.same = 1")
    assert "round 13 of 60" in text(browser, "#live")
    with (server.state.runs / "night/metrics.jsonl").open("a") as file:
        file.write(json.dumps(record(14, 0.9)) + "\n")
    wait_for(lambda: "round 14 of 60" in text(browser, "#live"), 30, "the next round is shown")
    assert browser.execute_script("return document.querySelector('#live progress').value") == 14
    assert browser.execute_script("return window.same") == 1
    server.gone("ward-1")
    wait_for(lambda: "2 sites are not connected" in text(browser, "#attention"), 30, "a site that left is named")


def test_a_dashboard_that_ended_is_not_taken_for_a_server_that_is_well(browser: Any, server: MadeServer) -> None:
    server.start()
    (port,) = free_ports(1)
    with answering(server, port) as here:
        enter(browser, here)
        assert text(browser, "#headline").startswith("All is well")
        assert browser.find_element("id", "headline").get_attribute("class") == "ok"
    wait_for(lambda: browser.find_element("id", "stale").is_displayed(), 60, "it is said to be old")
    assert "The dashboard does not answer" in text(browser, "#stale")
    assert browser.find_element("id", "headline").get_attribute("class") == "unknown"
    assert browser.execute_script("return document.title") == "(?) pFedGP"
    with answering(server, port):
        wait_for(lambda: not browser.find_element("id", "stale").is_displayed(), 60, "it is live again")
    assert browser.find_element("id", "headline").get_attribute("class") == "ok"


@pytest.mark.parametrize("width", [390, 1400])
def test_the_page_never_scrolls_sideways(browser: Any, address: str, width: int) -> None:
    enter(browser, address, width)
    needed, visible = browser.execute_script(
        "return [document.documentElement.scrollWidth, document.documentElement.clientWidth]"
    )
    assert needed == visible <= width
    if width == 390:
        scrolls = "return [...document.querySelectorAll('.frame')].filter(f => f.scrollWidth > f.clientWidth).length"
        assert browser.execute_script(scrolls) == 0


@pytest.mark.parametrize(("scheme", "colours"), [("light", LIGHT), ("dark", DARK)])
def test_the_page_follows_the_colour_scheme(browser: Any, address: str, scheme: str, colours: dict[str, str]) -> None:
    enter(browser, address, 1400, scheme)
    ground = browser.execute_script("return getComputedStyle(document.body).backgroundColor")
    assert ground == "rgb({}, {}, {})".format(*bytes.fromhex(colours["surface"][1:]))


def test_it_prints_in_light_without_buttons(browser: Any, address: str) -> None:
    enter(browser, address, 1400, "dark")
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print"})
    ground = browser.execute_script("return getComputedStyle(document.body).backgroundColor")
    hidden = not browser.find_element("id", "leave").is_displayed()
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": ""})
    assert (ground, hidden) == ("rgb(255, 255, 255)", True)


def test_the_keyboard_reaches_every_table(browser: Any, address: str) -> None:
    enter(browser, address)
    stops = "return [...document.querySelectorAll('.frame, button')].filter(e => e.tabIndex !== 0).length"
    assert browser.execute_script(stops) == 0


def test_what_does_not_change_is_not_made_again(browser: Any, address: str, server: MadeServer) -> None:
    enter(browser, address)
    browser.execute_script("document.querySelector('#certificates table').dataset.same = 'yes'")
    before = text(browser, "#updated")
    wait_for(lambda: text(browser, "#updated") != before, 30, "the next snapshot")
    kept = "return document.querySelector('#certificates table').dataset.same"
    assert browser.execute_script(kept) == "yes"
