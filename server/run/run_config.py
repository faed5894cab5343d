"""``config.toml`` of a run: all effective settings, and where the run comes from in comments."""

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pfedgp_core.config import Settings
from pfedgp_core.errors import ArtefactError
from server.run.json_text import to_json
from server.run.settings import dump_settings

__all__ = ["config_text", "read_origin"]


def config_text(settings: Settings, run_info: Mapping[str, Any]) -> str:
    """Return the content of the file; it reads back with `settings` and `read_origin`."""
    # As JSON, a value with line breaks stays on its line, where it cannot pass for a setting.
    origin = "".join(f"# {key}: {to_json(value, f'run info {key}')}\n" for key, value in run_info.items())
    head = "# Settings of a pFedGP run. Repeat it with: pfedgp simulate --config THIS_FILE\n"
    return f"{head}{origin}\n{dump_settings(settings)}"


def read_origin(path: Path) -> dict[str, Any]:
    """Read back the run info that `config_text` wrote into the comments of ``config.toml``.

    Raises
    ------
    ArtefactError
        The file cannot be read.
    """
    file, origin = path / "config.toml", {}
    try:
        lines = file.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise ArtefactError(f"Cannot read {file} ({error}): give the folder of a run.") from error
    for line in lines:
        if match := re.fullmatch(r"# ([a-z_]+): (.+)", line):
            try:
                origin[match[1]] = json.loads(match[2])
            except ValueError:
                continue  # a comment of a person
    return origin
