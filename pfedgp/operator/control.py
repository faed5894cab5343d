"""A client of Flower's Control API: sites, runs and their logs, without Flower's command line."""

import re
import ssl
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any, Self
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

import httpx
from flwr.common.constant import HEARTBEAT_PATIENCE
from flwr.common.serde import user_config_from_proto, user_config_to_proto
from flwr.proto.control_pb2 import (
    ListNodesRequest,
    ListRunsRequest,
    RegisterNodeRequest,
    StartRunRequest,
    StopRunRequest,
    StreamLogsRequest,
    UnregisterNodeRequest,
)
from flwr.proto.fab_pb2 import Fab
from flwr.supercore.control import ControlHttpClient
from flwr.supercore.error import FlowerError
from flwr.supercore.interceptors.http import RuntimeVersionHttpInterceptor

from pfedgp.processes.called_as import called_as
from pfedgp_core.errors import ConfigError, PFedGPError, RunFailedError, UnreadableFileError
from pfedgp_core.files.pem import certificate_pem

__all__ = ["Control", "Run", "SuperNode", "UnreachableError"]

_KEY_KNOWN = 23
_RUN_UNKNOWN = 16


class UnreachableError(RunFailedError):
    """The SuperLink does not answer."""


@dataclass(frozen=True)
class SuperNode:
    """A site as the SuperLink knows it: its registered name, and whether it is connected.

    `changed` is when it was connected last or, of one that is not, when that ended at the latest: a SuperLink notices
    a site that was killed up to a minute later. One that starts again takes a site for connected until its last sign
    of life, at `heard` in seconds since the epoch, is long past.
    """

    node_id: int
    name: str
    online: bool
    changed: str
    public_key: bytes
    heard: float = 0.0


@dataclass(frozen=True)
class Run:
    """A run as the SuperLink knows it; `status` such as ``running`` or ``finished:completed``."""

    run_id: int
    status: str
    details: str
    config: Mapping[str, Any]
    pending_at: str

    @property
    def finished(self) -> bool:
        """Whether it is over."""
        return self.status.startswith("finished")

    @property
    def folder(self) -> str:
        """The folder of the run, as its server app was told."""
        return str(self.config.get("resume") or self.config.get("out") or "")

    @property
    def name(self) -> str:
        """The name of its folder, or its id."""
        return PurePosixPath(self.folder).name or str(self.run_id)

    @property
    def reason(self) -> str:
        """Why it ended incomplete, as far as the SuperLink knows; empty where it does not."""
        if self.status == "finished:stopped":
            return "The run was stopped."
        if "No heartbeat" in self.details or "unknown error" in self.details:
            return "The server app died during the run, or was stopped with the server."
        return self.details


