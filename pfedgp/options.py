"""Options that several verbs share: settings, the folder of a run, numbers of processes, and checks before a start."""

import argparse
import time
from pathlib import Path

from pfedgp.collecting import NAMED
from pfedgp.local.resources import ENGINES, Resources
from pfedgp_core.backbones import FrozenName, declared_backbones, is_frozen
from pfedgp_core.config import Settings
from pfedgp_core.config_text import describe
from pfedgp_core.errors import ConfigError
from pfedgp_core.presets import AUTO, PRESETS

__all__ = [
    "add_allow_network",
    "add_assignments",
    "add_backbone",
    "add_column_key",
    "add_preset",
    "add_resources",
    "add_settings",
    "check_simulation",
    "column_key",
    "pinned",
    "read_count",
    "read_resources",
    "read_whole",
    "require_backbone",
    "run_folder",
]


def add_settings(parser: argparse.ArgumentParser) -> None:
    """Declare the options for settings, which `pfedgp.collecting` reads; their help and defaults are those of these."""
    known = {key: (default, text) for key, default, text in describe()}
    for key in NAMED:
        default, text = known[key]
        metavar = "N" if isinstance(default, int) else {"data-root": "PATH", "wait-share": "SHARE"}.get(key, "NAME")
        shown = f"{text} (default: {default})" if default != "" else text
        # The values stay text here, so that every way to give a setting is read and refused by the same function.
        parser.add_argument(f"--{key}", metavar=metavar, help=shown.replace("%", "%%"))
    add_assignments(parser)
    add_backbone(parser)
    add_preset(parser)
    parser.add_argument(
        "--config", type=Path, metavar="FILE", help="TOML file of settings, such as a run's config.toml"
    )


def add_assignments(parser: argparse.ArgumentParser) -> None:
    """Declare ``--set KEY=VALUE``, which `pfedgp.collecting` reads."""
    parser.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="KEY=VALUE",
        dest="assignments",
        help="any setting, repeatable; see them all with: pfedgp settings",
    )


def add_preset(parser: argparse.ArgumentParser) -> None:
    """Declare ``--preset``, which `pfedgp.collecting` reads."""
    parser.add_argument(
        "--preset",
        metavar="NAME",
        help=f"settings below all that is given: {', '.join(PRESETS)} (default: {AUTO}); see them with: "
        "pfedgp settings --preset NAME",
    )


def add_resources(parser: argparse.ArgumentParser, prefix: str = "") -> None:
    """Declare the options for what a simulation runs on, which `read_resources` reads; `prefix` begins their help."""
    engines = " or ".join(ENGINES)
    for option, metavar, text in (
        ("--workers", "N", "processes that train clients (default: one a core)"),
        ("--gpus", "N", "GPUs that the workers share (default: 0, they compute on the CPU)"),
        ("--engine", "NAME", f"what runs the clients: {engines}, which is Flower's own (default: {ENGINES[0]})"),
        ("--cluster", "HOST:PORT", "engine ray: a Ray cluster of several machines"),
    ):
        parser.add_argument(option, metavar=metavar, help=prefix + text)


def add_backbone(parser: argparse.ArgumentParser) -> None:
    """Declare ``--backbone``, which `pfedgp.cli` hands to this process and its children."""
    parser.add_argument(
        "--backbone",
        action="append",
        default=[],
        metavar="NAME=FILE",
        help="weights of network = frozen:NAME on this machine: NAME=FILE of TorchScript, or NAME=ARCHITECTURE@FILE "
        "for an architecture of torchvision (repeatable)",
    )


def add_allow_network(parser: argparse.ArgumentParser) -> None:
    """Declare ``--allow-network`` and ``--backbone``: what a model of another machine names needs a word from here."""
    add_backbone(parser)
    parser.add_argument(
        "--allow-network",
        action="append",
        default=[],
        metavar="PATH",
        help="code that the model may name as its network: package.module:function, installed here (repeatable)",
    )


def add_column_key(parser: argparse.ArgumentParser) -> None:
    """Declare --column-key."""
    parser.add_argument(
        "--column-key",
        type=Path,
        metavar="FILE",
        help="key that all sites of the federation share: names of columns are known to the server as hashes under it",
    )


