"""Signed calls at the Fleet port that tell whether clock and key are accepted, and that change nothing.

Flower 1.39 looks at a call in this order: its signature (made with the key that the call itself names), the time that
was signed, the id of the node, and then what the call asks for. The two calls below are refused on the way:

* Pulling messages as the node 0 is refused because of the node's id, which no key belongs to. So it tells about the
  clock alone, for every key, and leaves no line in the server's log.
* Activating with a heartbeat interval of 0 s is refused because of the interval, but only after the key was looked up,
  and before anything is activated. So it tells whether the key is registered. (Should another version not refuse it,
  the node would count as connected for 0 s.) The server logs it as an error, with the public key.

The server tells only the node itself whether it is connected.
"""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from cryptography.hazmat.primitives.asymmetric import ec

from pfedgp.doctor.clock import AHEAD_LIMIT, BEHIND_LIMIT, clock_offset, duration
from pfedgp.doctor.problem import Check, Deadline, Problem, ProblemError
from pfedgp.doctor.reach import FLEET_PORT, Address
from pfedgp_core.files.pem import certificate_pem

__all__ = ["FLOWER_SERIES", "FleetCall", "fleet_call"]

FLOWER_SERIES = "1.39."
CALL_SECONDS = 5.0
FARTHEST_SHIFT = 26 * 3600.0  # a wrong time zone, and a wrong date of one day
UNKNOWN_KEY, KNOWN_KEY, OTHER_FLOWER = 2004, 2003, 1001
# A clock that is wrong by this much will sooner or later be refused.
AHEAD_WARNING, BEHIND_WARNING = 2.0, 60.0


@contextmanager
def fleet_call(
    address: Address, ca: Path | None, key: ec.EllipticCurvePrivateKey | None, deadline: Deadline
) -> Iterator["FleetCall"]:
    """Open a channel as a SuperNode does; without a key, calls are signed with an unknown one.

    Raises
    ------
    ProblemError
        The Flower that is installed here is not the one whose answers are understood.
    """
    import flwr

    if not flwr.__version__.startswith(FLOWER_SERIES):
        raise ProblemError(
            "flower-version",
            f"The Flower on this machine is {flwr.__version__}, so its connection cannot be checked any further.",
            f"Install pfedgp with the Flower that it asks for ({FLOWER_SERIES}x).",
        )
    from flwr.supercore.grpc import create_channel

    channel = create_channel(
        str(address), insecure=ca is None, root_certificates=None if ca is None else certificate_pem(ca)
    )
    try:
        yield FleetCall(channel, address, key or ec.generate_private_key(ec.SECP384R1()), deadline)
    finally:
        channel.close()


