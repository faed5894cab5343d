"""The steps from an address to a TCP connection, and the one that fails: name, route, firewall or port."""

import errno
import socket
import threading
from typing import Any, NamedTuple

from pfedgp.doctor.problem import Deadline, ProblemError
from pfedgp.doctor.proxy import open_tunnel, proxy_for
from pfedgp.operator import addresses
from pfedgp_core.errors import ConfigError

__all__ = ["FLEET_PORT", "Address", "connect", "parse_address"]

FLEET_PORT = 9092
STEP_SECONDS = 5.0


class Address(NamedTuple):
    """Host and port."""

    host: str
    port: int

    def __str__(self) -> str:
        return addresses.join(self.host, self.port)


def parse_address(text: str) -> Address:
    """Read HOST:PORT; an IPv6 address stands in brackets.

    Raises
    ------
    ProblemError
        It is something else.
    """
    try:
        return Address(*addresses.parse_address(text, "address"))
    except ConfigError:
        raise ProblemError(
            "address",
            f"{text!r} is not an address.",
            f"Give HOST:PORT, such as fl.example.org:{FLEET_PORT}, without https:// and without a path.",
        ) from None


def connect(address: Address, deadline: Deadline) -> socket.socket:
    """Open a TCP connection the way gRPC would, through the environment's proxy if there is one.

    Raises
    ------
    ProblemError
        There is no connection, with the reason.
    """
    proxy = proxy_for(address.host)
    if proxy is None:
        return _connect(address, deadline)
    try:
        connection = _connect(Address(proxy.host, proxy.port), deadline)
    except ProblemError as error:
        raise ProblemError(
            "proxy",
            f"gRPC goes through the proxy {proxy}, which cannot be reached: {error.problem.sentence}",
            f"Correct the variable {proxy.variable}, or set no_grpc_proxy={address.host} to connect without the proxy.",
        ) from None
    open_tunnel(connection, proxy, address.host, address.port)
    return connection


def _connect(address: Address, deadline: Deadline) -> socket.socket:
    failure: OSError = OSError("no address")
    for family, kind, protocol, _, target in _resolve(address, deadline):
        connection = socket.socket(family, kind, protocol)
        connection.settimeout(deadline.left(STEP_SECONDS))
        try:
            connection.connect(target)
        except OSError as error:
            connection.close()
            failure = error
            continue
        connection.settimeout(deadline.left(STEP_SECONDS))
        return connection
    raise _explained(address, failure)


def _resolve(address: Address, deadline: Deadline) -> list[Any]:
    # The resolver has no time limit of its own, so it runs beside us.
    found: list[Any] = []
    failure: list[OSError] = []

    def ask() -> None:
        try:
            found.extend(socket.getaddrinfo(address.host, address.port, type=socket.SOCK_STREAM))
        except OSError as error:
            failure.append(error)
        except UnicodeError:
            failure.append(OSError("not a host name"))

    thread = threading.Thread(target=ask, daemon=True)
    thread.start()
    thread.join(deadline.left(STEP_SECONDS))
    if found:
        return found
    why = "the name server does not answer" if thread.is_alive() else str(failure[0].strerror or failure[0])
    raise ProblemError(
        "name",
        f"The name {address.host!r} cannot be resolved on this machine ({why}).",
        "Check its spelling and this machine's DNS, or enter it in /etc/hosts.",
        lasting=False,
    )


def _explained(address: Address, failure: OSError) -> ProblemError:
    if isinstance(failure, ConnectionRefusedError):
        return ProblemError(
            "refused",
            f"Nothing listens on {address}: the connection was refused.",
            f"Check the port (the Fleet port, {FLEET_PORT} unless `pfedgp server --fleet-address` says otherwise) "
            "and that `pfedgp server` is running there.",
            lasting=False,
        )
    if isinstance(failure, TimeoutError):
        return ProblemError(
            "unanswered",
            f"{address} does not answer: a firewall drops the connection, or the machine is off.",
            f"Have the firewalls on the way let TCP port {address.port} through, and check the address.",
            lasting=False,
        )
    name = errno.errorcode.get(failure.errno or 0, "")
    return ProblemError(
        "unreachable",
        f"There is no way to {address} from this machine ({failure.strerror or failure}{name and f', {name}'}).",
        "Check this machine's network, VPN and routes.",
        lasting=False,
    )
