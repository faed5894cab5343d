"""Certificates of a run: what the sites' own ``pfedgp certify --json`` printed, collected in the run's folder."""

import hashlib
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pfedgp_core.errors import ArtefactError, ConfigError, UnreadableFileError
from pfedgp_core.files.json_file import read_object
from server.report.html.run_files import read_run
from server.run.files import write_whole
from server.run.model_file import load_model

__all__ = ["add_certificates"]


def add_certificates(run: Path, files: Sequence[Path]) -> None:
    """Put certificates into the run's ``certificates.json``, beside those that are there; equal ones are kept once.

    An earlier certificate of the same site stays: each spends its own delta, so none may be left out afterwards.

    Parameters
    ----------
    run : Path
    files : sequence of Path
        Each the output of ``pfedgp certify --json``.

    Raises
    ------
    ArtefactError
        There is no such run or file, or the file holds something else.
    ConfigError
        A certificate of a classifier that stands on another model.
    """
    known = read_run(run).certificates
    folders = [run / which for which in ("best", "final") if (run / which).is_dir()]
    models = {hashlib.sha256(load_model(folder)[0].tobytes()).hexdigest() for folder in folders}
    for file in files:
        found = _read(file)
        if found["model_sha256"] not in models:
            raise ConfigError(
                f"{file} is about the model {str(found['model_sha256'])[:12]}, which is neither the best nor the final "
                f"model of {run}: give the certificates of this run's sites."
            )
        if found not in known:
            known.append(found)
    write_whole(run / "certificates.json", json.dumps(known, indent=2, ensure_ascii=False) + "\n")


def _read(file: Path) -> dict[str, Any]:
    try:
        found = read_object(file.expanduser())
    except UnreadableFileError as error:
        raise ArtefactError(
            f"{file} is no certificate ({error.reason}): give a file that pfedgp certify --json has printed."
        ) from error
    if not {"site", "method", "deployed", "model_sha256"} <= found.keys():
        raise ArtefactError(f"{file} is no certificate: give a file that pfedgp certify --json has printed.")
    return found
