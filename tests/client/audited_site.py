"""A site under an audit hook that answers requests of a hostile server, and prints what it saw them do as JSON.

Run as ``python -m tests.client.audited_site FOLDER [PATH]`` in a process of its own, because no audit hook can be taken
away again. FOLDER holds ``data.npz`` and ``modules``, a folder of modules that tell on whoever imports them; PATH is
code that the site's operator allows, which makes the audit see something.
"""

import json
import os
import sys
import sysconfig
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from flwr.app import ConfigRecord, Context, Message, RecordDict

from client.client_app import app
from pfedgp.site.task_name import TaskName
from pfedgp_core.config import GPSettings, Settings, flat_fields
from pfedgp_core.data.spec import DataSpec
from pfedgp_core.methods.make import make_method
from pfedgp_core.model.shared import SharedState
from pfedgp_core.registry import METHODS
from pfedgp_core.setting import default_of
from pfedgp_core.site.trained_model import TrainedModel
from pfedgp_core.wire.names import (
    CONFIG,
    EVALUATE,
    HELLO,
    MODEL,
    MODEL_HASH,
    NOTICE,
    ONBOARD,
    REFUSED,
    RULES,
    RUN,
    SETTINGS,
    SPEC,
    SPLIT,
    TRAIN,
    WORDS,
)
from pfedgp_core.wire.publication import description_hash, publication
from server.flower.messages import Packed, request_config
from tests.client.hostile_texts import ELSEWHERE, MODULE, hostile_values

REPOSITORY = Path(__file__).resolve().parents[2]
TaskName((1, 1, 1)).apply()  # else Flower makes no message
FOLDER = Path(sys.argv[1]).resolve()
STATE, DATA = FOLDER / "state", FOLDER / "data.npz"
NODE = {"client-name": "ward-3", "data-path": str(DATA), "state": str(STATE), "allow-code": ",".join(sys.argv[2:])}
TINY = Settings(
    network="mlp", feature_dim=4, gp=GPSettings(sweeps=1, train_chains=2, predict_chains=2), batch_size=8, local_steps=1
)
SPEC_OF_DATA = DataSpec(("0", "1"), (1, 8, 8), (0.3,), (0.35,))
MODEL_OF_SERVER = TrainedModel(
    SharedState.initial(TINY, (1, 8, 8), 2).to_vector(),
    TINY,
    SPEC_OF_DATA.class_names,
    SPEC_OF_DATA.input_shape,
    np.array(SPEC_OF_DATA.mean, np.float32),
    np.array(SPEC_OF_DATA.std, np.float32),
)
VECTORS = {}
for _method in METHODS:
    _made = make_method(TINY.replace(method=_method), SPEC_OF_DATA.input_shape, 2)
    VECTORS[_method] = _made.download(_made.initial(), "site")
TEXTS = [key for key, f in flat_fields().items() if isinstance(default_of(f), str)]
READABLE = [Path(p) for p in {*sysconfig.get_paths().values(), sys.prefix, sys.base_prefix, REPOSITORY}]
READABLE += [DATA, STATE, Path("/proc/self"), Path("/proc/meminfo"), Path("/sys/fs/cgroup"), Path(os.devnull)]
NAMED = {value.partition(":")[0] for value in hostile_values(FOLDER)}
NEVER = ("socket.", "subprocess.", "urllib.", "http.", "ftplib.", "smtplib.", "pty.", "webbrowser.", "winreg.")
NEVER_OS = ("os.system", "os.exec", "os.fork", "os.forkpty", "os.posix_spawn", "os.spawn", "os.startfile", "os.putenv")


class Audit:
    """What no request may make a site do, and on whose word it was done."""

    def __init__(self) -> None:
        self.modules, self.findings = set(sys.modules), list[str]()
        self.packages = {name.partition(".")[0] for name in self.modules}
        self.now = ""

    def __call__(self, event: str, arguments: tuple[Any, ...]) -> None:
        """The hook: it must stay quiet itself."""
        if not self.now:
            return
        named = bool(arguments) and isinstance(arguments[0], str | bytes | Path)
        path = Path(os.fsdecode(arguments[0])).absolute() if named else None
        if event.startswith(NEVER) or event in NEVER_OS:
            self._note(f"{event} {arguments[:2]!r}")
        elif path is not None and event == "open":
            written = int(arguments[2] or 0) & (os.O_WRONLY | os.O_RDWR | os.O_CREAT)
            if not within(path, [STATE] if written else READABLE):
                self._note(f"open {path} {'to write' if written else 'to read'}")
        elif path is not None and event.startswith("os.") and not within(path, READABLE):
            self._note(f"{event} {path}")

    def look_for_imports(self) -> None:
        """Note what has been imported; importlib raises no event."""
        for name in set(sys.modules) - self.modules:
            self.modules.add(name)
            if name in NAMED or name.partition(".")[0] not in self.packages:
                self._note(f"import {name}")

    def _note(self, what: str) -> None:
        if len(self.findings) < 100:
            self.findings.append(f"{self.now}: {what}"[:400])