def column_key(args: argparse.Namespace) -> bytes:
    """The key in the file of --column-key, empty without it; ConfigError where it is none."""
    from pfedgp_core.files.column_key import read_column_key

    return b"" if args.column_key is None else read_column_key(args.column_key)


def run_folder(out: str, settings: Settings) -> Path:
    """Return the folder of the run, absolute: as asked for, or a new name below ``out/``."""
    if out:
        return Path(out).expanduser().absolute()
    # The data set's name is not checked yet, and must not lead out of the folder.
    name = "".join(c if c.isalnum() or c in "-_" else "-" for c in settings.run_name)
    stem = f"{name}-{time.strftime('%Y%m%d-%H%M%S')}"
    path = Path("out").absolute() / stem
    number = 2
    while path.exists():
        path = path.with_name(f"{stem}-{number}")
        number += 1
    return path


def pinned(settings: Settings, input_shape: tuple[int, ...] | None) -> Settings:
    """The settings with a frozen backbone's width and hash in the network's name; all others as they are.

    Raises
    ------
    ConfigError
        The backbone's file is not here or cannot be used, or the shape of its inputs is not known.
    """
    if not is_frozen(settings.network):
        return settings
    if input_shape is None and not FrozenName.parse(settings.network).sha256:
        raise ConfigError(
            f"network = {settings.network!r} needs the shape of the sites' inputs: give for example "
            "--set input-shape=3,224,224."
        )
    from pfedgp_core.model.frozen import pinned_name

    return settings.replace(network=pinned_name(settings.network, input_shape or ()))


def require_backbone(settings: Settings) -> None:
    """Raise ConfigError where a frozen backbone's file was not given, and the clients of a simulation need it here."""
    if is_frozen(settings.network) and (name := FrozenName.parse(settings.network).name) not in declared_backbones():
        raise ConfigError(
            f"network = {settings.network!r} needs the weights of its backbone here: start with --backbone "
            f"{name}=FILE, or {name}=ARCHITECTURE@FILE."
        )


def check_simulation(settings: Settings, folder: Path) -> Settings:
    """Find mistakes while they cost a second: data set, partition, network, folder, a missing accountant.

    Returns
    -------
    Settings
        As they are, with a frozen backbone `pinned`.

    Raises
    ------
    ConfigError, DataError, ArtefactError
        What is wrong, in one sentence.
    """
    from server.run.new_folder import check_new_folder

    check_new_folder(folder)  # before torch is imported, which takes most of the time of these checks
    from pfedgp_core.data.datasets import dataset_of
    from pfedgp_core.data.simulated import simulated_partition
    from pfedgp_core.learning.privacy import require_accountant
    from pfedgp_core.memory import MemoryLimit, require_memory
    from pfedgp_core.methods.make import find_method
    from pfedgp_core.model.needs import model_needs
    from pfedgp_core.model.network import build_network

    require_accountant(settings)
    require_backbone(settings)
    find_method(settings)
    dataset = dataset_of(settings)
    simulated_partition(settings)
    needs = model_needs(settings, dataset.input_shape, len(dataset.class_names), copies=3)
    require_memory(needs, MemoryLimit.of_machine())
    settings = pinned(settings, dataset.input_shape)
    build_network(settings.network, dataset.input_shape, settings.feature_dim)
    return settings


def read_whole(text: str, option: str, high: int) -> int:
    """The whole number from 1 to `high` that an option gives; ConfigError where it is none."""
    if not text.isdecimal() or not 1 <= int(text) <= high:
        raise ConfigError(f"{option} {text!r} is not a whole number from 1 to {high}.")
    return int(text)


def read_resources(args: argparse.Namespace) -> Resources:
    """What a simulation runs on, as the options of `add_resources` say.

    Raises
    ------
    ConfigError
        A number that is none, or whatever `Resources` refuses.
    """
    given = {name: getattr(args, name) for name in ("engine", "cluster") if getattr(args, name) is not None}
    return Resources(read_count("--workers", args.workers, 1), read_count("--gpus", args.gpus, 0) or 0, **given)


def read_count(option: str, text: str | None, low: int) -> int | None:
    """The whole number that an option gives; ConfigError where it is none."""
    if text is None:
        return None
    if not text.isdecimal() or int(text) < low:
        kind = "a positive integer" if low else "0 or a positive integer"
        raise ConfigError(f"{option} {text!r} is not {kind}; give for example {option} 2.")
    return int(text)
