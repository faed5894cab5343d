"""``config.toml`` of a run: all effective settings, and where the run comes from in comments."""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pfedgp_core.checks import text
from pfedgp_core.config import Settings
from pfedgp_core.files.json_file import parse_json
from pfedgp_core.files.regular import MalformedError, decoding, read_text
from pfedgp_core.files.state import kept
from server.run.json_text import to_json
from server.run.settings import dump_settings

__all__ = ["WITHOUT", "check_origin", "config_text", "read_origin"]

WITHOUT = "without"  # run info: clients without which a run goes on


def config_text(settings: Settings, run_info: Mapping[str, Any]) -> str:
    """Return the content of the file; it reads back with `settings` and `read_origin`.

    Parameters
    ----------
    settings : Settings
    run_info : mapping
        Values of JSON; ``data`` and ``repeat`` are those of the run's `Origin`, once it is known.
    """
    # As JSON, a value with line breaks stays on its line, where it cannot pass for a setting.
    origin = "".join(f"# {key}: {to_json(value, f'run info {key}')}\n" for key, value in run_info.items())
    data, repeat = (" ".join(str(run_info.get(key, "")).split()) for key in ("data", "repeat"))
    head = f"# Settings of a pFedGP run{' on ' if data else ''}{data}.\n"
    head += f"# Repeat it with: {repeat}\n" if repeat else ""
    return f"{head}{origin}\n{dump_settings(settings)}"


def read_origin(path: Path) -> dict[str, Any]:
    """Read back the run info that `config_text` wrote into the comments of ``config.toml``.

    Raises
    ------
    DamagedStateError
        The file cannot be read, or a comment of a run holds something else.
    """
    file, origin = path / "config.toml", {}
    with kept(file):
        for line in read_text(file).splitlines():
            if match := re.fullmatch(r"# ([a-z_]+): (.+)", line):
                try:
                    origin[match[1]] = parse_json(match[2])
                except MalformedError:
                    continue  # a comment of a person
        with decoding(file):
            return check_origin(origin)


def check_origin(origin: Any) -> dict[str, Any]:
    """The run info itself, if what a resumed run reads of it is what it should be; MalformedError otherwise."""
    if not isinstance(origin, dict):
        raise MalformedError("the run info is no object")
    outputs, resumed, without = origin.get("outputs", {}), origin.get("resumed", []), origin.get(WITHOUT, [])
    if not isinstance(outputs, dict) or not isinstance(resumed, list) or not isinstance(without, list):
        raise MalformedError(f"the run info is damaged in outputs, resumed or {WITHOUT}")
    try:
        for value in (origin.get("engine", ""), origin.get("run_id", ""), *outputs.values(), *without):
            text(value)
    except TypeError as error:
        raise MalformedError(f"a field of the run info {error}") from error
    return origin
