"""Hostile or damaged files: whatever a file holds, a command ends with one sentence, and 2 for data and 1 for state.

See `harness` for how to run it; `scripts/fuzz_files.py` tries far more inputs.
"""

import os
import subprocess
import sys
from functools import partial
from pathlib import Path

from harness import REPOSITORY, case, main

from scripts.fuzzing import seeds
from tests.damaged import DEEP, DIGITS, ODD, SETTINGS, archives, ends, images, made_odd, odd_files, tables, unreadable

FIELD = Path(
    os.environ.get("PFEDGP_FIELD", REPOSITORY.parent / "shared" / "cases" / "field")
)  # inputs that went wrong once
# Inputs for each reader, some seconds each; a reader that loads a network is slower.
FUZZED = {
    **dict.fromkeys(("checkpoint", "checkpoint-json", "model", "split", "partition", "greeting", "server"), 3000),
    **dict.fromkeys(("model-json", "toml", "npz", "csv", "parquet", "image", "certificate", "key"), 1500),
    **dict.fromkeys(("site", "site-tensors", "report"), 150),
}


@case("a settings file with deep, endless, infinite or broken values ends with 2 and its name")
def _hostile_settings(folder: Path) -> str:
    os.chdir(folder)
    for name, content in SETTINGS.items():
        Path("s.toml").write_bytes(content)
        ends(["simulate", "--config", "s.toml", *([] if name == "null out" else ["--out", "out"])], 2)
    odd = [path for path in odd_files(folder / "odd", ".toml") if not path.name.startswith("empty")]
    for path in odd:
        ends(["simulate", "--config", str(path)], 2, path.name)
    return f"{len(SETTINGS) + len(odd)} files"


@case("check-data ends with 2 for arrays that lie, are locked, cut, bombs, objects, or no file at all")
def _hostile_arrays(folder: Path) -> str:
    return _checked(folder, "a.npz", archives())


@case("check-data ends with 2 for tables with null bytes, fields of megabytes, other encodings")
def _hostile_tables(folder: Path) -> str:
    return _checked(folder, "a.csv", tables() | {"200 MB": b"a,label\n" + b"1" * 200_000_000 + b",x\n"})


@case("check-data ends with 2 for images that are bombs, cut, or programs for other decoders")
def _hostile_images(folder: Path) -> str:
    (folder / "cat").mkdir()
    for content in images().values():
        (folder / "cat" / "1.png").write_bytes(content)
        ends(["check-data", str(folder)], 2, "1.png")
    return f"{len(images())} files"


def _checked(folder: Path, name: str, contents: dict[str, bytes]) -> str:
    for content in contents.values():
        (folder / name).write_bytes(content)
        ends(["check-data", str(folder / name)], 2, name)
    odd = list(odd_files(folder / "odd", Path(name).suffix))
    for path in odd:
        ends(["check-data", str(path)], 2, path.name)
    return f"{len(contents) + len(odd)} files"


@case("a model that is damaged ends check-data with 2")
def _damaged_model(folder: Path) -> None:
    whole = seeds.model(folder / "best")
    (folder / "a.csv").write_bytes(seeds.table())
    file = folder / "best" / "model.safetensors"
    for content in (b"", whole[:-9], whole[:9] + b"\xff" * 9 + whole[18:], DEEP.encode()):
        file.write_bytes(content)
        ends(["check-data", str(folder / "a.csv"), "--model", str(file.parent)], 2, file.name)


@case("a checkpoint that is damaged, a pipe, or a link to itself ends resume with 1 and its name")
def _damaged_checkpoint(folder: Path) -> None:
    from server.run.settings import dump_settings

    whole = seeds.checkpoint(folder)
    (folder / "config.toml").write_text(f'# engine: "simulation"\n{dump_settings(seeds.settings())}')
    file = folder / "checkpoints" / "round-000007.safetensors"
    for content in (b"", whole[:-9], whole.replace(b"sampled", b"sumpled"), DEEP.encode()):
        file.write_bytes(content)
        ends(["resume", str(folder)], 1, file.name)
    for kind in ODD:
        made_odd(file, kind)
        ends(["resume", str(folder)], 1, file.name)


