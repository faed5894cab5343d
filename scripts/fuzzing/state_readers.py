"""Trials of the readers of what pFedGP keeps: checkpoints, models, sites, splits, partitions, greetings."""

import hashlib
import json
from collections.abc import Callable
from pathlib import Path

from scripts.fuzzing import mutations, seeds
from scripts.fuzzing.mutations import changed_bytes, changed_json
from scripts.fuzzing.trial import Trial

__all__ = ["STATE_READERS"]


def _checkpoint(folder: Path) -> Trial:
    whole, file = seeds.checkpoint(folder), folder / "checkpoints" / "round-000007.safetensors"

    def read(content: bytes) -> object:
        file.write_bytes(content)
        return _resumed(folder)

    return Trial([whole], (changed_bytes, mutations.changed_tensors), read)


def _checkpoint_json(folder: Path) -> Trial:
    """What the header says, sealed again."""
    from safetensors.numpy import load, save

    from server.run.checkpoint import _checksum

    whole, file = seeds.checkpoint(folder), folder / "checkpoints" / "round-000007.safetensors"
    length, tensors = int.from_bytes(whole[:8], "little"), load(whole)
    text = json.loads(whole[8 : 8 + length])["__metadata__"]["checkpoint"]

    def read(content: bytes) -> object:
        written = content.decode()
        file.write_bytes(save(tensors, metadata={"checkpoint": written, "sha256": _checksum(written, tensors)}))
        return _resumed(folder)

    return Trial([text.encode()], (changed_json,), read)


def _resumed(folder: Path) -> object:
    from server.clients.roster import Roster
    from server.run.checkpoint import newest_checkpoint

    found = newest_checkpoint(folder)
    if found is not None:
        Roster(found.settings).adopt_state(found.roster)
    return found


def _model(folder: Path) -> Trial:
    from server.run.model_file import MODEL_FILE, load_model

    whole = seeds.model(folder)

    def read(content: bytes) -> object:
        (folder / MODEL_FILE).write_bytes(content)
        return load_model(folder)

    return Trial([whole], (changed_bytes, mutations.changed_tensors), read)


def _model_json(folder: Path) -> Trial:
    from pfedgp_core.data.datasets import load_dataset
    from pfedgp_core.site.trained_model import TrainedModel
    from server.run.model_file import load_model

    seeds.model(folder)
    load_dataset("digits")  # of a model that does not hold its normalisation; the first call imports much
    vector, meta = load_model(folder)

    def read(content: bytes) -> object:
        from pfedgp_core.files.json_file import parse_object
        from pfedgp_core.files.regular import decoding

        with decoding(folder):
            about = parse_object(content)
        return TrainedModel.from_artefact(vector, about)

    return Trial([json.dumps(meta).encode()], (changed_json, changed_bytes), read)


def _site(folder: Path) -> Trial:
    """The description, sealed again where it is JSON."""
    from pfedgp_core.site.saved import SavedSite
    from pfedgp_core.site.site_files import DESCRIPTION, checksum

    description, _ = seeds.site(folder)

    def read(content: bytes) -> object:
        try:
            about = json.loads(content)
            about.pop("checksum", None)
            content = json.dumps(about | {"checksum": checksum(about)}).encode()
        except (ValueError, TypeError, AttributeError, RecursionError):
            pass
        (folder / DESCRIPTION).write_bytes(content)
        return SavedSite.load(folder)

    return Trial([description], (changed_json, changed_json, changed_bytes), read)


def _site_tensors(folder: Path) -> Trial:
    """The tensors, sealed again."""
    from pfedgp_core.site.saved import SavedSite
    from pfedgp_core.site.site_files import DESCRIPTION, TENSORS, checksum

    description, tensors = seeds.site(folder)
    about = json.loads(description)
    about.pop("checksum")

    def read(content: bytes) -> object:
        (folder / TENSORS).write_bytes(content)
        sealed = about | {"tensors_sha256": hashlib.sha256(content).hexdigest()}
        (folder / DESCRIPTION).write_text(json.dumps(sealed | {"checksum": checksum(sealed)}))
        return SavedSite.load(folder)

    return Trial([tensors], (changed_bytes, mutations.changed_tensors), read)


def _split(folder: Path) -> Trial:
    from pfedgp_core.data.own.kept_split import keep_split
    from pfedgp_core.data.own.split_file import _checksum

    file = folder / "split.json"
    whole = seeds.split(file)

    def read(content: bytes) -> object:
        try:
            about = json.loads(content)
            sealed = {key: about[key] for key in ("samples", "groups") if key in about}
            content = json.dumps(about | {"sha256": _checksum(sealed, about["schema_version"])}).encode()
        except (ValueError, TypeError, KeyError, RecursionError):
            pass
        file.write_bytes(content)
        return keep_split(file, ["00" * 32, "ff" * 32], ["cat", "dog"])

    return Trial([whole], (changed_json, changed_bytes), read)


def _partition(folder: Path) -> Trial:
    from pfedgp_core.data.partitions.base import Partition
    from pfedgp_core.files.regular import decoding

    def read(content: bytes) -> object:
        with decoding(folder):
            text = content.decode()
        try:
            about = json.loads(text)
            own = {key: about[key] for key in ("client_names", "classes", "fractions", "indices")}
            sealed = json.dumps(own, sort_keys=True, separators=(",", ":"))
            text = json.dumps(about | {"hash": hashlib.sha256(sealed.encode()).hexdigest()})
        except (ValueError, TypeError, KeyError, RecursionError):
            pass
        return Partition.from_json(text)

    return Trial([seeds.partition()], (changed_json, changed_bytes), read)


def _greeting(_: Path) -> Trial:
    from pfedgp_core.wire.hello import Hello

    def read(content: bytes) -> object:
        return Hello.from_wire({"hello": content.decode("utf-8", "replace")}, {})

    return Trial([seeds.greeting()], (changed_json, changed_bytes), read)


def _server(folder: Path) -> Trial:
    from pfedgp.operator.state import ServerState

    record = {"fleet_address": "0.0.0.0:9092", "control_address": "127.0.0.1:8000", "certs": "certs", "ca": "ca.crt"}
    record |= {"started": "2026-01-01T00:00:00+00:00", "versions": {"flwr": "1.39"}, "processes": {"superlink": 7}}  # type: ignore[dict-item]

    def read(content: bytes) -> object:
        (folder / "server.json").write_bytes(content)
        return ServerState(folder).start_command()

    return Trial([json.dumps(record).encode()], (changed_json, changed_bytes), read)


STATE_READERS: dict[str, Callable[[Path], Trial]] = {
    "checkpoint": _checkpoint,
    "checkpoint-json": _checkpoint_json,
    "model": _model,
    "model-json": _model_json,
    "site": _site,
    "site-tensors": _site_tensors,
    "split": _split,
    "partition": _partition,
    "greeting": _greeting,
    "server": _server,
}
