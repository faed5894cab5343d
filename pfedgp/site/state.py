"""A site's state folder: one program at a time, its log, and a file that says which processes run."""

import json
import logging
import logging.handlers
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from pfedgp_core.errors import ConfigError
from pfedgp_core.files.lock import FileLock
from pfedgp_core.files.private import private_folder, tighten
from pfedgp_core.files.whole import explained

__all__ = ["SiteState"]

LOG_BYTES, LOG_FILES = 2_000_000, 4
_FOLDERS = ("logs", "flwr", "site", "kept", "policy", "audit")
_OURS = (*_FOLDERS, "lock", "client.json", "progress.json", "split.json")


class SiteState:
    """The folder of one site.

    Parameters
    ----------
    path : Path
        Absolute; made, with its parents, by `locked`.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.log_file = path / "logs" / "client.log"

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Make the folder this process's own until the block ends, or the process does; others cannot read it.

        Raises
        ------
        ConfigError
            Another process has it.
        ArtefactError
            The folder cannot be made or written, or is open to others and holds something else.
        """
        private_folder(self.path, _OURS)
        with explained(self.path):
            for folder in (self.log_file.parent, self.path / "flwr"):
                folder.mkdir(exist_ok=True, mode=0o700)
        tighten(self.path, _FOLDERS)

        def refused(who: str) -> ConfigError:
            return ConfigError(
                f"A client with the state folder {self.path} is running already ({who}): stop it first, or give this "
                "one another --state."
            )

        with FileLock(self.path / "lock", refused):
            yield

    @contextmanager
    def logs(self) -> Iterator[logging.Logger]:
        """A logger whose messages go to the log file, and those of level INFO and above to the console as well."""
        logger = logging.getLogger("pfedgp.site.console")
        logger.setLevel(logging.DEBUG)
        logger.propagate = False
        with explained(self.log_file):
            kept = logging.handlers.RotatingFileHandler(
                self.log_file, maxBytes=LOG_BYTES, backupCount=LOG_FILES, encoding="utf-8"
            )
        kept.setFormatter(logging.Formatter("%(asctime)s %(message)s"))
        shown = logging.StreamHandler(sys.stdout)
        shown.setLevel(logging.INFO)
        shown.setFormatter(logging.Formatter("%(asctime)s %(message)s", "%H:%M:%S"))
        handlers: tuple[logging.Handler, ...] = (kept, shown)
        for handler in handlers:
            # A full disk or a closed terminal must not end the training.
            handler.handleError = lambda record: None  # type: ignore[method-assign]  # noqa: ARG005
            logger.addHandler(handler)
        try:
            yield logger
        finally:
            for handler in handlers:
                logger.removeHandler(handler)
                handler.close()

    def write_status(self, status: dict[str, Any]) -> None:
        """Replace ``client.json``; a disk that is full keeps the former content."""
        path = self.path / "client.json"
        partial = path.with_name(".client.json.partial")
        try:
            partial.write_text(json.dumps(status, indent=1) + "\n", encoding="utf-8")
            os.replace(partial, path)
        except OSError:
            partial.unlink(missing_ok=True)
