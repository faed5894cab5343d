"""The doctor's checks of its own machine, on either side: versions, disk, state folder, device, data."""

import os
import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from client.notices import NOTICE_FILE
from client.progress import PROGRESS_FILE
from pfedgp.doctor.fleet_call import FLOWER_SERIES
from pfedgp.doctor.problem import Check, Problem
from pfedgp.operator.state import is_network_file_system
from pfedgp_core.checks import printable
from pfedgp_core.errors import PolicyError, UnreadableFileError
from pfedgp_core.files.json_file import read_object
from pfedgp_core.files.lock import is_locked
from pfedgp_core.files.whole import resolved
from pfedgp_core.policy.ledger import Ledger
from pfedgp_core.policy.refusals import last_refusal
from pfedgp_core.policy.runs import Runs
from pfedgp_core.policy.site_policy import read_policy
from pfedgp_core.wire.notice import WORDS_LIMIT
from pfedgp_core.wire.versions import software_versions
from pfedgp_core.words import counted, size

if TYPE_CHECKING:
    from pfedgp_core.data.tables.choice import TableChoice

__all__ = ["check_client", "check_data_at", "check_device", "check_folder", "check_policy", "check_versions", "warning"]

LITTLE_SPACE, TOO_LITTLE_SPACE = 2_000_000_000, 200_000_000


def warning(code: str, sentence: str, remedy: str) -> Problem:
    """A problem that has not broken anything yet."""
    return Problem(code, sentence, remedy, lasting=False, warning=True)


def check_versions(elsewhere: str) -> Check:
    """Name the versions of this installation; `elsewhere` says what is known of the other side's."""
    versions = software_versions()
    fact = ", ".join(f"{name} {version}" for name, version in versions.items())
    problem = None
    if not versions["flwr"].startswith(FLOWER_SERIES):
        problem = warning(
            "flower-version",
            f"Flower {versions['flwr']} is installed, and pfedgp is made for {FLOWER_SERIES}x.",
            "Install pfedgp with the Flower that it asks for.",
        )
    return Check("versions", f"{fact}; {elsewhere}", problem)


def check_folder(folder: Path) -> Iterator[Check]:
    """See that a state folder can be written, has space and lies on a local disk."""
    place = folder
    while not place.exists() and place != place.parent:
        place = place.parent
    if not os.access(place, os.W_OK | os.X_OK) or not place.is_dir():
        problem = Problem(
            "state-not-writable",
            f"The state folder {folder} cannot be written by this user.",
            "Give it to the user that runs the program (chown), or name another folder with --state.",
            lasting=True,
        )
        yield Check("state", "", problem)
    elif kind := is_network_file_system(resolved(place)):
        problem = warning(
            "state-on-network",
            f"The state folder {folder} lies on {kind}, where locks and databases get lost.",
            "Use a folder on a local disk.",
        )
        yield Check("state", "", problem)
    else:
        yield Check("state", f"{folder} {'can be written' if place == folder else 'does not exist yet, can be made'}")
    yield _space(place)


def check_client(folder: Path) -> Iterator[Check]:
    """See whether a client runs on a site's state folder, and what it has done."""
    if is_locked(folder / "lock"):
        told = _read(folder / "client.json")
        state = "connected" if told.get("connected") else "not connected"
        mode = ", in Flower's own slow mode" if told.get("mode") == "stock" else ""
        yield Check("client", f"runs on this folder (process {told.get('supervisor', 'unknown')}), {state}{mode}")
    else:
        yield Check("client", "none runs on this folder at the moment")
    done = _read(folder / PROGRESS_FILE)
    if "round" in done:
        fact = f"last in round {done['round']} of run {done.get('run')}, at {done.get('time')}: {done.get('status')}"
        yield Check("progress", fact)
    else:
        yield Check("progress", "no round has been trained with this folder")
    yield check_policy(folder)
    told = _read(folder / NOTICE_FILE)
    if words := printable(str(told.get("words", "")), 2 * WORDS_LIMIT):
        yield _server_said(words, told, str(done.get("time", "")))