@case("the folder of a run that is damaged ends report with 1 and the file's name")
def _damaged_run(folder: Path) -> None:
    files = seeds.run(folder / "run")
    for name in ("summary.json", "calibration.json", "metrics.jsonl"):
        for content in (f"{DEEP}\n{{}}\n", f'{{"round": {DIGITS}}}\n', '{"round": 1e999}\n', "\0\n\n"):
            (folder / "run" / name).write_text(content)
            ends(["report", str(folder / "run")], 1, name)
        (folder / "run" / name).write_bytes(files[name])
    ends(["report", str(folder / "run")], 0)


@case("a saved site that is damaged ends predict with 1 and its name")
def _damaged_site(folder: Path) -> None:
    import numpy as np

    seeds.site(folder / "site")
    np.savez(folder / "new.npz", x=np.zeros((2, 5)))
    command = ["predict", "--site", str(folder / "site"), "--data", str(folder / "new.npz"), "--out", "-"]
    ends(command, 0)
    for name in ("site.json", "site.safetensors"):
        kept = (folder / "site" / name).read_bytes()
        for content in (b"", kept[:-9], DEEP.encode(), b"\xff" * 99):
            (folder / "site" / name).write_bytes(content)
            ends(command, 1, str(folder / "site"))
        (folder / "site" / name).write_bytes(kept)


@case("keys and certificates of foreign kinds are named for what they are, with 2")
def _foreign_keys(folder: Path) -> None:
    ends(["certs", "--san", "localhost", "--client-names", "ward", "--make-keys", "--out", str(folder)], 0)
    kinds = seeds.keys()
    right = (folder / "ca.key").read_bytes()
    for kind in set(kinds) - {"pkcs8", "traditional", "rsa"}:  # these are refused as not the certificate's
        (folder / "ca.key").write_bytes(kinds[kind])
        ends(["certs", "--renew-server", "--out", str(folder)], 2, "ca.key")
    (folder / "ca.key").write_bytes(right)
    site = [
        "client",
        "--name",
        "ward",
        "--superlink",
        "localhost:9",
        "--ca",
        str(folder / "ca.crt"),
        "--data",
        "digits",
    ]
    for kind in set(kinds) - {"openssh"}:
        (folder / "key").write_bytes(kinds[kind])
        ends([*site, "--key", str(folder / "key")], 2, "--key .* none that Flower takes")


@case("a file or folder without rights ends with its name, and 2 for data and 1 for state")
def _no_rights(folder: Path) -> None:
    unreadable(folder)


@case("inputs from the field never end with a traceback or Unexpected")
def _field(_: Path) -> str:
    if not FIELD.is_dir():
        return "not tried, as their folder is not here"
    paths = [path for path in sorted(FIELD.iterdir()) if path.name != "README.md"]
    for path in paths:
        for options in ([], ["--regression"]):
            code = _field_code(["check-data", str(path), *options])
            assert code in (0, 2), f"{path.name} ends with {code}"
    return f"{len(paths)} inputs"


def _field_code(command: list[str]) -> int:
    try:
        ends(command, 0)
    except AssertionError as error:
        if "ended with 2" not in str(error):
            raise
        return 2
    return 0


def _fuzz(name: str, count: int, folder: Path) -> str:
    command = [sys.executable, str(REPOSITORY / "scripts" / "fuzz_files.py"), "--parser", name, "--count", str(count)]
    done = subprocess.run([*command, "--save", str(folder)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-1500:] + done.stderr[-500:]
    return done.stdout.splitlines()[0].split(name)[-1].strip()


for reader, inputs in FUZZED.items():
    case(f"damaged input for the reader {reader} ends in success or one sentence", 120)(partial(_fuzz, reader, inputs))


if __name__ == "__main__":
    sys.exit(main())