class Control:
    """A connection to the Control API; close it, or use it as a context manager.

    Parameters
    ----------
    address : str
        ``HOST:PORT``.
    ca : Path or None
        Certificate of the authority that the server's is checked against; None for plaintext.

    Raises
    ------
    ConfigError
        The certificate cannot be read.
    """

    def __init__(self, address: str, ca: Path | None) -> None:
        self.address, self.ca = address, ca
        try:
            trusted = None if ca is None else certificate_pem(ca)
            self._client = ControlHttpClient.from_server_address(
                address, ca is None, trusted, [RuntimeVersionHttpInterceptor(component_name="pfedgp")]
            )
        except UnreadableFileError as error:
            raise ConfigError(f"Cannot read the certificate {ca} ({error.reason}): give ca.crt with --ca.") from error
        except (ssl.SSLError, UnicodeDecodeError) as error:
            raise ConfigError(f"{ca} is no certificate: give the deployment's ca.crt with --ca.") from error

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *reason: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the connection."""
        self._client.close()

    def nodes(self) -> list[SuperNode]:
        """Return the registered sites by name."""
        with self._explained():
            infos = self._client.ListNodes(ListNodesRequest()).nodes_info
        return sorted(
            (
                SuperNode(
                    info.node_id,
                    info.name or f"node {info.node_id}",
                    info.status == "online",
                    info.last_activated_at if info.status == "online" else info.last_deactivated_at,
                    info.public_key,
                    info.online_until - HEARTBEAT_PATIENCE * info.heartbeat_interval,
                )
                for info in infos
                if info.status != "unregistered"
            ),
            key=lambda node: node.name,
        )

    def register(self, public_key: bytes, name: str) -> bool:
        """Register a site's public key, PEM; False where it was registered already."""
        try:
            with self._explained():
                self._client.RegisterNode(RegisterNodeRequest(public_key=public_key, name=name))
        except RunFailedError as error:
            if _code(error) == _KEY_KNOWN:
                return False
            raise
        return True

    def unregister(self, node_id: int) -> None:
        """Forget a site: its key is refused from now on, and cannot be registered again."""
        with self._explained():
            self._client.UnregisterNode(UnregisterNodeRequest(node_id=node_id))

    def start(self, fab: bytes, digest: str, config: Mapping[str, Any]) -> int:
        """Start a run of an app bundle and return its id.

        Parameters
        ----------
        fab : bytes
            The bundle.
        digest : str
            Its SHA-256.
        config : mapping
            Values in place of the bundle's defaults.
        """
        request = StartRunRequest(
            fab=Fab(hash_str=digest, content=fab), override_config=user_config_to_proto(dict(config))
        )
        with self._explained():
            return int(self._client.StartRun(request).run_id)

    def runs(self, run_id: int | None = None) -> list[Run]:
        """Return all runs, or the one of an id; the latest first."""
        try:
            with self._explained():
                found = self._client.ListRuns(ListRunsRequest(run_id=run_id)).run_dict.values()
        except RunFailedError as error:
            if _code(error) == _RUN_UNKNOWN:
                return []
            raise
        runs = [
            Run(
                run.run_id,
                ":".join(filter(None, (run.status.status, run.status.sub_status))),
                run.status.details,
                user_config_from_proto(run.override_config),
                run.pending_at,
            )
            for run in found
        ]
        return sorted(runs, key=lambda run: run.pending_at, reverse=True)

    def stop(self, run_id: int) -> None:
        """Stop a run."""
        with self._explained():
            self._client.StopRun(StopRunRequest(run_id=run_id))

    def logs(self, run_id: int, after: float) -> Iterator[tuple[str, float]]:
        """Yield pieces of what the server app has printed since `after`, each with its time, until the run is over."""
        with self._explained():
            for piece in self._client.StreamLogs(StreamLogsRequest(run_id=run_id, after_timestamp=after)):
                yield piece.log_output, piece.latest_timestamp

    @contextmanager
    def _explained(self) -> Iterator[None]:
        """Turn failures of the connection, and refusals, into one sentence."""
        try:
            yield
        except httpx.HTTPStatusError as error:
            response = error.response
            if not response.is_closed:
                response.read()
            known = FlowerError.from_json(response.text)
            text = known.message if known else f"HTTP {response.status_code}"
            refused = RunFailedError(f"The SuperLink refused: {text}")
            raise refused from known
        except (httpx.HTTPError, ValueError) as error:  # a ValueError where an answer was cut off
            raise UnreachableError(_unreachable(self.address, self.ca, error)) from error


def _code(error: PFedGPError) -> int:
    return error.__cause__.code if isinstance(error.__cause__, FlowerError) else 0


def _unreachable(address: str, ca: Path | None, error: Exception) -> str:
    text = " ".join(str(error).split())
    if "CERTIFICATE_VERIFY_FAILED" in text:
        reason = re.search(r"certificate verify failed: ([^(]*)", text)
        why = reason[1].strip().rstrip(".") if reason else text
        return f"The server at {address} shows a certificate that {ca} does not vouch for ({why}): give its own ca.crt."
    if isinstance(error, httpx.ConnectError):
        remedy = "see whether it runs, and what its log says" if called_as() else "start it with pfedgp server"
        why = (text or "no connection") + _by_proxy(address)
        return f"The server at {address} does not answer ({why}): {remedy}."
    return f"The connection to the server at {address} broke ({text or type(error).__name__}): try again."


def _by_proxy(address: str) -> str:
    """Where a proxy of the environment stands between: which one, as the end of a reason."""
    host, proxies = address.rpartition(":")[0].strip("[]"), getproxies()
    proxy = proxies.get("https") or proxies.get("all")
    return f", through the proxy {urlsplit(proxy).hostname}" if proxy and not proxy_bypass(host) else ""
