"""Trials of what a site decides for itself: policy, approvals, ledger, audit log, and requests of a server at its gate.

A reader here holds only where it fails closed: it reads what it was given, or says with a PolicyError that it refuses.
"""

import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from scripts.fuzzing.mutations import changed_bytes, changed_json, changed_lines
from scripts.fuzzing.trial import Trial

if TYPE_CHECKING:
    from pfedgp_core.policy.runs import Runs

__all__ = ["GOVERNED_READERS"]


def _closed(read: Callable[[], object]) -> object:
    """What a reader gives; an error of another kind than PolicyError is a failure, as nothing says that it refuses."""
    from pfedgp_core.errors import PFedGPError, PolicyError

    try:
        return read()
    except PolicyError:
        raise
    except PFedGPError as error:
        raise RuntimeError(f"a {type(error).__name__} in place of a refusal: {error}") from error


def _policy(folder: Path) -> Trial:
    from pfedgp.governance.policy import TEMPLATE
    from pfedgp_core.policy.site_policy import FILE, FOLDER, SitePolicy, read_policy

    (folder / FOLDER).mkdir()
    file = folder / FOLDER / FILE
    lines = TEMPLATE.splitlines()
    whole = "\n".join(line.removeprefix("# ") if " = " in line else line for line in lines).encode()

    def read(content: bytes) -> object:
        file.write_bytes(content)
        policy = _closed(lambda: read_policy(folder))
        if not isinstance(policy, SitePolicy):
            raise TypeError("a folder with a file is a policy, or refuses everything")
        return policy

    return Trial([whole, TEMPLATE.encode()], (changed_lines, changed_bytes), read)


def _approvals(folder: Path) -> Trial:
    """A changed list approves no run but those that were approved."""
    from pfedgp_core.config import Settings
    from pfedgp_core.policy.runs import Runs, run_hash

    runs, key = _governed(folder), run_hash(Settings())
    file = runs.folder / "approved.json"

    def read(content: bytes) -> object:
        file.write_bytes(content)
        found = _closed(lambda: Runs.read(folder))
        assert isinstance(found, Runs)
        return key in found.approved and _closed(lambda: found.settings(key))

    return Trial([file.read_bytes()], (changed_json, changed_bytes), read)


def _ledger(folder: Path) -> Trial:
    from pfedgp_core.policy.ledger import FILE, Ledger

    _governed(folder)
    Ledger.read(folder).book("a" * 64, 2.0)
    file = folder / "policy" / FILE

    def read(content: bytes) -> object:
        file.write_bytes(content)

        def epsilon() -> object:
            return Ledger.read(folder).epsilon(1e-5, 1.0, 1)

        return _closed(epsilon)

    return Trial([file.read_bytes()], (changed_json, changed_bytes), read)


def _request(folder: Path) -> Trial:
    """A request is refused, or it is one of the run that was approved."""
    from flwr.app import ConfigRecord, Message, RecordDict

    from pfedgp.site.gate import SiteGate
    from pfedgp.site.task_name import TaskName
    from pfedgp_core.config import Settings
    from pfedgp_core.policy.runs import run_hash
    from pfedgp_core.wire.names import CONFIG, TRAIN

    _governed(folder)
    TaskName((1, 1, 1)).apply()  # without it Flower makes no message
    gate, key = SiteGate(folder), run_hash(Settings())
    fields = {"settings": json.dumps(Settings().to_run_config()), "round": 1, "split": "", "run": "a", "best": 0}

    def read(content: bytes) -> object:
        try:
            config = ConfigRecord(json.loads(content))
        except (ValueError, TypeError, AttributeError, RecursionError):
            return None  # no server can send it
        message = Message(RecordDict({CONFIG: config}), 9, TRAIN)
        admitted = _closed(lambda: gate.admit(message, "7"))
        if run_hash(admitted.settings) != key:  # type: ignore[attr-defined]
            raise ValueError("another run than the approved one got in")
        return admitted

    def inner(rng: random.Random, content: bytes) -> bytes:
        """The settings themselves are changed."""
        about = json.loads(content)
        changed = changed_json(rng, about["settings"].encode())
        return json.dumps(about | {"settings": changed.decode("utf-8", "replace")}).encode()

    return Trial([json.dumps(fields).encode()], (changed_json, inner), read)


def _audit(folder: Path) -> Trial:
    """Any change of a log is a fault, but a cut end, which is named."""
    from pfedgp_core.audit.log import CURRENT, AuditLog
    from pfedgp_core.audit.verifying import verify

    for i in range(4):
        AuditLog(folder).add(("sent", {"kind": "train", "round": i, "reply": {"bytes": 7, "fields": {"a": 7}}}))
    file = folder / CURRENT
    whole = file.read_bytes()

    def read(content: bytes) -> object:
        file.write_bytes(content)
        found = verify(folder)
        if content != whole and not found.faults and not (content.startswith(whole) and found.torn):
            raise ValueError("a changed log passes for a whole one")
        return found

    def lines(rng: random.Random, content: bytes) -> bytes:
        """Lines are deleted, repeated, or change places."""
        parts = content.splitlines(keepends=True)
        at, other = rng.randrange(len(parts)), rng.randrange(len(parts))
        kind = rng.randrange(3)
        if kind == 0:
            del parts[at]
        elif kind == 1:
            parts.insert(at, parts[other])
        else:
            parts[at], parts[other] = parts[other], parts[at]
        return b"".join(parts)

    def line(rng: random.Random, content: bytes) -> bytes:
        parts = content.splitlines(keepends=True)
        at = rng.randrange(len(parts))
        parts[at] = changed_json(rng, parts[at]) + b"\n"
        return b"".join(parts)

    return Trial([whole], (lines, line, changed_bytes), read)


def _governed(folder: Path) -> "Runs":
    """A state folder with a policy, and one approved run."""
    from pfedgp_core.config import Settings
    from pfedgp_core.policy.runs import Runs, run_hash

    (folder / "policy").mkdir()
    (folder / "policy" / "policy.toml").write_text("")
    runs = Runs.read(folder)
    runs.note_asked(Settings(), "7")
    runs.approve(run_hash(Settings()), "the operator")
    return runs


GOVERNED_READERS: dict[str, Callable[[Path], Trial]] = {
    "policy": _policy,
    "approvals": _approvals,
    "ledger": _ledger,
    "request": _request,
    "audit": _audit,
}
