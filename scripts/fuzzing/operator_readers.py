"""A trial of the operator's page: a state folder in which every file holds what was changed."""

import json
from collections.abc import Callable
from pathlib import Path

from scripts.fuzzing.mutations import changed_bytes, changed_json
from scripts.fuzzing.seeds import RECORD
from scripts.fuzzing.trial import Trial

__all__ = ["OPERATOR_READERS"]

FILES = ("metrics.jsonl", "summary.json", "onboarded.json", "evaluation.json", "refusals.jsonl", "config.toml")
SUMMARY = {"status": "completed", "accuracy": 0.9, "mean_accuracy": 0.8, "clients": 3, "reason": "no site is left"}
SITES = [{"node": "1", "client": "ward-1", "outcome": "onboarded", "samples": 3}, {"node": "2", "error": "DataError"}]
PUBLISHED = {"status": "completed", "onboarded": 1, "failed": 1, "sites": SITES, "model": {"sha256": "ab"}}
REFUSED = {"time": "2026-01-01T00:00:00+00:00", "node": "7", "words": "refused: ward-3 has 4 columns", "lasting": True}
SERVER = {"control_address": "127.0.0.1:1", "fleet_address": "0.0.0.0:2", "ca": "ca.crt", "certs": "certs"}
SERVER |= {"started": "2026-01-01T00:00:00+00:00", "processes": {"superlink": 1}, "versions": {"flwr": "1.39.0"}}


def _dashboard(folder: Path) -> Trial:
    from prometheus_client.parser import text_string_to_metric_families

    from pfedgp.dashboard.metrics import exposition
    from pfedgp.dashboard.watch import Watch
    from pfedgp.operator.state import ServerState

    run = folder / "runs" / "first"
    run.mkdir(parents=True)
    watch = Watch(ServerState(folder))

    def read(content: bytes) -> object:
        for path in (*(run / name for name in FILES), folder / "server.json"):
            path.write_bytes(content)
        snapshot = watch.look()
        text = exposition(snapshot, watch.found).decode()
        return json.dumps(snapshot, allow_nan=False), list(text_string_to_metric_families(text))

    whole = [json.dumps(each).encode() + b"\n" for each in (RECORD, SUMMARY, PUBLISHED, REFUSED, SERVER)]
    return Trial(whole, (changed_bytes, changed_json), read)


OPERATOR_READERS: dict[str, Callable[[Path], Trial]] = {"dashboard": _dashboard}
