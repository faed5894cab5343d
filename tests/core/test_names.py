"""Names: what may be in one, and which of them look alike."""

import string

import pytest

from pfedgp_core.names import alike, escaped, first_alike, name_fault


@pytest.mark.parametrize(
    ("name", "fault"),
    [
        ("", "is blank"),
        ("  ", "is blank"),
        ("ward-3 ", "a space at its end"),
        (" ward-3", "a space at its end"),
        ("ward  3", "two beside each other"),
        ("ward-3\u3164", r"U\+3164 \(HANGUL FILLER\)"),
        ("ward\u200b-3", r"U\+200B"),
        ("ward\u00a03", r"U\+00A0 \(NO-BREAK SPACE\)"),
        ("ward\u034f", r"U\+034F"),
        ("ward\u2800", r"U\+2800"),
        ("ward\U0001d159", r"U\+1D159"),
        ("\u202eward", r"U\+202E"),
        ("a\x1b[31m", r"U\+001B"),
        ("\u0301ward", r"mark U\+0301"),
        ("x" * 101, "more than 100 characters"),
    ],
)
def test_what_a_reader_cannot_see_is_no_part_of_a_name(name: str, fault: str) -> None:
    import re

    assert re.search(fault, name_fault(name, 100))


@pytest.mark.parametrize(
    "name", ["ward-3", "Universitätsspital Zürich", "病院 1", "больница", "مستشفى", "☀\ufe0f sun", "d'Été"]
)
def test_a_name_of_any_script_is_one(name: str) -> None:
    assert name_fault(name, 100) == ""


@pytest.mark.parametrize(
    "other",
    ["w\u0430rd-3", "Ward-3", "ward-3\u3164", "\uff57ard-3", "ward\u20103", "w\u0251rd-3", "ward -3".replace(" ", "")],
)
def test_names_that_a_reader_takes_for_ward_3(other: str) -> None:
    assert alike("ward-3", other)


def test_digits_and_letters_of_one_shape_are_alike() -> None:
    assert alike("site-1", "site-l")
    assert alike("node-10", "node-1O")


@pytest.mark.parametrize(
    "names",
    [
        [f"client-{i:02d}" for i in range(500)],
        [f"site-{letter}" for letter in string.ascii_lowercase],
        [f"SITE-{letter}" for letter in string.ascii_uppercase],
        ["Bern", "Basel", "Genf", "Zug", "Uri"],
    ],
)
def test_usual_names_of_sites_are_told_apart(names: list[str]) -> None:
    assert first_alike(names) is None


def test_the_first_pair_of_a_list_is_named() -> None:
    assert first_alike(["a", "ward-1", "b", "ward-l"]) == ("ward-1", "ward-l")


def test_an_escaped_name_shows_what_it_is_made_of() -> None:
    assert escaped("w\u0430rd") == "w\\u0430rd"


@pytest.mark.parametrize(
    ("name", "other"),
    [
        ("ward-\u03f2", "ward-c"),
        ("\u017fite", "fite"),
        ("a\ufe58b", "a-b"),
        ("ward-\u041d", "ward-h"),
        ("\u039alinik", "klinik"),
    ],
    ids=["lunate sigma", "long s", "small em dash", "Cyrillic capital", "Greek capital"],
)
def test_what_compatibility_or_case_alone_would_lose_is_alike(name: str, other: str) -> None:
    assert alike(name, other)
