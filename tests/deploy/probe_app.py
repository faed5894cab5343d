"""A ServerApp for tests: sends the requests that it finds as files in a folder, and writes the replies beside them."""

import json
import time
from pathlib import Path

from flwr.app import Context
from flwr.serverapp import Grid, ServerApp

from pfedgp_core.config import Settings
from server.flower.messages import exchange, request, request_config
from server.flower.patches import guarded

app = ServerApp()


@app.main()
def main(grid: Grid, context: Context) -> None:
    """Serve until a file ``end`` appears."""
    grid = guarded(grid)
    folder = Path(str(context.run_config["folder"]))
    while not (folder / "end").exists():
        for path in sorted(folder.glob("*.request")):
            asked = json.loads(path.read_text())
            path.unlink()
            began = time.monotonic()
            config = request_config(
                Settings(clients=2, clients_per_round=2, classes_per_client=5), asked.get("round", 0)
            )
            message = request(asked["kind"], asked["node"], config, None, asked["timeout"])
            replies = list(exchange(grid, [message], asked["timeout"] + 2))
            answer = [
                {"code": reply.error.code, "reason": reply.error.reason} if reply.has_error() else {}
                for reply in replies
            ]
            partial = path.with_suffix(".partial")
            partial.write_text(json.dumps({"replies": answer, "seconds": time.monotonic() - began}))
            partial.rename(path.with_suffix(".reply"))
        time.sleep(0.05)
