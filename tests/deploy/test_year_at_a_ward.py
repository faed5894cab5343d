"""The commands of docs/year-at-a-ward.md, as they stand there: a ward's year, over TLS and under its own policy."""

from pathlib import Path

import pytest

from tests.deploy.page_session import ROOT, Session, blocks, is_shown

PAGE = (ROOT / "docs" / "year-at-a-ward.md").read_text(encoding="utf-8")
STEPS = {"onboard", "predict", "suggest", "learn", "watch", "forget", "certify", "export", "policy", "approve", "audit"}


def test_the_page_has_every_step() -> None:
    lines = [line for block in blocks(PAGE) if block.language == "sh" for line in block.text.splitlines()]
    assert {line.split()[1] for line in lines if line.startswith("pfedgp ")} >= STEPS
    assert all(line.startswith(("pfedgp ", "python ", "sed ")) for line in lines)
    assert {block.language for block in blocks(PAGE)} == {"sh", "text", "toml"}


@pytest.mark.parametrize(
    ("shown", "printed", "same"),
    [
        ("accuracy 96.0% of 50", "x\naccuracy 93.1% of 50\n", True),
        ("accuracy 96.0% of 50", "accuracy 90.1% of 50", False),
        ("accuracy 96.0% of 50", "accuracy 96.0% of 51", False),
        ("Run ... is approved.", "Run 3f9c is approved.", True),
        ("0.31 nats", "0.35 nats", True),
        ("2 samples", "12 samples", False),
    ],
)
def test_numbers_are_compared(shown: str, printed: str, same: bool) -> None:
    assert is_shown(shown, printed) is same


@pytest.mark.slow
def test_a_year_at_a_ward(tmp_path: Path) -> None:
    pytest.importorskip("onnxruntime")
    with Session(tmp_path) as session:
        for block in blocks(PAGE):
            if block.language == "toml":
                session.write(block.file, block.text)
            elif block.language == "sh":
                session.printed = ""
                for line in block.text.splitlines():
                    session.run(line)
            else:
                for line in block.text.splitlines():
                    assert is_shown(line, session.printed), f"{line!r} is not in\n{session.printed}"
