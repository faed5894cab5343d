"""A check of a site's data and device before it starts, in a process of its own to keep the supervisor small.

Started as ``python -P -m pfedgp.site.preflight REQUEST``; the answer is one line of JSON.
"""

import json
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, NamedTuple

from pfedgp.processes.output import write_anything
from pfedgp_core.errors import DataError, PFedGPError, RunFailedError

__all__ = ["Look", "check_site", "look", "main"]

NOTES = 10  # that the site's log gets


class Look(NamedTuple):
    """What was seen of a site that can work: whether its data are a built-in data set, and notes on them."""

    builtin: bool
    notes: tuple[str, ...]


def check_site(config: Mapping[str, str]) -> Look:
    """Check that a site can work.

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
    return Look(bool(answer["builtin"]), tuple(answer["notes"]))


def look(request: dict[str, str]) -> dict[str, Any]:
    """Answer a request, which is a node config: ``error``, empty where all is well, ``builtin`` and ``notes``.

    Columns of texts and gaps are no errors here: a federation may have rules for them.
    """
    from pfedgp_core.data.own.check_command import check_command
    from pfedgp_core.data.own.layout import layout_of
    from pfedgp_core.data.own.reader import check_data
    from pfedgp_core.devices import choose_device
    from pfedgp_core.registry import DATASETS

    data = request.get("data-path", "")
    notes: list[str] = []
    try:
        choose_device(request.get("device", "auto"))
        if data:
            label, layout = request.get("label-column", "label"), replace(layout_of(request), rules=None)
            report = check_data(data, label_column=label, data_root=request.get("data-root", ""), layout=layout)
            command = check_command(data, label, layout)
            if not report.trainable:
                more = f"See all problems with: {command}"
                return {"error": f"{report.problems[0]} {more}", "builtin": False, "notes": []}
            notes = list(report.remarks[:NOTES])
            if len(report.remarks) > NOTES:
                notes.append(f"{len(report.remarks) - NOTES} more notes: see {command}")
    except PFedGPError as error:
        return {"error": str(error), "builtin": False, "notes": []}
    return {"error": "", "builtin": data in DATASETS, "notes": notes}


def main(arguments: list[str]) -> int:
    """Look, and print the answer."""
    write_anything()
    print(json.dumps(look(json.loads(arguments[0]))))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
