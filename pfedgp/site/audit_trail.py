"""The site's audit log: a line for every message that is answered, written before the answer leaves."""

import hashlib
from functools import lru_cache
from pathlib import Path
from typing import Any

from flwr.app import Message

from pfedgp_core.audit.contents import described
from pfedgp_core.audit.log import FOLDER, AuditLog
from pfedgp_core.checks import printable
from pfedgp_core.config import Settings
from pfedgp_core.errors import ArtefactError, PFedGPError
from pfedgp_core.files.json_file import parse_object
from pfedgp_core.files.regular import MalformedError
from pfedgp_core.policy.runs import Runs, run_hash
from pfedgp_core.policy.site_policy import FILE
from pfedgp_core.policy.site_policy import FOLDER as POLICY
from pfedgp_core.wire.names import CONFIG, ROUND, SETTINGS

__all__ = ["AuditTrail"]


class AuditTrail:
    """Writes the lines of a site.

    Parameters
    ----------
    state : Path
    """

    def __init__(self, state: Path) -> None:
        self._state, self._log = state, AuditLog(state / FOLDER)

    def asked(self, message: Message, run: int) -> dict[str, Any]:
        """What is known of a request when it arrives; `leaving` wants it back. What cannot be described is None."""
        kind = {"kind": printable(message.metadata.message_type, 60), "run": str(run)}
        try:
            return kind | self._described(message)
        except Exception:  # noqa: BLE001 (whatever a server sends, the site goes on)
            return kind | {"settings": None, "round": None, "request": None}

    @staticmethod
    def _described(message: Message) -> dict[str, Any]:
        config = message.content.config_records.get(CONFIG) if message.has_content() else None
        settings = None if config is None else config.get(SETTINGS)
        number = 0 if config is None else config.get(ROUND, 0)
        return {
            "settings": _settings_hash(settings) if isinstance(settings, str) else None,
            "round": number if type(number) is int else None,
            "request": described(message.content) if message.has_content() else None,
        }

    def leaving(self, asked: dict[str, Any], reply: Message) -> None:
        """Note what is about to leave; on disk when this returns.

        Raises
        ------
        ArtefactError
            The line cannot be written, or the reply not be described.
        """
        about: dict[str, Any] = {"policy": self._policy(), "approved_by": self._approval(asked["settings"])}
        if reply.has_error():
            reason = printable(str(reply.error.reason or ""), 60)
            self._log.add(("refused", asked | about | {"error": reason, "code": int(reply.error.code)}))
        else:
            try:
                about["reply"] = described(reply.content)
            except Exception as error:
                raise ArtefactError(f"A reply cannot be described ({type(error).__name__}): nothing leaves.") from error
            self._log.add(("sent", asked | about))

    def _policy(self) -> str | None:
        """Hash of the policy in force; None where there is none that can be read."""
        try:
            return hashlib.sha256((self._state / POLICY / FILE).read_bytes()).hexdigest()
        except OSError:
            return None

    def _approval(self, settings: str | None) -> str | None:
        try:
            entry = Runs.read(self._state).approved.get(settings or "")
        except PFedGPError:
            return None
        return None if entry is None else str(entry.get("by", ""))


@lru_cache(maxsize=4)  # every request of a run has the same
def _settings_hash(text: str) -> str | None:
    try:
        return run_hash(Settings.from_run_config(parse_object(text)))
    except (PFedGPError, MalformedError, TypeError):
        return None
