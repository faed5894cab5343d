"""The check of a site before it starts: what keeps it from working, and notes on its data for its log."""

from pathlib import Path

from pfedgp.site.preflight import NOTES, look


def table(path: Path, content: str) -> dict[str, str]:
    path.write_text(content)
    return {"data-path": str(path), "device": "cpu"}


def test_a_table_that_may_need_rules_is_no_error_and_noted(tmp_path: Path) -> None:
    config = table(tmp_path / "t.csv", "Unnamed: 0,sex,age,label\n0,f,50,ill\n1,m,60,well\n2,f,70,ill\n")
    answer = look(config)
    assert (answer["error"], answer["builtin"]) == ("", False)
    assert any("index of rows" in note for note in answer["notes"])
    assert any(
        note.startswith("Texts, gaps or dates in 'sex': a run takes them where it has rules")
        for note in answer["notes"]
    )
    assert not any("'sex'" in note for note in look({**config, "drop": "sex"})["notes"])


def test_what_no_run_takes_is_an_error(tmp_path: Path) -> None:
    config = table(tmp_path / "t.csv", "age,label\n50,ill\n60,\n")
    answer = look(config)
    assert "No class in 1 of 2 rows" in answer["error"]
    assert answer["notes"] == []
    assert "has no column 'aeg': did you mean 'age'?" in look({**config, "columns": "aeg"})["error"]


def test_notes_beyond_some_are_counted(tmp_path: Path) -> None:
    names = [f"c{i}" for i in range(NOTES + 3)]
    rows = [",".join(["1"] * len(names) + [label]) for label in ("ill", "well", "ill", "well")]
    notes = look(table(tmp_path / "t.csv", "\n".join([",".join([*names, "label"]), *rows])))["notes"]
    assert len(notes) == NOTES + 1
    assert "more notes: see pfedgp check-data" in notes[-1]
