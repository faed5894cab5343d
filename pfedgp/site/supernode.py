"""The SuperNode's process: Flower's own SuperNode with short waits and an agent, or with ``--stock`` unchanged.

Started by the supervisor as ``python -P -m pfedgp.site.supernode PLAN EVENTS PARENT``.
"""

import json
import logging
import os
import secrets
import signal
import sys
import threading
from pathlib import Path
from typing import Any

from pfedgp.processes.flower import flower_program, free_ports
from pfedgp.processes.parent import end_with_parent
from pfedgp.site.flower_waits import Waits
from pfedgp.site.patches import SITE_PATCHES, STOCK_REMEDY, patch_supernode
from pfedgp.site.plan import APP, APP_ID, SitePlan
from pfedgp_core.errors import ConfigError
from pfedgp_core.freed_memory import keep_freed_memory
from pfedgp_core.patch import refuse_lost

__all__ = ["main"]

logger = logging.getLogger("pfedgp.site")


def main(arguments: list[str]) -> int:
    """Run the SuperNode until it ends or is asked to."""
    text, descriptor, parent = arguments
    end_with_parent(int(parent), signal.SIGTERM)
    plan = SitePlan.from_json(text)
    flags = plan.supernode_arguments(free_ports(1)[0])
    events = Events(int(descriptor))
    if plan.stock:
        program = flower_program("flower-supernode")
        os.execv(program, [program, *flags])  # noqa: S606 (it takes the place of this process)
    try:
        refuse_lost(SITE_PATCHES, STOCK_REMEDY)
    except ConfigError as error:
        events.report("refused", text=str(error))
        return 1
    return _run(flags, events, Path(plan.state))


class Events:
    """Lines of JSON to the supervisor."""

    def __init__(self, descriptor: int) -> None:
        self._file = os.fdopen(descriptor, "w", encoding="utf-8", buffering=1)
        self._lock = threading.Lock()

    def report(self, kind: str, **fields: Any) -> None:
        """Tell the supervisor one event, if it still runs."""
        with self._lock:
            try:
                self._file.write(json.dumps({"event": kind, **fields}) + "\n")
            except OSError:
                return


def _run(flags: list[str], events: Events, state: Path) -> int:
    # Whatever goes wrong in a thread of Flower, such as its heartbeat, would leave a node that looks alive and is not.
    threading.excepthook = _end
    logger.addHandler(logging.StreamHandler(sys.stderr))
    from flwr.supernode.cli import flower_supernode

    from pfedgp.site.agent import Agent
    from pfedgp.site.audit_trail import AuditTrail
    from pfedgp.site.gate import SiteGate
    from pfedgp.site.short_calls import ShortCalls
    from pfedgp.site.worker_process import WorkerProcess

    keep_freed_memory(one_heap=True)  # a model comes and goes in the same pieces
    waits, calls = Waits(), ShortCalls()
    for lost in patch_supernode(waits, calls):
        events.report("problem", text=lost)
    secret = secrets.token_bytes(32)
    worker = WorkerProcess(APP, lambda pid: events.report("worker", pid=pid))
    address = f"127.0.0.1:{flags[flags.index('--port') + 1]}"
    Agent(address, secret, worker, waits, APP_ID, events.report, SiteGate(state), AuditTrail(state), calls).start()
    sys.argv = [
        *("flower-supernode", *flags),
        *("--isolation", "process", "--superexec-auth-secret-file", f"/dev/fd/{_pipe(secret)}"),
    ]
    code: Any = 1  # by itself it returns only after an error, which it has logged
    try:
        flower_supernode()
    except SystemExit as ending:
        code = ending.code
    worker.stop()
    sys.stderr.flush()
    # Flower leaves a thread behind that would keep the process.
    os._exit(code if isinstance(code, int) else 1)


def _pipe(content: bytes) -> int:
    """A file descriptor to read `content` from, once; so the secret is in no file."""
    readable, writable = os.pipe()
    os.write(writable, content)
    os.close(writable)
    return readable


def _end(reason: threading.ExceptHookArgs) -> None:
    logger.error(
        "a thread of the SuperNode failed",
        exc_info=(reason.exc_type, reason.exc_value or reason.exc_type(), reason.exc_traceback),
    )
    os.kill(os.getpid(), signal.SIGTERM)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
