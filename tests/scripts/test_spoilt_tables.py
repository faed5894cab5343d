"""Of 200 random spoilt tables none is both accepted and wrong, and each kind of fault is among them."""

from collections import Counter
from pathlib import Path

from scripts.spoilt_tables import FAULTS, Sheet, judged, spoilt


def test_no_spoilt_table_is_accepted_and_wrong(tmp_path: Path) -> None:
    outcomes: Counter[str] = Counter()
    faults: Counter[str] = Counter()
    for seed in range(200):
        sheet, truth = spoilt(seed)
        (tmp_path / "t.csv").write_bytes(sheet.content())
        outcomes[judged(tmp_path / "t.csv", truth)] += 1
        faults.update(sheet.faults)
    assert outcomes["WRONG"] == 0
    assert outcomes["read"] > 20
    assert outcomes["refused"] > 20
    assert outcomes["noted"]
    assert faults.keys() == FAULTS.keys()


def test_the_judge_sees_a_wrong_table(tmp_path: Path) -> None:
    sheet, truth = spoilt(0)
    plain = Sheet(["age", "crp", "bmi", "label"], [list(row) for row in truth])
    (tmp_path / "t.csv").write_bytes(plain.content())
    assert judged(tmp_path / "t.csv", truth) == "read"
    plain.rows[3][1] = f"{float(plain.rows[3][1]) + 0.01:.4f}"
    (tmp_path / "t.csv").write_bytes(plain.content())
    assert judged(tmp_path / "t.csv", truth) == "WRONG"
    assert sheet.faults
