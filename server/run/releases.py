"""How often each client was asked for an update, from which the privacy of a run follows.

With differential privacy every answer costs a client some of its privacy, also one that was lost, refused, or made
again because the run was killed and went on. So the requests are on disk before they are sent, in
``RUN/releases.jsonl``, and no resume takes a line back.
"""

import json
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from pfedgp_core.checks import MALFORMED, text
from pfedgp_core.config import Settings
from pfedgp_core.errors import ArtefactError, DamagedStateError
from pfedgp_core.files.json_file import parse_object
from pfedgp_core.files.regular import read_regular
from pfedgp_core.files.state import kept
from pfedgp_core.learning.privacy import require_accountant, spent
from server.run.files import append_line, truncate_lines

__all__ = ["RELEASES", "Releases"]

RELEASES = "releases.jsonl"
LARGEST = 16 * 1024**3  # bytes


class Releases:
    """The requests for updates of one run; without ``dp-noise`` nothing is kept, because nothing is guaranteed.

    Parameters
    ----------
    run : Path
        Folder of the run.
    settings : Settings

    Raises
    ------
    ConfigError
        The package that computes epsilon is not installed.
    DamagedStateError
        The file of a run that goes on cannot be read.
    """

    def __init__(self, run: Path, settings: Settings) -> None:
        self.path, self.settings = run / RELEASES, settings
        self.counts: Counter[str] = Counter()
        if settings.dp_noise == 0:
            return
        require_accountant(settings)
        with kept(self.path):
            whole = read_regular(self.path, LARGEST).count(b"\n") if self.path.exists() else 0
        # Half a line was not followed by a request.
        for line in truncate_lines(self.path, whole):
            try:
                self.counts.update(map(text, parse_object(line)["clients"]))
            except MALFORMED as error:
                raise DamagedStateError(f"{self.path} is damaged ({error}): restore it from a copy.") from error

    def note(self, server_round: int, clients: Iterable[str]) -> None:
        """Keep that these clients are about to be asked, on disk when this returns."""
        if self.settings.dp_noise == 0:
            return
        names = list(clients)
        append_line(self.path, json.dumps({"round": server_round, "clients": names}))
        self.counts.update(names)

    def cover(self, trained: Mapping[str, int]) -> None:
        """Check that nothing is missing of a run that goes on, given how many updates of each client it has used.

        Raises
        ------
        ArtefactError
            The file lacks requests that were made, so that nobody knows what privacy is left.
        """
        if self.settings.dp_noise == 0:
            return
        short = [name for name, count in sorted(trained.items()) if self.counts[name] < count]
        if short:
            raise ArtefactError(
                f"{self.path} is missing, or lacks requests to {', '.join(short[:5])}, so the epsilon of this run "
                "cannot be stated: restore the file from a copy, or start a new run."
            )

    def spent(self) -> dict[str, Any]:
        """Return what the summary says: an upper bound on every asked client's epsilon, and their delta."""
        if self.settings.dp_noise == 0:
            return {}
        epsilon = {name: spent(self.settings, count) for name, count in sorted(self.counts.items())}
        return {"epsilon": epsilon, "delta": self.settings.dp_delta}