def check_policy(folder: Path) -> Check:
    """See whether a site has a policy that can be read, and what it refused last."""
    try:
        policy = read_policy(folder)
        if policy is None:
            return Check("policy", "none: this site answers every run of its server")
        runs, ledger = Runs.read(folder), Ledger.read(folder)
    except PolicyError as error:
        remedy = "Until then this site refuses everything; pfedgp policy shows what is in force."
        return Check("policy", "", Problem("policy", str(error), remedy, lasting=True))
    approved = f"{counted(len(runs.approved), 'run')} approved" if policy.runs == "approved" else "any run"
    fact = f"{approved}, {counted(sum(ledger.updates.values()), 'update')} left"
    if not (refusal := last_refusal(folder)):
        return Check("policy", fact)
    problem = warning(
        "policy-refused",
        f"The policy refused at {refusal['time']} ({refusal['kind']}): {refusal['reason']}",
        "Approve the run or change the policy, if this site is to take part.",
    )
    return Check("policy", fact, problem)


def _server_said(words: str, told: dict[str, Any], trained: str) -> Check:
    """The server's last words to a site, a problem where it has not been let in since; `trained` is its last round."""
    said = printable(str(told.get("time", "")), 40)
    fact = f"said at {said}, in run {printable(str(told.get('run')), 40)}: {words}"
    if not told.get("refused") or trained >= said:
        return Check("server", fact)
    problem = Problem(
        "refused",
        f"The server refused this site at {said}: {words}",
        "Mend what it names; the site is asked again every half minute as long as a run goes on.",
        lasting=True,
    )
    return Check("server", fact, problem)


def check_device(name: str) -> Check:
    """Find the device that a client would compute on, and its memory.

    Raises
    ------
    ConfigError
        There is no such device.
    """
    import torch

    from pfedgp_core.devices import choose_device

    device = choose_device(name)
    if device.type != "cuda":
        return Check("device", f"{device}, {os.cpu_count()} cores")
    free, total = torch.cuda.mem_get_info(device)
    problem = None
    if free < total / 10:
        problem = warning(
            "device-full",
            f"Only {size(free)} of the {size(total)} of {device} are free.",
            "End other programs that use it (nvidia-smi lists them), or give another --device.",
        )
    fact = f"{device}, {torch.cuda.get_device_name(device)}, {size(free)} of {size(total)} free"
    return Check("device", fact, problem)


def check_data_at(path: Path, label_column: str, choice: "TableChoice | None" = None) -> Check:
    """Summarise what ``pfedgp check-data`` says about a site's data; columns that need rules of a run are noted.

    Raises
    ------
    PFedGPError
        There are none that can be read.
    """
    from pfedgp_core.data.own.check_command import check_command
    from pfedgp_core.data.own.reader import check_data
    from pfedgp_core.data.own.samples import AS_TOLD
    from pfedgp_core.data.tables.choice import AS_NAMED

    layout = replace(AS_TOLD, choice=choice or AS_NAMED, rules=None)
    command = check_command(path, label_column, layout)
    report = check_data(path, label_column=label_column, layout=layout)
    parts = [
        f"{part.split or part.kind}: {counted(part.usable, 'sample')} of "
        f"{len(part.counts)} {'class' if len(part.counts) == 1 else 'classes'}"
        for part in report.splits
    ]
    problem = None
    if not report.trainable:
        remedy = f"See everything that is wrong with: {command}"
        problem = Problem("data", report.problems[0], remedy, lasting=True)
    elif report.remarks:
        problem = warning("data-remark", report.remarks[0], f"See everything with: {command}")
    return Check("data", f"{path}, {'; '.join(parts)}", problem)


def _space(place: Path) -> Check:
    free = shutil.disk_usage(place).free
    problem = None
    if free < LITTLE_SPACE:
        problem = Problem(
            "disk",
            f"Only {size(free)} are free on the disk of {place}.",
            "Make room there, or move the state folder to another disk.",
            lasting=True,
            warning=free >= TOO_LITTLE_SPACE,
        )
    return Check("disk", f"{size(free)} free", problem)


def _read(path: Path) -> dict[str, Any]:
    try:
        return read_object(path)
    except UnreadableFileError:
        return {}