def within(path: Path, folders: list[Path]) -> bool:
    """Whether a path is one of these, or below one."""
    return any(folder == path or folder in path.parents for folder in folders)


def requests() -> Iterator[tuple[str, Message]]:
    """What a hostile server sends: every text that there is, one at a time, in every kind of message."""
    settings = TINY.to_run_config()
    for value in hostile_values(FOLDER):
        if sys.argv[2:] and value not in sys.argv[2:]:
            continue  # to see what is allowed, that alone is enough
        for key in TEXTS:
            yield from every_kind(f"{key} = {value[:60]!r}", settings | {key: value}, SPEC_OF_DATA, {})
        for key in (*(f"{name}.x" for name in METHODS), *ELSEWHERE):  # no settings, which all requests read alike
            yield from every_kind(f"{key} = {value[:60]!r}", settings | {key: value}, SPEC_OF_DATA, {}, (HELLO,))
        for key in (RUN, SPLIT, SETTINGS, SPEC, RULES):
            yield from every_kind(f"field {key} = {value[:60]!r}", settings, SPEC_OF_DATA, {key: value})
        further = dict.fromkeys(ELSEWHERE, value)
        yield from every_kind(f"further fields = {value[:60]!r}", settings, SPEC_OF_DATA, further)
        named = DataSpec(("0", value), (1, 8, 8), (0.3,), (0.35,))
        yield from every_kind(f"class {value[:60]!r}", settings, named, {})
        yield f"words {value[:60]!r}", message(NOTICE, ConfigRecord({WORDS: value, REFUSED: True}))


def every_kind(
    name: str,
    settings: dict[str, Any],
    spec: DataSpec,
    fields: dict[str, Any],
    kinds: tuple[str, ...] = (HELLO, TRAIN, EVALUATE),
) -> Iterator[tuple[str, Message]]:
    """A greeting, a training, an evaluation and a publication with these settings, data and further fields."""
    plain = dict(request_config(TINY, 1, "validation", spec, "run"))
    config = plain | {SETTINGS: json.dumps(settings)} | fields
    for kind in kinds:
        right = VECTORS.get(settings["method"], MODEL_OF_SERVER.vector)
        vector = {} if kind == HELLO else Packed(right).fields
        yield f"{kind}, {name}", message(kind, ConfigRecord(config | vector))
    about = json.loads(publication(MODEL_OF_SERVER)[MODEL])
    about |= {"settings": settings, "class_names": list(spec.class_names)} | fields
    text = json.dumps(about)
    signed = {MODEL: text, MODEL_HASH: description_hash(text, MODEL_OF_SERVER.vector)}
    yield f"{ONBOARD}, {name}", message(ONBOARD, ConfigRecord(signed | Packed(MODEL_OF_SERVER.vector).fields | fields))


def message(kind: str, config: ConfigRecord) -> Message:
    """A request with these fields."""
    return Message(RecordDict({CONFIG: config}), dst_node_id=9, message_type=kind, ttl=60.0)


def answered(sent: Message, run_config: dict[str, Any]) -> bool:
    """Whether the app answers without an error; Flower is told as little as the site's worker would."""
    try:
        return not app(sent, Context(7, 9, NODE, RecordDict(), run_config)).has_error()
    except Exception:  # noqa: BLE001 (as the worker does)
        return False


def main() -> None:
    """Warm up with honest requests, then audit the others."""
    sys.path.insert(0, str(FOLDER / "modules"))
    STATE.mkdir()
    honest = 0
    for method in METHODS:
        for _, sent in every_kind("", TINY.replace(method=method).to_run_config(), SPEC_OF_DATA, {}):
            honest += answered(sent, {})
    audit = Audit()
    sys.addaudithook(audit)
    count = good = 0
    run_config: dict[str, Any] = dict.fromkeys((*TEXTS, *ELSEWHERE), f"{MODULE}:run")
    for name, sent in requests():
        audit.now = name
        count, good = count + 1, good + answered(sent, run_config)
        audit.look_for_imports()
        audit.now = ""
    print(json.dumps({"honest": honest, "requests": count, "answered": good, "findings": audit.findings}))


if __name__ == "__main__":
    main()
