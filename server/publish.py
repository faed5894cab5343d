"""Publishing a trained model to the connected nodes, which onboard themselves on their own data; nothing is trained.

The run-config key ``publish`` names the model. The folder of the run gets one file, ``onboarded.json``, which is
replaced after every answer: what each node answered, by Flower's node id, with the client's name where it told one.
A federation of sites with their own data ends with the same exchange (`server.personalise`).
"""

import json
import logging
import time
from collections.abc import Mapping, MutableMapping
from pathlib import Path
from typing import Any

from flwr.app import ConfigRecord, Message
from flwr.serverapp import Grid

from pfedgp_core.config import Settings
from pfedgp_core.errors import ArtefactError, DataError, RunFailedError
from pfedgp_core.files.regular import read_text
from pfedgp_core.methods.make import require_onboards
from pfedgp_core.site.trained_model import TrainedModel
from pfedgp_core.wire.names import ONBOARD
from pfedgp_core.wire.publication import OnboardReply, publication
from pfedgp_core.words import counted, few
from server.clients.key_names import KeyNames
from server.flower.messages import Packed, Poll, push, request
from server.flower.reply_checks import read_onboard_reply
from server.outputs import take_path
from server.run.files import CARD_FILES, ONBOARDED_FILE, explained, write_whole
from server.run.model_file import load_model
from server.run.new_folder import check_new_folder

__all__ = ["Publication", "take_publish", "waiting_settings"]

logger = logging.getLogger("pfedgp.server")

PUBLISH = "publish"
_WAITING, MANY = ("min-results", "wait-timeout", "round-timeout"), 1_000_000
# Seconds to wait for another node where enough have answered, but too few could onboard.
PATIENCE = 10.0
WAITING_LOG_INTERVAL = 10.0
_REMEDIES = {  # by the type of exception that a node tells; its text stays there
    "AlteredModelError": "the model changed on its way: publish it again",
    "ArtefactError": "its site folder cannot be used: see the node's log",
    "ConfigError": "its node config or this model does not suit it: see the node's log",
    "DataError": "its data cannot be used: see the node's log, or pfedgp check-data there",
    "PolicyError": "the site's own policy forbids it: see pfedgp policy there",
    "NoSiteFolderError": "it takes no model: start it with --node-config 'site=\"FOLDER\"'",
}


def take_publish(flat: MutableMapping[str, Any]) -> str:
    """Remove ``publish`` from a run config and return it; empty where the run trains.

    Raises
    ------
    ConfigError
        It is not a text.
    """
    return take_path(flat, PUBLISH, "RUN/best")


def waiting_settings(flat: Mapping[str, Any]) -> Settings:
    """The settings of a run config that matter here: for how many sites, and how long, to wait.

    Raises
    ------
    ConfigError
        One of them is not allowed.
    """
    # In training, min-results is at most clients-per-round, and that at most clients; here nobody is drawn.
    flat = {key: flat[key] for key in _WAITING if key in flat}
    return Settings.from_run_config(flat | {"clients": MANY, "clients-per-round": MANY})


