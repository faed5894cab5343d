"""Training again without a client: a new run's folder that begins with the last round before that client joined.

The checkpoint is one whose federation does not know the client yet: not its updates, and neither its share in classes,
normalisation, the choice of the best model or the noise of a running average. So the new run is the one of a federation
that the client never joined. A client that was there before round 1 has a share in all of that.
"""

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from pfedgp_core.errors import ArtefactError, ConfigError
from pfedgp_core.methods.make import find_method
from pfedgp_core.words import counted, few
from server.clients.roster_state import read_roster_state
from server.run.artefacts import RunFolder
from server.run.checkpoint import Checkpoint, newest_checkpoint, write_checkpoint
from server.run.claim import RunLock, is_claimed
from server.run.files import explained, write_whole
from server.run.joins import before_joins
from server.run.new_folder import check_new_folder
from server.run.releases import RELEASES
from server.run.resume import has_config
from server.run.run_config import WITHOUT

__all__ = ["begin_without"]

METRICS = "metrics.jsonl"
OF_THE_FORMER = ("run_id", "started", "resumed", "data", "repeat", "own_data")  # run info that the new run makes itself


def begin_without(run: Path, name: str, out: Path) -> Checkpoint:
    """Write the folder of a run without a client; resuming it trains the rounds that are left.

    Parameters
    ----------
    run : Path
        Folder of the former run, which stays as it is.
    name : str
        Of the client.
    out : Path
        Folder of the new run.

    Returns
    -------
    Checkpoint
        From which it goes on.

    Raises
    ------
    ConfigError
        The run has no such client, or its method keeps states at the clients.
    ArtefactError
        There is no run, or no checkpoint from before the client joined; `out` cannot be written or is not empty.
    """
    if not has_config(run):
        raise ArtefactError(f"There is no run in {run}: give the folder of a run, the one that holds config.toml.")
    if is_claimed(run):
        raise ArtefactError(f"The run in {run} still runs: wait for its end, or stop it first.")
    newest = newest_checkpoint(run)
    if newest is None:
        raise ArtefactError(f"The run in {run} has no checkpoint: start a new run without {name}.")
    _check(run, newest, name)
    former = next((kept for kept in before_joins(run) if name not in _clients(kept)), None)
    if former is None:
        raise ArtefactError(_nothing_kept(run, newest, name))
    check_new_folder(out)
    origin = {key: value for key, value in newest.run.items() if key not in OF_THE_FORMER}
    origin |= {
        WITHOUT: [*newest.run.get(WITHOUT, []), name],
        "begun_from": {"run": run.name, "run_id": str(newest.run.get("run_id", "")), "after_round": former.round},
    }
    with RunLock(out):
        folder = RunFolder.create(out, newest.settings, origin)
        with explained(out):
            _copy_lines(run / METRICS, out / METRICS, former.lines)
            _copy_lines(run / RELEASES, out / RELEASES)  # every answer of the former run has cost privacy
        write_checkpoint(out, replace(former, settings=newest.settings, run=folder.run_info))
    return former


def _check(run: Path, newest: Checkpoint, name: str) -> None:
    known = _clients(newest)
    if name not in known:
        raise ConfigError(f"The run in {run} has no client {name!r}: its clients are {few(sorted(known))}.")
    if find_method(newest.settings).keeps:
        raise ConfigError(
            f"Under method = {newest.settings.method!r} each site keeps a state of the last rounds alone, so no former "
            f"round can be trained again: start a new run without {name}."
        )


def _nothing_kept(run: Path, newest: Checkpoint, name: str) -> str:
    (client,) = (client for client in read_roster_state(newest.roster)[1] if client.name == name)
    rounds = f"It trained in {counted(len(client.trained_in), 'round')}"
    first = f", the first of them {client.trained_in[0]}. " if client.trained_in else ". "
    return (
        f"No checkpoint in {run} is from before {name} joined: it was there before round 1 and has a share in classes "
        f"and normalisation, or the run is of a former version. {rounds}{first}Start a new run without it: pfedgp "
        f"certs --remove {name}, then pfedgp run --config {run / 'config.toml'}."
    )


def _clients(checkpoint: Checkpoint) -> set[str]:
    return {client.name for client in read_roster_state(checkpoint.roster)[1]}


def _copy_lines(source: Path, target: Path, most: int | None = None) -> None:
    """The first lines of a file, all by default; nothing where it is not there."""
    if source.exists():
        lines: Iterable[bytes] = source.read_bytes().splitlines(keepends=True)[:most]
        write_whole(target, b"".join(lines))
