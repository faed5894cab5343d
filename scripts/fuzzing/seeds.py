"""Whole files of every kind that pFedGP reads, small and made here, from which damaged ones are made."""

import base64
import io
import json
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from pfedgp_core.config import Settings
from pfedgp_core.data.spec import DataSpec

__all__ = ["certificate", "checkpoint", "image", "keys", "model", "npz", "parquet", "run", "site", "split", "table"]

SPEC = DataSpec(("cat", "dog"), (5,), (0.0,) * 5, (1.0,) * 5)
HELLO: dict[str, Any] = {
    "name": "ward-3",
    "classes": [0, 1],
    "class_names": ["cat", "dog"],
    "n_train": 30,
    "n_validation": 10,
    "n_test": 10,
    "input_shape": [5],
    "partition_hash": "",
    "versions": {"pfedgp": "0.2"},
    "mean": [0.0] * 5,
    "std": [1.0] * 5,
}
RECORD: dict[str, Any] = {
    "round": 7,
    "sampled": ["ward-3"],
    "ok": 1,
    "failed": {},
    "train_loss": 0.1,
    "update_norm": 0.2,
    "validation_failed": {},
    "best": False,
    "counters": {"jitter": 1},
    "bytes_sent": 10,
    "bytes_received": 10,
    "seconds": {"round": 1.0, "train": 0.5, "evaluate": 0.1, "network": 0.1, "gp": 0.1},
}


def settings() -> Settings:
    """Settings of a small network on five features."""
    return Settings(network="mlp", feature_dim=8, clients=5, clients_per_round=2)


def checkpoint(run_folder: Path) -> bytes:
    """A checkpoint's file."""
    from server.run.checkpoint import Checkpoint, Model, write_checkpoint

    state = {"spec": SPEC.to_json(), "clients": [{"hello": HELLO, "trained_in": [1, 7], "key": "", "online": True}]}
    run_folder.mkdir(parents=True, exist_ok=True)
    current, best = (Model(np.full(6, value, np.float32), 7, {"accuracy": 0.5}) for value in (0.5, 1.5))
    about = {"engine": "simulation", "run_id": "1", "outputs": {"prometheus": ""}, "resumed": []}
    made = Checkpoint(7, settings(), SPEC, state, current, best, [{"ward-3": "no reply"}], 6, RECORD, about, 12.5)
    write_checkpoint(run_folder, made)
    return (run_folder / "checkpoints" / "round-000007.safetensors").read_bytes()


@cache
def _trained() -> Any:
    from pfedgp_core.model.shared import SharedState
    from pfedgp_core.site.trained_model import TrainedModel

    vector = SharedState.initial(settings(), (5,), 2).to_vector()
    return TrainedModel(vector, settings(), ("cat", "dog"), (5,), np.zeros(5, np.float32), np.ones(5, np.float32))


def model(folder: Path) -> bytes:
    """The file of a model of a run."""
    from server.run.model_file import MODEL_FILE, save_model

    trained = _trained()
    meta = {
        "round": 3,
        "class_names": ["cat", "dog"],
        "input_shape": [5],
        "normalisation": {"mean": [0.0] * 5, "std": [1.0] * 5},
        "clients": ["ward-3"],
        "settings": settings().to_run_config(),
        "temperature": 1.5,
    }
    folder.mkdir(parents=True, exist_ok=True)
    save_model(folder, trained.vector, meta)
    return (folder / MODEL_FILE).read_bytes()


def site(folder: Path) -> tuple[bytes, bytes]:
    """Description and tensors of a saved site."""
    from pfedgp_core.data.samples import Split
    from pfedgp_core.site.samples import SiteSamples
    from pfedgp_core.site.saved import SavedSite
    from pfedgp_core.site.site_files import DESCRIPTION, TENSORS

    labels = np.arange(12, dtype=np.int64) % 2
    inputs = np.random.default_rng(0).normal(size=(12, 5)).astype(np.float32)
    SavedSite.fit("ward", _trained(), SiteSamples.compute(Split(inputs, labels), _trained())).save(folder)
    return (folder / DESCRIPTION).read_bytes(), (folder / TENSORS).read_bytes()


def split(file: Path) -> bytes:
    """The kept split of a site's data."""
    from pfedgp_core.data.own.kept_split import keep_split

    keep_split(file, [f"{i:064x}" for i in range(20)], ["cat", "dog"] * 10)
    return file.read_bytes()


def partition() -> bytes:
    """A partition of a simulation."""
    from pfedgp_core.data.partitions.base import Partition, frozen

    rows = {"train": (frozen([0, 2]), frozen([1, 3])), "test": (frozen([0]), frozen([1]))}
    return Partition(("client-00", "client-01"), ((0,), (1,)), ((1.0,), (1.0,)), rows).to_json().encode()


