"""Trials of the readers of what a user gives: settings, data, keys, the folder of a run for its report."""

from collections.abc import Callable
from pathlib import Path

from scripts.fuzzing import mutations, seeds
from scripts.fuzzing.mutations import Mutation, changed_bytes, changed_json, changed_lines
from scripts.fuzzing.trial import Trial

__all__ = ["DATA_READERS"]


def _report(folder: Path) -> Trial:
    """One file of a run at a time; the first byte of an input says which."""
    from server.report.html.page import page
    from server.report.html.run_files import read_run
    from server.report.html.writer import figures, of_files

    files = seeds.run(folder / "run")
    names = sorted(files)

    def read(content: bytes) -> object:
        name = names[content[0] % len(names)]
        (folder / "run" / name).write_bytes(content[1:])
        try:
            with of_files(folder):
                run = read_run(folder / "run")
                return page(run), figures(run)
        finally:
            (folder / "run" / name).write_bytes(files[name])

    def of(change: Mutation) -> Mutation:
        return lambda rng, content: content[:1] + change(rng, content[1:])

    def as_json(rng, content):  # type: ignore[no-untyped-def]
        name = names[content[0]]
        if name.endswith(".json"):
            return content[:1] + changed_json(rng, content[1:])
        if name.endswith(".jsonl"):
            lines = content[1:].splitlines()
            at = rng.randrange(len(lines))
            return content[:1] + b"\n".join([*lines[:at], changed_json(rng, lines[at]), *lines[at + 1 :]]) + b"\n"
        return content[:1] + changed_lines(rng, content[1:])

    whole = [bytes([i]) + files[name] for i, name in enumerate(names)]
    return Trial(whole, (as_json, as_json, of(changed_bytes)), read)


def _toml(folder: Path) -> Trial:
    from pfedgp_core.config import Settings
    from server.outputs import Outputs
    from server.run.settings import dump_settings, read_settings_file

    def read(content: bytes) -> object:
        (folder / "settings.toml").write_bytes(content)
        flat = read_settings_file(folder / "settings.toml")
        Outputs.take(flat)
        return hash(Settings.from_run_config(flat))

    foreign = b'method = "my.module:Own"\n[own]\nrate = 1\n[gp]\njitter = 0.001\n'
    return Trial([dump_settings(Settings()).encode(), foreign], (changed_lines, changed_lines, changed_bytes), read)


def _data(name: str, whole: Callable[[], bytes], *changes: Mutation) -> Callable[[Path], Trial]:
    """A site's data in a file of this name."""

    def prepare(folder: Path) -> Trial:
        from pfedgp_core.data import samples  # which a reader would import within the time of an input
        from pfedgp_core.data.own.blocks import read_blocks
        from pfedgp_core.data.own.reader import check_data, read_samples

        assert samples.Split

        def read(content: bytes) -> object:
            (folder / name).write_bytes(content)
            report = check_data(folder / name, class_names=("cat", "dog"), input_shape=(1, 8, 8)).text()
            check_data(folder / name, regression=True).text()
            shape = read_samples(folder / name).inputs.shape[1:]
            for _ in read_blocks(folder / name, input_shape=shape, rows=3):
                pass
            return report

        return Trial([whole()], (*changes, changed_bytes), read)

    return prepare


def _image(folder: Path) -> Trial:
    from pfedgp_core.data.own.reader import check_data

    (folder / "cat").mkdir()

    def read(content: bytes) -> object:
        (folder / "cat" / "1.png").write_bytes(content)
        check_data(folder, input_shape=(1, 8, 8), resize=True).text()
        return check_data(folder).text()

    def within_png(rng, content):  # type: ignore[no-untyped-def]
        return (mutations.changed_png if content.startswith(b"\x89PNG") else changed_bytes)(rng, content)

    kinds = ("PNG", "PNG", "JPEG", "GIF", "BMP", "TIFF", "WEBP", "PPM")
    return Trial([seeds.image(kind) for kind in kinds], (within_png, changed_bytes), read)


def _certificate(folder: Path) -> Trial:
    from pfedgp.operator.authority import read_certificate, subject_names

    def read(content: bytes) -> object:
        (folder / "ca.crt").write_bytes(content)
        return subject_names(read_certificate(folder / "ca.crt"))

    return Trial([seeds.certificate()], (mutations.changed_pem, changed_bytes), read)


def _key(folder: Path) -> Trial:
    """A site's public key, a site's private key and the authority's, each by its reader."""
    from pfedgp_core.errors import PFedGPError
    from pfedgp_core.files import keys

    def read(content: bytes) -> object:
        (folder / "key").write_bytes(content)
        refused = None
        for reader in (keys.read_site_key, keys.read_public_key, keys.read_private_key):
            try:
                reader(folder / "key")
            except PFedGPError as error:
                refused = error
        return refused

    return Trial(list(seeds.keys().values()), (mutations.changed_pem, changed_bytes), read)


DATA_READERS: dict[str, Callable[[Path], Trial]] = {
    "report": _report,
    "toml": _toml,
    "npz": _data("data.npz", seeds.npz, mutations.changed_npz, mutations.changed_npz),
    "csv": _data("data.csv", seeds.table, changed_lines),
    "parquet": _data("data.parquet", seeds.parquet),
    "image": _image,
    "certificate": _certificate,
    "key": _key,
}