class FleetCall:
    """Signed calls on one channel."""

    def __init__(self, channel: Any, address: Address, key: ec.EllipticCurvePrivateKey, deadline: Deadline) -> None:
        from flwr.proto.fleet_pb2_grpc import FleetStub
        from flwr.supercore.primitives.asymmetric import public_key_to_bytes

        self._stub = FleetStub(channel)
        self._address, self._key, self._deadline = address, key, deadline
        self._public_key = public_key_to_bytes(key.public_key())

    def registered(self) -> bool:
        """Whether the server accepts the clock and knows the key.

        Raises
        ------
        ProblemError
            The server refuses the call for another reason, among them the clock.
        """
        from flwr.proto.fleet_pb2 import ActivateNodeRequest

        request = ActivateNodeRequest(public_key=self._public_key, heartbeat_interval=0.0)
        code, status, details = self._ask(self._stub.ActivateNode, request, 0.0)
        if _wrong_time(status, details):
            raise self._clock_problem()
        if code in (UNKNOWN_KEY, KNOWN_KEY):
            return code == KNOWN_KEY
        raise self._explained(code, status, details)

    def check_clock(self) -> Check:
        """Measure by how much the clock is off, within what the server accepts."""
        ahead = clock_offset(self._accepts, BEHIND_LIMIT)
        if ahead is None:
            raise self._clock_problem()
        off = f"{duration(abs(ahead))} {'ahead of' if ahead > 0 else 'behind'} the server's"
        if -BEHIND_WARNING <= ahead <= AHEAD_WARNING:
            return Check("clock", "agrees with the server's to 1 s" if abs(ahead) < 1 else off)
        problem = Problem(
            "clock-close",
            f"This machine's clock is {off}; Flower refuses one that is {AHEAD_LIMIT:.0f} s ahead "
            f"or {BEHIND_LIMIT:.0f} s behind.",
            "Turn on NTP on both sides.",
            lasting=False,
            warning=True,
        )
        return Check("clock", off, problem)

    def _accepts(self, shift: float) -> bool:
        from flwr.proto.fleet_pb2 import PullMessagesRequest
        from flwr.proto.node_pb2 import Node

        request = PullMessagesRequest(node=Node(node_id=0))
        code, status, details = self._ask(self._stub.PullMessages, request, shift)
        if status == "UNAUTHENTICATED":
            return not _wrong_time(status, details)
        raise self._explained(code, status, details)

    def _ask(self, method: Callable[..., Any], request: Any, shift: float) -> tuple[int | None, str, str]:
        """Make one call with a shifted time; return Flower's error code, gRPC's status and its details."""
        import grpc
        from flwr.common.constant import PUBLIC_KEY_HEADER, SIGNATURE_HEADER, TIMESTAMP_HEADER
        from flwr.supercore.error import FlowerError
        from flwr.supercore.primitives.asymmetric import sign_message
        from flwr.supercore.runtime_version_compatibility import RuntimeVersionMetadata

        signed = datetime.fromtimestamp(local_time() + shift, tz=UTC).isoformat()
        metadata = (
            (PUBLIC_KEY_HEADER, self._public_key),
            (TIMESTAMP_HEADER, signed),
            (SIGNATURE_HEADER, sign_message(self._key, signed.encode("ascii"))),
            *RuntimeVersionMetadata.from_local_component("SuperNode").as_metadata(),
        )
        try:
            method(request, metadata=metadata, timeout=self._deadline.left(CALL_SECONDS))
        except grpc.RpcError as error:
            told = FlowerError.from_json(error.details())
            if told is None:
                return None, error.code().name, error.details() or ""
            return told.code, error.code().name, told.public_details or told.message
        return KNOWN_KEY, "OK", ""

    def _clock_problem(self) -> ProblemError:
        ahead = clock_offset(self._accepts, FARTHEST_SHIFT, lambda: self._deadline.over)
        if ahead is None:
            off = "very different from the server's"
        else:
            off = f"{duration(abs(ahead))} {'ahead of' if ahead > 0 else 'behind'} the server's"
        return ProblemError(
            "clock",
            f"This machine's clock ({datetime.fromtimestamp(local_time(), tz=UTC):%Y-%m-%d %H:%M} UTC) is {off}; "
            f"the server accepts {AHEAD_LIMIT:.0f} s ahead and {BEHIND_LIMIT:.0f} s behind.",
            "Correct the clock that is wrong and keep it so: turn on NTP on both sides (timedatectl set-ntp true).",
            lasting=False,
        )

    def _explained(self, code: int | None, status: str, details: str) -> ProblemError:
        if code == OTHER_FLOWER:
            return ProblemError(
                "flower-version",
                f"The server runs another version of Flower: {details}",
                "Install the same version of pfedgp, with the Flower that it asks for, on both sides.",
            )
        if status == "UNIMPLEMENTED":
            return ProblemError(
                "not-fleet",
                f"{self._address} is not the Fleet port: it speaks gRPC, but not Flower's Fleet API.",
                f"Give the Fleet port ({FLEET_PORT} unless `pfedgp server --fleet-address` says otherwise).",
            )
        if status == "DEADLINE_EXCEEDED":
            return ProblemError(
                "unanswered",
                f"{self._address} accepts the connection but does not answer a call.",
                "Look at the server's log and load; a proxy on the way may also hold gRPC back.",
                lasting=False,
            )
        return ProblemError(
            "unexplained",
            f"{self._address} refused a call: {status}{details and ', ' + ' '.join(details.split())[:200]}.",
            "Look at the server's log; restart `pfedgp server` if it says nothing.",
            lasting=False,
        )


def local_time() -> float:
    """The time that calls are signed with, in seconds since 1970."""
    return time.time()


def _wrong_time(status: str, details: str) -> bool:
    return status == "UNAUTHENTICATED" and "timestamp" in details