def run(folder: Path) -> dict[str, bytes]:
    """The files of a run that a report reads, by name."""
    from tests.server.report.html.written_run import classification_run

    folder.parent.mkdir(parents=True, exist_ok=True)
    classification_run(folder)
    names = ("config.toml", "summary.json", "calibration.json", "metrics.jsonl", "clients.csv")
    return {name: (folder / name).read_bytes() for name in names}


def npz() -> bytes:
    """A site's data as arrays."""
    target = io.BytesIO()
    images = np.arange(4 * 64, dtype=np.uint8).reshape(4, 1, 8, 8)
    np.savez_compressed(target, images=images, labels=[0, 1, 0, 1], class_names=["cat", "dog"])
    return target.getvalue()


def table() -> bytes:
    """A site's data as CSV."""
    rows = [b"%d,%.1f,%s\n" % (i, i / 3, (b"cat", b"dog")[i % 2]) for i in range(12)]
    return b"age,blood pressure,label\n" + b"".join(rows)


def parquet() -> bytes:
    """The same as Parquet."""
    import pyarrow
    from pyarrow import parquet as files

    target = io.BytesIO()
    columns = {"age": list(range(12)), "pressure": [i / 3 for i in range(12)], "label": ["cat", "dog"] * 6}
    files.write_table(pyarrow.table(columns), target)
    return target.getvalue()


def image(kind: str) -> bytes:
    """An image of 8 x 8 pixels."""
    from PIL import Image

    target = io.BytesIO()
    pixels = np.arange(192, dtype=np.uint8).reshape(8, 8, 3)
    exif = Image.Exif()
    exif[0x0112] = 6
    Image.fromarray(pixels).save(target, kind, **({"exif": exif} if kind in ("JPEG", "PNG", "WEBP", "TIFF") else {}))
    return target.getvalue()


@cache
def certificate() -> bytes:
    """A certificate of an authority."""
    import tempfile

    from pfedgp.operator.authority import issue

    with tempfile.TemporaryDirectory() as folder:
        issue(Path(folder), ["localhost"], ["ward"])
        return (Path(folder) / "server.crt").read_bytes()


def keys() -> dict[str, bytes]:
    """Keys of right and foreign kinds, by what they are."""
    from cryptography.hazmat.primitives import serialization as forms
    from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa

    none = forms.NoEncryption()
    pem, openssh, pkcs8 = forms.Encoding.PEM, forms.PrivateFormat.OpenSSH, forms.PrivateFormat.PKCS8
    curve, edwards = ec.generate_private_key(ec.SECP384R1()), ed25519.Ed25519PrivateKey.generate()
    large = rsa.generate_private_key(65537, 2048)
    public = curve.public_key()
    return {
        "pkcs8": curve.private_bytes(pem, pkcs8, none),
        "openssh": curve.private_bytes(pem, openssh, none),
        "openssh-locked": locked_openssh(public),
        "pkcs8-locked": curve.private_bytes(pem, pkcs8, forms.BestAvailableEncryption(b"x")),
        "traditional": curve.private_bytes(pem, forms.PrivateFormat.TraditionalOpenSSL, none),
        "der": curve.private_bytes(forms.Encoding.DER, pkcs8, none),
        "ed25519": edwards.private_bytes(pem, pkcs8, none),
        "ed25519-openssh": edwards.private_bytes(pem, openssh, none),
        "rsa": large.private_bytes(pem, pkcs8, none),
        "rsa-openssh": large.private_bytes(pem, openssh, none),
        "public": public.public_bytes(forms.Encoding.OpenSSH, forms.PublicFormat.OpenSSH),
        "public-pem": public.public_bytes(pem, forms.PublicFormat.SubjectPublicKeyInfo),
        "rsa-public": large.public_key().public_bytes(forms.Encoding.OpenSSH, forms.PublicFormat.OpenSSH),
    }


def locked_openssh(public: Any) -> bytes:
    """A private key in OpenSSH's form with a passphrase that opens nothing; to make one takes a further library."""
    from cryptography.hazmat.primitives import serialization as forms

    def field(content: bytes) -> bytes:
        return len(content).to_bytes(4, "big") + content

    blob = base64.b64decode(public.public_bytes(forms.Encoding.OpenSSH, forms.PublicFormat.OpenSSH).split()[1])
    rounds = field(field(bytes(16)) + (16).to_bytes(4, "big"))
    head = b"openssh-key-v1\0" + field(b"aes256-ctr") + field(b"bcrypt") + rounds + (1).to_bytes(4, "big")
    body = base64.encodebytes(head + field(blob) + field(bytes(64)))
    return b"-----BEGIN OPENSSH PRIVATE KEY-----\n" + body + b"-----END OPENSSH PRIVATE KEY-----\n"


def greeting() -> bytes:
    """A site's greeting."""
    return json.dumps(HELLO).encode()
