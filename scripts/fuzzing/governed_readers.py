"""Trials of what a site decides for itself: policy, approvals, ledger, audit log, and requests of a server at its gate.

A reader here holds only where it fails closed: it says with a PolicyError that it refuses, or what it has read is what
the file says, by a plain parser of the standard library, and lets in no run but those that the file names.
"""

import json
import random
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from scripts.fuzzing.mutations import Mutation, changed_bytes, changed_json, changed_lines
from scripts.fuzzing.trial import Trial

if TYPE_CHECKING:
    from pfedgp_core.config import Settings
    from pfedgp_core.policy.runs import Runs
    from pfedgp_core.policy.site_policy import SitePolicy

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
    from pfedgp.governance.policy import TEMPLATE, _keys
    from pfedgp_core.config import Settings
    from pfedgp_core.policy.runs import Runs, run_hash
    from pfedgp_core.policy.site_policy import FILE, FOLDER, SitePolicy, read_policy

    asking = [Settings(), Settings(method="fedavg"), Settings(network="mlp", evaluate_every=7)]
    (folder / FOLDER).mkdir()
    file = folder / FOLDER / FILE
    lines = TEMPLATE.splitlines()
    whole = "\n".join(line.removeprefix("# ") if " = " in line else line for line in lines).encode()

    asked = Runs(folder / FOLDER, asked={run_hash(settings): {} for settings in asking})  # which are not noted again

    def read(content: bytes) -> object:
        file.write_bytes(content)
        policy = _closed(lambda: read_policy(folder))
        if not isinstance(policy, SitePolicy):
            raise TypeError("a folder with a file is a policy, or refuses everything")
        says = tomllib.loads(content.decode("utf-8-sig"))
        _same("the policy", _keys(policy), _keys(SitePolicy()) | says)
        for settings in asking:
            if _admits(policy, settings, asked) and not _allowed(says, settings):
                raise ValueError(f"the policy lets in {settings.method} on {settings.network}, and its file does not")
        return policy

    mild = b'runs = "any"\nmethods = ["fedavg"]\nmin-evaluate-every = 5\nmax-updates = 3\n'
    return Trial([whole, TEMPLATE.encode(), mild], (changed_lines, changed_bytes), read)


def _admits(policy: "SitePolicy", settings: "Settings", runs: "Runs") -> bool:
    from pfedgp_core.errors import PolicyError
    from pfedgp_core.policy.requests import require_run

    try:
        require_run(policy, settings, runs, "7")
    except PolicyError:
        return False
    return True


def _allowed(says: dict[str, Any], settings: "Settings") -> bool:
    """What the file's own words allow; no run is approved here."""
    names = {"methods": settings.method, "networks": settings.network}
    return (
        says.get("runs") == "any"
        and all(name in says[key] for key, name in names.items() if key in says)
        and settings.evaluate_every >= says.get("min-evaluate-every", 1)
    )


def _same(what: str, read: object, says: object) -> None:
    if read != says:
        raise ValueError(f"{what} is not what the file says: {str(read)[:200]} for {str(says)[:200]}")


def _approvals(folder: Path) -> Trial:
    """A changed list approves no run but those that it names, and none by its settings alone."""
    from pfedgp_core.config import Settings
    from pfedgp_core.policy.runs import APPROVED, ASKED, Runs, run_hash

    runs, key = _governed(folder), run_hash(Settings())
    files = {name: runs.folder / name for name in (APPROVED, ASKED)}
    whole = {name: file.read_bytes() for name, file in files.items()}

    def read(content: bytes) -> object:
        names = set(json.loads(content.decode("utf-8-sig"))["runs"]) if _is_list(content) else None
        try:
            for name, file in files.items():
                file.write_bytes(content)
                found = _closed(lambda: Runs.read(folder))
                assert isinstance(found, Runs)
                _same(name, set(found.approved if name == APPROVED else found.asked), names)
                if key in found.approved:
                    _closed(lambda found=found: found.settings(key))
                file.write_bytes(whole[name])
        finally:
            for name, file in files.items():
                file.write_bytes(whole[name])
        return found

    return Trial([whole[APPROVED]], (changed_json, changed_bytes), read)


