"""What a server asks of a site with data of its own, and the node config of such a site."""

from pathlib import Path
from typing import Any

from flwr.app import ConfigRecord, Context, Message, RecordDict

from client.client_app import app
from pfedgp_core.config import Settings
from pfedgp_core.data.spec import DataSpec
from pfedgp_core.model.shared import SharedState
from server.flower.messages import Packed, request, request_config
from tests.federation_run import QUICK

__all__ = ["CLASSES", "OWN", "SPEC_OF_DIGITS", "THETA", "ask", "node"]

OWN = Settings(gp=QUICK)
CLASSES = tuple(f"d{i}" for i in range(4))
SPEC_OF_DIGITS = DataSpec(CLASSES, (1, 8, 8), (0.3,), (0.35,))
THETA = SharedState.initial(OWN, (1, 8, 8), 4).to_vector()


def node(path: Path | str, **more: Any) -> dict[str, Any]:
    return {"client-name": "ward-3", "data-path": str(path)} | {key.replace("_", "-"): v for key, v in more.items()}


def ask(
    kind: str, node_config: dict[str, Any], settings: Settings = OWN, spec: DataSpec | None = SPEC_OF_DIGITS
) -> Message:
    vector = None if kind == "query.hello" else Packed(THETA)
    config: ConfigRecord = request_config(settings, 1, spec=spec)
    return app(request(kind, 9, config, vector, 60.0), Context(7, 9, node_config, RecordDict(), {}))
