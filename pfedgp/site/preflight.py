"""A check of a site's data and device before it starts, in a process of its own to keep the supervisor small.

Started as ``python -P -m pfedgp.site.preflight REQUEST``; the answer is one line of JSON.
"""

import json
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from pfedgp.processes.output import write_anything
from pfedgp_core.errors import DataError, PFedGPError, RunFailedError

__all__ = ["is_builtin_data", "look", "main"]


def is_builtin_data(config: Mapping[str, str]) -> bool:
    """Check that a site can work, and return whether its data are a built-in data set.

    Parameters
    ----------
    config : mapping
        The node config; without ``data-path`` the device alone is checked.

    Raises
    ------
    DataError
        The data cannot be used, or there is no such device.
    RunFailedError
        The check itself failed.
    """
    data = config.get("data-path", "")
    request = dict(config)
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
    """Answer a request, which is a node config: ``error``, empty where all is well, and ``builtin``.

    Columns of texts and gaps are no errors here: a federation may have rules for them.
    """
    from pfedgp_core.data.own.layout import layout_of
    from pfedgp_core.data.own.reader import check_data
    from pfedgp_core.devices import choose_device
    from pfedgp_core.registry import DATASETS

    data = request.get("data-path", "")
    try:
        choose_device(request.get("device", "auto"))
        if data:
            report = check_data(
                data,
                label_column=request.get("label-column", "label"),
                data_root=request.get("data-root", ""),
                layout=replace(layout_of(request), rules=None),
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
