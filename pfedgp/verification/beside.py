"""Cases of other files in the same folder, where a file refers to cases that it does not hold."""

from collections.abc import Sequence
from pathlib import Path

from pfedgp.verification.cases.format import Case, load
from pfedgp_core.errors import ConfigError

__all__ = ["beside"]


def beside(file: str, known: Sequence[Case]) -> list[Case]:
    """Cases that the known ones refer to and that none of them is, from the other JSON files of the file's folder.

    Files that are no reference cases are passed over. A case that is nowhere stays unknown, and is reported where it
    is needed.
    """
    wanted = {str(name) for case in known if (name := case.inputs.values.get("case")) is not None}
    missing = wanted - {case.id for case in known}
    found: list[Case] = []
    if not missing:
        return found
    path = Path(file)
    for other in sorted(path.parent.glob("*.json")):
        if other.name == path.name or not missing:
            continue
        try:
            cases = load(str(other))
        except ConfigError:
            continue
        found += [case for case in cases if case.id in missing]
        missing -= {case.id for case in cases}
    return found