def _is_list(content: bytes) -> bool:
    """Whether it is JSON that names runs at all."""
    try:
        return isinstance(json.loads(content.decode("utf-8-sig"))["runs"], dict)
    except (ValueError, KeyError, TypeError, RecursionError):
        return False


def _ledger(folder: Path) -> Trial:
    from pfedgp_core.policy.ledger import FILE, Ledger

    _governed(folder)
    Ledger.read(folder).book("a" * 64, 2.0)
    Ledger.read(folder).book_evaluation("a" * 64)
    file = folder / "policy" / FILE

    def read(content: bytes) -> object:
        file.write_bytes(content)
        ledger = _closed(lambda: Ledger.read(folder))
        assert isinstance(ledger, Ledger)
        says = json.loads(content.decode("utf-8-sig"))
        counts = {"updates": ledger.updates, "evaluations": ledger.evaluations}
        _same("the ledger", counts, {key: says.get(key, {}) for key in counts})
        _same("the noise", ledger.noises, {str(float(key)): n for key, n in says["noises"].items()})
        return _closed(lambda: ledger.epsilon(1e-5, 1.0, 1))

    return Trial([file.read_bytes()], (changed_json, changed_bytes), read)


def _request(folder: Path) -> Trial:
    """A request of any kind is refused, or it is one of the run that was approved."""
    from flwr.app import ConfigRecord, Message, RecordDict

    from pfedgp.site.audit_trail import AuditTrail
    from pfedgp.site.gate import SiteGate
    from pfedgp.site.task_name import TaskName
    from pfedgp_core.config import Settings
    from pfedgp_core.policy.runs import run_hash
    from pfedgp_core.wire.names import CONFIG, EVALUATE, HELLO, NOTICE, ONBOARD, TRAIN

    _governed(folder)
    TaskName((1, 1, 1)).apply()  # without it Flower makes no message
    gate, trail, key = SiteGate(folder), AuditTrail(folder), run_hash(Settings())
    flat = Settings().to_run_config()
    fields = {"settings": json.dumps(flat), "round": 1, "split": "validation", "run": "a", "best": 0}
    model = json.dumps({"settings": flat, "class_names": ["a", "b"], "input_shape": [5]})

    def read(content: bytes) -> object:
        try:
            about = json.loads(content)
            message = Message(RecordDict({CONFIG: ConfigRecord(about["config"])}), 9, about["kind"])
        except (ValueError, TypeError, KeyError, IndexError, AttributeError, RecursionError):
            return None  # no server can send it
        json.dumps(trail.asked(message, 7), allow_nan=False)  # the line that the site's log gets
        admitted = _closed(lambda: gate.admit(message, "7"))
        settings, kind = admitted.settings, message.metadata.message_type  # type: ignore[attr-defined]
        if kind != NOTICE and (kind == ONBOARD or settings is None or run_hash(settings) != key):
            raise ValueError(f"a message of the kind {kind} got in, of another run than the approved one")
        return admitted

    def inner(rng: random.Random, content: bytes) -> bytes:
        """The settings themselves are changed, or the model's description."""
        about = json.loads(content)
        name = "settings" if "settings" in about["config"] else "model"
        changed = changed_json(rng, about["config"][name].encode()).decode("utf-8", "replace")
        return json.dumps(about | {"config": about["config"] | {name: changed}}).encode()

    asked = [{"kind": kind, "config": fields} for kind in (HELLO, TRAIN, EVALUATE)]
    asked.append({"kind": ONBOARD, "config": {"model": model}})
    return Trial([json.dumps(each).encode() for each in asked[:3]], (changed_json, inner, _other_kind(asked)), read)


def _other_kind(asked: list[dict[str, Any]]) -> Mutation:
    """Fields of one kind of message in one of another."""

    def change(rng: random.Random, _: bytes) -> bytes:
        kind = rng.choice([*(each["kind"] for each in asked), "query.notice", "query", "train.other"])
        return changed_json(rng, json.dumps({"kind": kind, "config": rng.choice(asked)["config"]}).encode())

    return change


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
