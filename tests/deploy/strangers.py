"""Somebody without a registered key at the Fleet port: huge calls, calls signed with an own key, idle connections."""

import socket
import ssl
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import grpc
import psutil
from cryptography.hazmat.primitives.asymmetric import ec
from flwr.common.constant import PUBLIC_KEY_HEADER, SIGNATURE_HEADER, TIMESTAMP_HEADER
from flwr.supercore.primitives.asymmetric import public_key_to_bytes, sign_message

__all__ = ["Memory", "huge_calls", "idle_connections", "signed"]

MIB = 2**20


def signed(
    key: ec.EllipticCurvePrivateKey | None = None, when: datetime | None = None
) -> tuple[tuple[str, str | bytes], ...]:
    """The metadata of a call that is signed with a key, by default a new one, and now."""
    key = key or ec.generate_private_key(ec.SECP384R1())
    now = (when or datetime.now(UTC)).isoformat()
    return (
        (PUBLIC_KEY_HEADER, public_key_to_bytes(key.public_key())),
        (TIMESTAMP_HEADER, now),
        (SIGNATURE_HEADER, sign_message(key, now.encode("ascii"))),
    )


def huge_calls(superlink: str, ca: Path, size: int, count: int, metadata: Sequence[Any] = ()) -> list[str]:
    """Call ``PushObject`` `count` times at once with `size` bytes each; the status of each call."""
    content = bytes(size)
    credentials = grpc.ssl_channel_credentials(ca.read_bytes())
    options = (("grpc.max_send_message_length", -1),)

    def call(_: int) -> str:
        with grpc.secure_channel(superlink, credentials, options) as channel:
            try:
                channel.unary_unary("/flwr.proto.Fleet/PushObject")(content, metadata=metadata, timeout=60.0)
            except grpc.RpcError as error:
                return str(error.code().name)
        return "OK"

    with ThreadPoolExecutor(count) as pool:
        return list(pool.map(call, range(count)))


@contextmanager
def idle_connections(host: str, port: int, count: int, ca: Path) -> Iterator[list[ssl.SSLSocket]]:
    """Open connections that finish TLS and then say nothing; those that the server has let in."""
    context = ssl.create_default_context(cafile=str(ca))
    context.set_alpn_protocols(["h2"])
    with ExitStack() as stack:
        found = []
        for _ in range(count):
            with suppress(OSError):
                plain = stack.enter_context(socket.create_connection((host, port), timeout=10.0))
                wrapped = stack.enter_context(context.wrap_socket(plain, server_hostname="localhost"))
                wrapped.settimeout(10.0)
                if wrapped.recv(1):  # the server's own settings come first
                    found.append(wrapped)
        yield found


class Memory:
    """The memory of a process since this object was made.

    Parameters
    ----------
    pid : int
    """

    def __init__(self, pid: int) -> None:
        self._pid = pid
        with suppress(OSError):  # where the system does not let it, the peak of all its life is taken
            Path(f"/proc/{pid}/clear_refs").write_text("5")
        self._before = psutil.Process(pid).memory_info().rss

    def risen(self) -> float:
        """MiB by which the most memory that it has had meanwhile is above that at the beginning."""
        status = Path(f"/proc/{self._pid}/status").read_text()
        peak = next(int(line.split()[1]) * 1024 for line in status.splitlines() if line.startswith("VmHWM"))
        return (peak - self._before) / MIB