class Publication:
    """One model to all nodes. Call `run` once.

    Parameters
    ----------
    grid : Grid
        Flower's connection to the nodes.
    settings : Settings
        For how many sites, and how long, to wait; the sites obey the model's own settings.
    model : TrainedModel
    path : Path
        Folder for the results.
    about : mapping
        Where the model is from, kept with the results.
    run_info : mapping
        Origin of the run, kept with the results.
    names : mapping, optional
        Nodes to ask and their clients' names; default: every node, and those that connect meanwhile.
    """

    def __init__(
        self,
        grid: Grid,
        settings: Settings,
        model: TrainedModel,
        path: Path,
        about: Mapping[str, Any],
        run_info: Mapping[str, Any],
        names: Mapping[int, str] | None = None,
    ) -> None:
        self.grid, self.settings, self.model, self.path, self.names = grid, settings, model, path, names
        of_model = {"sha256": model.sha256, "temperature": model.temperature}
        self._about = {"model": of_model | dict(about), "run": dict(run_info)}
        self._pending: dict[str, tuple[int, float]] = {}  # message id -> node, end of the wait
        self._rows: dict[int, dict[str, Any]] = {}  # by node
        self._keys = KeyNames()

    @classmethod
    def of(
        cls, grid: Grid, settings: Settings, model_path: Path, path: Path, run_info: Mapping[str, Any]
    ) -> "Publication":
        """Publish the model in the folder ``best`` or ``final`` of a run; `settings` are `waiting_settings`.

        Raises
        ------
        ArtefactError, ConfigError, DataError
            There is no such model, it cannot be used, or the folder for the results is taken.
        """
        vector, meta = load_model(model_path)
        model = TrainedModel.from_artefact(vector, meta)
        require_onboards(model.settings, trusted=True)
        _ = model.state  # a vector that does not fit its description is refused before it is sent
        check_new_folder(path)
        if (path / ONBOARDED_FILE).exists():
            raise ArtefactError(f"The folder {path} already holds {ONBOARDED_FILE}: give another one with out.")
        with explained(path):
            path.mkdir(parents=True, exist_ok=True)
            for card in CARD_FILES:  # that of the run that made the model goes with it
                if (made := model_path.parent / card).is_file() and path != model_path.parent:
                    write_whole(path / card, read_text(made))
        return cls(grid, settings, model, path, {"path": str(model_path), "round": meta.get("round")}, run_info)

    def run(self) -> dict[str, Any]:
        """Send the model to every node, those that connect meanwhile too, until enough have onboarded.

        Returns
        -------
        dict
            The results, as in ``onboarded.json``.

        Raises
        ------
        RunFailedError
            No node could be onboarded.
        """
        logger.info("publishing the model %s to the connected nodes", self.model.sha256[:12])
        poll, began = Poll(), time.monotonic()
        news, next_log = began, began + WAITING_LOG_INTERVAL / 5
        while True:
            now = time.monotonic()
            if now - began < self.settings.wait_timeout:
                self._ask_new_nodes(now)
            if self._take_answers(now):
                news = now
                poll.news()
                self._write("running")
            if self._over(now - began, now - news):
                break
            if now >= next_log:
                logger.info("waiting: %s", self._state())
                next_log = now + WAITING_LOG_INTERVAL
            poll.sleep(self.settings.wait_timeout)
        return self._finish()

    @property
    def onboarded(self) -> list[dict[str, Any]]:
        """Rows of the sites that stand on the model now."""
        return [row for row in self._rows.values() if "error" not in row]

    def _ask_new_nodes(self, now: float) -> None:
        asked = {node for node, _ in self._pending.values()} | set(self._rows)
        new = sorted(set(self.grid.get_node_ids() if self.names is None else self.names) - asked)
        if not new:
            return
        config, packed = ConfigRecord(publication(self.model)), Packed(self.model.vector)
        timeout = self.settings.round_timeout
        messages = [request(ONBOARD, node, config, packed, timeout) for node in new]
        sent = set(push(self.grid, messages))
        for message in messages:
            node = message.metadata.dst_node_id
            if message.metadata.message_id in sent:
                self._pending[message.metadata.message_id] = (node, now + timeout)
            elif self.names is not None:
                self._refuse(node, DataError("not connected"))

    def _take_answers(self, now: float) -> bool:
        """Read what has arrived and give up on what is overdue; False where nothing changed."""
        before = len(self._rows)
        for message in self.grid.pull_messages(list(self._pending)) if self._pending else ():
            node, _ = self._pending.pop(message.metadata.reply_to_message_id)
            self._note(node, message)
        for message_id, (node, end) in list(self._pending.items()):
            if now > end:
                del self._pending[message_id]
                self._note(node, None)
        return len(self._rows) > before

    def _note(self, node: int, message: Message | None) -> None:
        """Keep and print a node's answer; None stands for none in time."""
        try:
            if message is None:
                raise DataError(f"no answer within {self.settings.round_timeout:g} s")
            reply = read_onboard_reply(message, self.model)
            self._check_name(node, reply.name)
        except DataError as error:
            self._refuse(node, error)
            return
        self._rows[node] = _row(node, reply)
        part = "; its data took part in the training" if reply.took_part else ""
        logger.info(
            "%s: %s, %d samples of %s, %.1f s%s",
            *(
                reply.name or f"node {node}",
                reply.outcome,
                reply.samples,
                few(reply.classes, 10),
                reply.seconds,
                part,
            ),
        )

    def _check_name(self, node: int, name: str) -> None:
        """Raise DataError where a node answers under the name of another site."""
        if self.names is not None:  # the run has looked at the keys
            strange = name != self.names.get(node, name)
        else:
            self._keys.look_up(self.grid, [node])
            key = self._keys.of(node)
            # A node without a key that connects anew has another id.
            taken = bool(key) and key != name and any(row.get("client") == name for row in self._rows.values())
            strange = taken or bool(self._keys.pretended(name, node, {}))
        if strange:
            raise DataError(f"its answer has the name of another site, {name!r}")

    def _refuse(self, node: int, error: DataError) -> None:
        remedy, name = _REMEDIES.get(str(error), ""), (self.names or {}).get(node, "")
        self._rows[node] = {"node": str(node), **({"client": name} if name else {}), "error": str(error)}
        logger.warning("%s: not onboarded, %s%s", name or f"node {node}", error, remedy and f" ({remedy})")

    def _over(self, waited: float, quiet: float) -> bool:
        """Whether no node is asked any more, and none is waited for."""
        if self._pending:
            return False
        if self.names is not None and len(self._rows) == len(self.names):
            return True
        needed = self.settings.min_results
        enough = len(self.onboarded) >= needed or (len(self._rows) >= needed and quiet > PATIENCE)
        return enough or waited >= self.settings.wait_timeout

    def _finish(self) -> dict[str, Any]:
        if not self.onboarded:
            reason = self._nobody()
            self._write("failed", reason=reason)
            raise RunFailedError(reason)
        if len(self.onboarded) < self.settings.min_results:
            logger.warning("fewer than min-results = %d sites are onboarded", self.settings.min_results)
        result = self._write("completed")
        logger.info("%s; results in %s", self._state(), self.path)
        return result

    def _nobody(self) -> str:
        if not self._rows:
            return (
                f"No node connected within {self.settings.wait_timeout:g} s: start the sites' SuperNodes, or raise "
                "wait-timeout."
            )
        reasons = sorted({row["error"] for row in self._rows.values()})
        remedies = " ".join(f"{name}: {_REMEDIES[name]}." for name in reasons if name in _REMEDIES)
        return f"None of {len(self._rows)} nodes could be onboarded ({few(reasons, 10)}). {remedies}".rstrip()

    def _state(self) -> str:
        failed = len(self._rows) - len(self.onboarded)
        return f"{counted(len(self.onboarded), 'site')} onboarded, {failed} failed, {len(self._pending)} at work"

    def _write(self, status: str, **more: Any) -> dict[str, Any]:
        rows = sorted(self._rows.values(), key=lambda row: (row.get("client", ""), row["node"]))
        counts = {"onboarded": len(self.onboarded), "failed": len(self._rows) - len(self.onboarded)}
        result = {"status": status, **more, **counts, "sites": rows, **self._about}
        write_whole(self.path / ONBOARDED_FILE, json.dumps(result, indent=2, ensure_ascii=False) + "\n")
        return result


def _row(node: int, reply: OnboardReply) -> dict[str, Any]:
    return {
        "node": str(node),
        "client": reply.name,
        "outcome": reply.outcome,
        "samples": reply.samples,
        "classes": list(reply.classes),
        "took_part": reply.took_part,
        "seconds": reply.seconds,
    }
