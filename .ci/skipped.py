"""The tests that no run of pytest has run, with the reasons: ``python .ci/skipped.py RESULTS.xml ...`` (JUnit XML)."""

import sys
from pathlib import Path
from xml.etree import ElementTree

ran: set[tuple[str, str]] = set()
skipped: dict[tuple[str, str], str] = {}
for path in filter(Path.exists, map(Path, sys.argv[1:])):
    for case in ElementTree.parse(path).iter("testcase"):  # noqa: S314 (pytest wrote it)
        name = case.get("classname", ""), case.get("name", "")
        reason = case.find("skipped")
        if reason is None:
            ran.add(name)
        else:
            skipped[name] = reason.get("message", "")
left = {name: reason for name, reason in skipped.items() if name not in ran}
print(f"{len(ran)} tests ran, {len(left)} were skipped{':' if left else '.'}")
for (module, test), reason in sorted(left.items()):
    print(f"  {module}::{test}: {reason}")
