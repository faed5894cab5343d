"""The sites of a deployment: registering their public keys, taking sites out, and telling who is connected."""

import threading
import time
from collections.abc import Callable
from pathlib import Path

from cryptography.hazmat.primitives import serialization

from pfedgp.operator.control import Control, UnreachableError
from pfedgp.operator.removed import removed_keys
from pfedgp_core.errors import ConfigError, PFedGPError, UnreadableFileError
from pfedgp_core.files import keys
from pfedgp_core.words import few

__all__ = ["SiteWatch", "read_public_key"]

EVERY = 2.0


def read_public_key(path: Path) -> bytes:
    """Read a site's public key in OpenSSH's form and return it as PEM.

    Raises
    ------
    ConfigError
        It cannot be read, or is of a kind that Flower does not take.
    """
    try:
        key = keys.read_public_key(path)
    except UnreadableFileError as error:
        raise ConfigError(
            f"{path} is no public key in OpenSSH's form on a NIST curve ({error.reason}): make it with pfedgp key."
        ) from error
    return key.public_bytes(serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo)


class SiteWatch:
    """A thread that registers the keys in a folder, takes out those that were removed, and says who comes and goes.

    Make it before the SuperLink starts: what that has in its database from before is not taken for connected.

    Parameters
    ----------
    control : Control
        Used by this thread alone.
    folder : Path
        Holds ``NAME.pub`` files, and removed ones as `pfedgp.operator.removed` says.
    say : callable
        Takes a line for the console.
    """

    def __init__(self, control: Control, folder: Path, say: Callable[[str], None]) -> None:
        self.control, self.folder, self.say = control, folder, say
        self._known: dict[Path, int] = {}
        self._taken_out: set[Path] = set()
        self._online: set[str] = set()
        self._before: set[str] = set()
        self._since = time.time()
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="sites", daemon=True)

    def start(self) -> None:
        """Start watching."""
        self._thread.start()

    def stop(self) -> None:
        """Stop watching."""
        self._stop.set()
        if self._thread.is_alive():
            self._thread.join(5.0)
        self.control.close()

    def forget(self) -> None:
        """Look at all keys again, after a SuperLink without a database has forgotten them."""
        self._known.clear()
        self._taken_out.clear()

    def _run(self) -> None:
        while not self._stop.is_set():
            try:
                self._take_out()
                self._register()
                self._tell()
            except UnreachableError:
                pass  # the supervisor says what is wrong
            except PFedGPError as error:
                self.say(f"warning: {error}")
            self._stop.wait(EVERY)

    def _take_out(self) -> None:
        new = [path for path in removed_keys(self.folder) if path not in self._taken_out]
        if not new:
            return
        nodes = {node.public_key.strip(): node for node in self.control.nodes()}
        for path in new:
            try:
                node = nodes.get(read_public_key(path).strip())
            except ConfigError as error:
                self.say(f"warning: {error}")
                node = None
            if node is not None:
                self.control.unregister(node.node_id)
                self.say(f"{node.name} is taken out: its key is refused from now on")
            self._taken_out.add(path)

    def _register(self) -> None:
        new: list[str] = []
        again: list[str] = []
        for path in sorted(self.folder.glob("*.pub")):
            try:
                stamp = path.stat().st_mtime_ns
            except OSError:
                continue
            if self._known.get(path) == stamp:
                continue
            try:
                (new if self.control.register(read_public_key(path), path.stem) else again).append(path.stem)
            except ConfigError as error:
                self.say(f"warning: {error}")
            self._known[path] = stamp
        if new:
            self.say(f"registered {few(new, 20)}")
        if again:
            self.say(f"registered before: {few(again, 20)}")

    def _tell(self) -> None:
        nodes = [node for node in self.control.nodes() if node.online]
        heard = {node.name for node in nodes if node.heard >= self._since}
        online = heard | {node.name for node in nodes if node.name in self._online}
        before = {node.name for node in nodes} - online
        for name in sorted(before - self._before):
            self.say(f"{name} was connected before the restart")
        for name in sorted(self._before - before - online):
            self.say(f"{name} has not connected again since the restart")
        for name in sorted(online - self._online):
            self.say(f"{name} connected")
        for name in sorted(self._online - online):
            self.say(f"{name} disconnected")
        self._online, self._before = online, before
