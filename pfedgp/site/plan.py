"""The options of a site's SuperNode: made by the supervisor, read by the process that it starts."""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from itertools import chain
from pathlib import Path

from pfedgp import __version__
from pfedgp_core.files.pem import plain_certificate, plain_copy, plain_text

__all__ = ["APP", "APP_ID", "SitePlan"]

APP = "client.client_app:app"
APP_ID = f"pfedgp/pfedgp:{__version__}"


@dataclass(frozen=True)
class SitePlan:
    """One site: the server it connects to, how it is known there, and what its app is told.

    Attributes
    ----------
    superlink : str
        HOST:PORT of the SuperLink's fleet port.
    ca, key : str
        Files: the certificate authority and the site's private key. Both are empty for plaintext without a key.
    node_config : dict
        Of the Flower node: texts and integers.
    state : str
        The site's state folder, absolute.
    name : str
        Of the site, for its own log.
    stock : bool
        Run Flower's own SuperNode, unchanged.
    """

    superlink: str
    ca: str
    key: str
    node_config: Mapping[str, str | int]
    state: str
    name: str
    stock: bool = False

    def to_json(self) -> str:
        """Write the plan as text."""
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, text: str) -> "SitePlan":
        """Read what ``to_json`` wrote."""
        return cls(**json.loads(text))

    def supernode_arguments(self, port: int) -> list[str]:
        """Write the node config as a file, and return the arguments of ``flower-supernode``.

        Parameters
        ----------
        port : int
            A free port of the loopback interface, for the SuperNode's own HTTP interface.
        """
        # On the command line Flower's node config knows no escapes, so that a path with a quote would not arrive.
        config = Path(self.state) / "flwr" / "node-config.toml"
        lines = [f"{key} = {json.dumps(value, ensure_ascii=False)}\n" for key, value in self.node_config.items()]
        config.write_text("".join(lines), encoding="utf-8")
        return [
            *("--superlink", self.superlink, *self._security(config.parent)),
            *("--node-config", str(config), "--host", "127.0.0.1", "--port", str(port)),
        ]

    def _security(self, folder: Path) -> list[str]:
        """The options for certificate and key; copies of those that Flower could not read go to `folder`."""
        files = (
            ("--root-certificates", self.ca, plain_certificate),
            ("--auth-supernode-private-key", self.key, plain_text),
        )
        given = [(option, str(plain_copy(Path(file), folder, plain))) for option, file, plain in files if file]
        return [*([] if self.ca else ["--insecure"]), *chain.from_iterable(given)]
