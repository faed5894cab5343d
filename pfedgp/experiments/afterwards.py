"""What a program measures afterwards on the model of a run, written as a run: the end of all such programs."""

import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import torch

from pfedgp_core.config import Settings
from pfedgp_core.errors import PFedGPError
from pfedgp_core.files.json_file import read_object
from pfedgp_core.files.state import kept
from pfedgp_core.files.whole import explained, write_whole
from server.run.json_text import to_json
from server.run.settings import dump_settings, read_settings_file

__all__ = ["measure_afterwards"]


def measure_afterwards(
    run: Path, settings_file: Path, out: Path, measure: Callable[[Settings], Mapping[str, Any]]
) -> int:
    """Measure, and leave a folder as a completed run does; a failure is one sentence on stderr.

    Parameters
    ----------
    run : Path
        The completed run whose best model is measured; its rounds and costs count too.
    settings_file : Path
        Settings of the measurement.
    out : Path
        Gets ``config.toml``, an empty ``metrics.jsonl`` and a ``summary.json`` with what was measured.
    measure : callable

    Returns
    -------
    int
        The exit code: 0, or 1 after a failure.
    """
    torch.set_num_threads(1)
    began, spent = time.perf_counter(), time.process_time()
    try:
        settings = Settings.from_run_config(read_settings_file(settings_file))
        measured = measure(settings)
        cost = {"cpu_seconds": time.process_time() - spent, "seconds": time.perf_counter() - began}
        _write(out, settings, {**measured, **_of_the_run(run, cost)})
    except PFedGPError as error:
        print(f"pfedgp: {error}", file=sys.stderr)
        return 1
    return 0


def _of_the_run(run: Path, cost: Mapping[str, float]) -> dict[str, Any]:
    """What a summary says beside what was measured: that run's rounds, and its costs with `cost` added."""
    with kept(run):
        former = read_object(run / "summary.json")
    return {
        "status": "completed",
        **{key: former[key] for key in ("rounds", "best_round", "gradients", "bytes_sent", "bytes_received")},
        "partition_hash": former.get("partition_hash"),
        **{key: former[key] + seconds for key, seconds in cost.items()},
    }


def _write(out: Path, settings: Settings, summary: Mapping[str, Any]) -> None:
    """The settings last."""
    with explained(out):
        out.mkdir(parents=True, exist_ok=True)
    write_whole(out / "metrics.jsonl", "")
    write_whole(out / "summary.json", to_json(summary, "summary", indent=2) + "\n")
    write_whole(out / "config.toml", dump_settings(settings))
