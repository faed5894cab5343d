"""A site with a policy, as its agent serves it: the real app behind the real gate, without a SuperNode."""

from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
from flwr.app import Context, Message, RecordDict

from client.client_app import app
from pfedgp.governance.policy import _make
from pfedgp.site.agent import Agent
from pfedgp.site.audit_trail import AuditTrail
from pfedgp.site.flower_waits import Waits
from pfedgp.site.gate import SiteGate
from pfedgp_core.config import Settings
from pfedgp_core.policy.runs import Runs, run_hash
from pfedgp_core.policy.site_policy import FILE, FOLDER
from pfedgp_core.wire.names import CONFIG
from server.flower.messages import Packed, request, request_config
from tests.client.site_requests import OWN, SPEC_OF_DIGITS, THETA, node
from tests.own_sites import archive, rows_of

__all__ = ["NOON", "GatedSite", "fields_of", "refused"]

NOON = datetime(2026, 3, 2, 12)  # a Monday
Spoil = Callable[[Message], Message]


class GatedSite:
    """A site of four digits.

    Parameters
    ----------
    folder : Path
    policy : str
        Content of the policy file; None: the site has none.
    spoil : callable, optional
        Changes a reply of the app before it comes to the gate.
    """

    def __init__(self, folder: Path, policy: str | None, spoil: Spoil = lambda reply: reply) -> None:
        self.state, self.said, self.asked, self.now = folder, list[str](), 0, NOON
        self.spoil = spoil
        if policy is not None:
            _make(folder)
            (folder / FOLDER / FILE).write_text(policy)
        self.node = node(archive(folder / "data.npz", rows_of(0, 1, 2, 3, of=4)), state=str(folder))
        worker = SimpleNamespace(call=self._call, pid=7)
        self.agent = Agent(
            *("127.0.0.1:1", b"x" * 32, cast("Any", worker), Waits(), "app:1"),
            lambda kind, **fields: self.said.append(fields.get("text", kind)),
            SiteGate(folder, lambda: self.now),
            AuditTrail(folder),
        )

    def approve(self, settings: Settings = OWN) -> None:
        """Let a run in."""
        runs = Runs.read(self.state)
        runs.note_asked(settings, "7")
        runs.approve(run_hash(settings), "the operator")

    def ask(self, kind: str, settings: Settings = OWN, vector: np.ndarray | None = THETA, **fields: Any) -> Message:
        """The reply to a request, with other fields where they are given, as it would leave the site."""
        round, split = fields.pop("round", 1), fields.pop("split", "validation" if kind == "evaluate" else "")
        config = request_config(settings, round if type(round) is int else 1, split, SPEC_OF_DIGITS)
        for key, value in (fields | ({} if type(round) is int else {"round": round})).items():
            config[key] = value
        packed = None if kind == "query.hello" or vector is None else Packed(vector)
        return self.send(request(kind, 9, config, packed, 60.0))

    def send(self, message: Message) -> Message:
        """The reply to any message."""
        run = SimpleNamespace(run_id=7, fab_id="app", fab_version="1")
        asked = self.agent._trail.asked(message, 7)
        reply = self.agent._answer(cast("Any", None), message, self._context(), cast("Any", run))[0]
        return self.agent._noted(asked, message, reply)

    def _call(self, given: Any, *_: Any) -> tuple[Message, Context]:
        self.asked += 1
        return self.spoil(app(given[0], given[1])), given[1]

    def _context(self) -> Context:
        return Context(7, 9, self.node, RecordDict(), {})


def refused(reply: Message) -> bool:
    """Whether a reply is the refusal of a policy, and nothing else."""
    return reply.has_error() and reply.error.reason == "PolicyError" and not reply.has_content()


def fields_of(reply: Message) -> dict[str, Any]:
    """The fields of a reply that left."""
    assert not reply.has_error(), reply.error
    return dict(reply.content.config_records[CONFIG])
