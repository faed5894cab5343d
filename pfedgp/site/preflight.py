"""A check of a site's data and device before it starts, in a process of its own to keep the supervisor small.

Started as ``python -P -m pfedgp.site.preflight REQUEST``; the answer is one line of JSON.
"""

import json
import subprocess
import sys
from typing import Any

from pfedgp.processes.output import write_anything
from pfedgp_core.errors import DataError, PFedGPError, RunFailedError

__all__ = ["is_builtin_data", "look", "main"]


def is_builtin_data(data: str, data_root: str, label_column: str, device: str, channels: str = "") -> bool:
    """Check that a site can work, and return whether its data are a built-in data set.

    Parameters
    ----------
    data : str
        Path of the site's data, or the name of a built-in data set; empty: check the device alone.
    data_root, label_column, device, channels : str
        As in the node config.

    Raises
    ------
    DataError
        The data cannot be used, or there is no such device.
    RunFailedError
        The check itself failed.
    """
    request = {
        "data": data,
        "data_root": data_root,
        "label_column": label_column,
        "device": device,
        "channels": channels,
    }
    done = subprocess.run(
        [sys.executable, "-P", "-m", "pfedgp.site.preflight", json.dumps(request)],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        encoding="utf-8",
        errors="replace",
        check=False,
    )
    try:
        answer = json.loads(done.stdout.splitlines()[-1])
    except (IndexError, ValueError):
        last = " ".join(done.stderr.split()[-40:]) or "no output"
        raise RunFailedError(
            f"The check of the data ended with exit code {done.returncode} ({last}): try pfedgp check-data {data}."
        ) from None
    if answer["error"]:
        raise DataError(answer["error"])
    return bool(answer["builtin"])


def look(request: dict[str, str]) -> dict[str, Any]:
    """Answer a request: ``error``, empty where all is well, and ``builtin``."""
    from pfedgp_core.data.own.reader import check_data
    from pfedgp_core.data.own.samples import Layout
    from pfedgp_core.devices import choose_device
    from pfedgp_core.registry import DATASETS

    data = request["data"]
    try:
        choose_device(request["device"])
        if data:
            report = check_data(
                data,
                label_column=request["label_column"],
                data_root=request["data_root"],
                layout=Layout(channels=request.get("channels", "")),
            )
            if not report.trainable:
                more = f"See all problems with: pfedgp check-data {data}"
                return {"error": f"{report.problems[0]} {more}", "builtin": False}
    except PFedGPError as error:
        return {"error": str(error), "builtin": False}
    return {"error": "", "builtin": data in DATASETS}


def main(arguments: list[str]) -> int:
    """Look, and print the answer."""
    write_anything()
    print(json.dumps(look(json.loads(arguments[0]))))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
