"""What the docs say of the ``--json`` of each verb: the fields that a table, or a paragraph, names."""

import re
from pathlib import Path

__all__ = ["TABLES", "fields"]

DOCS = Path(__file__).resolve().parents[1] / "docs"

# Verbs of a site that lives on and governs itself: the page, and what stands before the fields there.
TABLES = {
    "audit show": ("governance.md", "| `pfedgp audit --json` |"),
    "audit verify": ("governance.md", "| `pfedgp audit --json` |"),
    "approve": ("governance.md", "| `pfedgp approve --json` |"),
    "certify": ("certificate.md", "| `pfedgp certify --json` |"),
    "check-data": ("living-site.md", "\n## Wrong labels\n"),
    "compare": ("simulate.md", "| `pfedgp compare --json` |"),
    "evaluate": ("evaluate.md", "\n| field | meaning |\n"),
    "export": ("export.md", "\n## JSON\n"),
    "forget": ("living-site.md", "\n## Forget\n"),
    "key": ("governance.md", "| `pfedgp key --json` |"),
    "learn": ("living-site.md", "| `--json` of `--data` |"),
    "learn --history": ("living-site.md", "`--history` prints"),
    "learn --undo": ("living-site.md", "`--undo` prints"),
    "policy": ("governance.md", "| `pfedgp policy --json` |"),
    "predict": ("after-training.md", "| `pfedgp predict --json` |"),
    "suggest": ("living-site.md", "| `pfedgp suggest --json` |"),
    "watch": ("living-site.md", "\n## Watch\n"),
    "withdraw": ("governance.md", "| `pfedgp withdraw --json` |"),
}


def fields(verb: str) -> set[str]:
    """The names of the first column of the next table, or the words of the code in a paragraph."""
    page, mark = TABLES[verb]
    _before, found, after = (DOCS / page).read_text(encoding="utf-8").partition(mark)
    assert found, f"docs/{page} lacks {mark!r}"
    if mark.endswith(" prints"):
        return _names(after.partition("\n\n")[0])
    table = re.search(r"^\|---.*\n((?:\|.*\n)+)", after if mark.startswith("\n") else found + after, re.MULTILINE)
    assert table is not None, f"docs/{page} has no table after {mark!r}"
    return _names("\n".join(re.split(r"(?<!\\)\|", row)[1] for row in table[1].splitlines()))


def _names(text: str) -> set[str]:
    return set(re.findall(r"`(\w+)`", text))
