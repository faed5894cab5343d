"""Of 600 random spoilt tables, folders and arrays none is accepted and wrong, and each kind of fault is among them."""

from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from scripts.spoilt import arrays, cell_faults, folders, image_faults, mixed, tables
from scripts.spoilt_data import KINDS, main

COUNTS = dict(zip(KINDS, (200, 200, 100, 100), strict=True))  # reading images takes longest
FAULTS = dict(zip(KINDS, (tables.FAULTS, cell_faults.FAULTS, image_faults.FAULTS, arrays.FAULTS), strict=True))


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_none_is_accepted_and_wrong(kind: str, tmp_path: Path) -> None:
    outcomes: Counter[str] = Counter()
    faults: Counter[str] = Counter()
    for seed in range(COUNTS[kind]):
        found, outcome = KINDS[kind](seed, tmp_path)
        assert outcome != "WRONG", f"seed {seed}: {', '.join(found)}"
        outcomes[outcome] += 1
        faults.update(found)
    assert outcomes["read"] >= COUNTS[kind] // 10
    assert outcomes["refused"] >= COUNTS[kind] // 10
    assert outcomes["noted"]
    assert faults.keys() == FAULTS[kind].keys()


def test_the_script_counts_what_it_tried(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["5", "7"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.partition(":")[0] for line in lines] == list(KINDS)
    assert all(sum(int(word) for word in line.split() if word.isdigit()) == 5 for line in lines)


def test_the_script_says_what_it_takes(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["--help"])
    assert ended.value.code == 0
    assert "COUNT" in capsys.readouterr().out


def test_the_judge_of_tables_sees_a_wrong_value(tmp_path: Path) -> None:
    _, truth = tables.spoilt(0)
    plain = tables.Sheet(["age", "crp", "bmi", "label"], [list(row) for row in truth])
    (tmp_path / "t.csv").write_bytes(plain.content())
    assert tables.judged(tmp_path / "t.csv", truth) == "read"
    plain.rows[3][1] = f"{float(plain.rows[3][1]) + 0.01:.4f}"
    (tmp_path / "t.csv").write_bytes(plain.content())
    assert tables.judged(tmp_path / "t.csv", truth) == "WRONG"


@pytest.mark.parametrize("spoil", ["input", "class", "patient"])
def test_the_judge_of_tables_with_rules_sees_what_is_wrong(spoil: str, tmp_path: Path) -> None:
    table = mixed.mixed(next(s for s in range(99) if mixed.tried(s, tmp_path)[1] == "read"))
    assert mixed.judged(table, tmp_path) == "read"
    inputs, kind, patient = table.truth[4]
    table.truth[4] = {
        "input": ([inputs[0] + 1, *inputs[1:]], kind, patient),
        "class": (inputs, 1 - kind, patient),
        "patient": (inputs, kind, patient),
    }[spoil]
    if spoil == "patient":  # all rows of one person, whom the table calls by many names
        table.truth = [(inputs, kind, "one") for inputs, kind, _ in table.truth]
    assert mixed.judged(table, tmp_path) == "WRONG"


@pytest.mark.parametrize("spoil", ["pixel", "class", "patient", "lost"])
def test_the_judge_of_folders_sees_what_is_wrong(spoil: str, tmp_path: Path) -> None:
    shelf = folders.shelf(0)
    for picture in shelf.pictures:
        picture.stored = image_faults.stored(picture.pixels)
        picture.label, picture.patient = image_faults.CLASSES[picture.kind], picture.person
        picture.name = f"{picture.name.partition('.')[0]}.png"
    shelf.others, shelf.told = {}, []
    assert folders.judged(shelf, tmp_path / "right") == "read"
    if spoil == "pixel":
        shelf.pictures[2].pixels = np.where(np.eye(image_faults.SIZE, dtype=bool), 99, shelf.pictures[2].pixels)
    elif spoil == "class":
        shelf.pictures[2].kind = 1 - shelf.pictures[2].kind
    elif spoil == "patient":
        for picture in shelf.pictures:
            picture.person = "one"
    else:
        shelf.pictures[2].name = ".hidden.png"
    assert folders.judged(shelf, tmp_path / "wrong") == "WRONG"


@pytest.mark.parametrize("spoil", ["input", "class", "patient"])
def test_the_judge_of_arrays_sees_what_is_wrong(spoil: str, tmp_path: Path) -> None:
    made = next(made for made in map(arrays.arrays, range(99)) if made.faults == ["type"] and made.images)
    made.held["inputs"] = made.inputs
    assert arrays.judged(made, tmp_path / "a.npz") == "read"
    if spoil == "input":
        made.inputs = made.inputs + np.uint8(1)
    elif spoil == "class":
        made.classes = (made.classes + 1) % 3
    else:
        made.people = ["one"] * len(made.people)
    assert arrays.judged(made, tmp_path / "a.npz") == "WRONG"
