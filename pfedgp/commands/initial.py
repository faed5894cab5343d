"""``pfedgp initial``: the model before round 1 as a folder, which sites can onboard without any training."""

import argparse
import json
import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from pfedgp.collecting import collect_settings
from pfedgp.options import add_settings, pinned
from pfedgp_core.data.own.kinds import split_paths
from pfedgp_core.data.spec import class_list, parse_shape, union_of_classes
from pfedgp_core.data.value_range import BYTES
from pfedgp_core.errors import ArtefactError, ConfigError
from pfedgp_core.presets import ZERO_MEAN
from pfedgp_core.words import shape_text
from server.outputs import Outputs
from server.run.settings import read_settings_file

if TYPE_CHECKING:
    from pfedgp_core.config import Settings

__all__ = ["add_arguments", "main"]


class Inputs(NamedTuple):
    """What the model is for.

    Attributes
    ----------
    class_names : tuple of str
    shape : tuple of int
        Of one input.
    mean, std : numpy.ndarray, float32 [C] or [D]
    columns : tuple of str
        Of a table; empty for images.
    value_range : str
        Of images; empty for vectors.
    """

    class_names: tuple[str, ...]
    shape: tuple[int, ...]
    mean: np.ndarray
    std: np.ndarray
    columns: tuple[str, ...] = ()
    value_range: str = ""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of the verb."""
    add_settings(parser)
    parser.add_argument(
        "--data",
        type=Path,
        metavar="PATH",
        help="labelled data that give classes, shape and moments of the inputs",
    )
    for moment, text in (("mean", "mean"), ("std", "standard deviation")):
        parser.add_argument(
            f"--{moment}", metavar="X,X,X", help=f"in place of --data: {text} of each channel, of values from 0 to 1"
        )
    parser.add_argument("--out", type=Path, metavar="MODEL", required=True, help="folder that takes the model")
    parser.add_argument("--json", action="store_true", help="print JSON, for programs")


def main(args: argparse.Namespace) -> int:
    """Write the model; 0 once it is there."""
    out = args.out.expanduser()
    if out.exists():
        raise ArtefactError(f"{out} is there already: give --out a folder that does not exist yet.")
    flat = read_settings_file(args.config) if args.config else {}
    Outputs.take(flat)
    # No round trains a shared head here.
    named = vars(args) | {"preset": args.preset or flat.pop("preset", ZERO_MEAN)}
    settings = collect_settings(flat, named, args.assignments)
    import torch

    torch.set_num_threads(1)
    from pfedgp_core.methods.make import make_method, require_onboards
    from server.run.model_file import save_model

    require_onboards(settings, trusted=True)
    inputs = _of_data(args, settings) if args.data else _as_said(args, settings)
    settings = pinned(settings, inputs.shape)
    vector = make_method(settings, inputs.shape, len(inputs.class_names)).initial()
    save_model(out, vector, _meta(settings, inputs))
    found = {"format": "pfedgp-initial", "schema_version": 1, "model": str(out), "network": settings.network}
    found |= {"values": vector.size, "input_shape": list(inputs.shape), "class_names": list(inputs.class_names)}
    backbones = "".join(f" --backbone {shlex.quote(given)}" for given in args.backbone or ())
    text = (
        f"{out}: the model before round 1, {vector.size:,} values, network {settings.network}, inputs of shape "
        f"{shape_text(inputs.shape)}, {len(inputs.class_names)} classes\n"
        f"Onboard a site with: pfedgp onboard --model {shlex.quote(str(out))}{backbones} --data PATH --out SITE"
    )
    print(json.dumps(found, indent=2, ensure_ascii=False) if args.json else text)
    return 0


def _of_data(args: argparse.Namespace, settings: "Settings") -> Inputs:
    """Shape and moments of some data's training samples; their classes, where the settings have none."""
    from pfedgp_core.data.moments import input_statistics
    from pfedgp_core.data.own.reader import read_samples

    if args.mean is not None or args.std is not None:
        raise ConfigError("--mean and --std stand in place of --data: leave out the one or the others.")
    path, shape = args.data.expanduser(), parse_shape(settings.input_shape)
    samples = read_samples(
        path,
        input_shape=shape,
        resize=shape is not None,
        label_column=settings.label_column or "label",
        split="train" if split_paths(path) else None,
    )
    mean, std = input_statistics(samples.inputs)
    names = class_list(settings.class_names) or union_of_classes([samples.labels or ()])
    return Inputs(names, samples.inputs.shape[1:], mean, std, samples.columns, samples.value_range)


def _as_said(args: argparse.Namespace, settings: "Settings") -> Inputs:
    shape, names = parse_shape(settings.input_shape), class_list(settings.class_names)
    given = {"--set input-shape": shape, "--set class-names": names, "--mean": args.mean, "--std": args.std}
    if lacking := [option for option, value in given.items() if not value]:
        raise ConfigError(f"The model's inputs are not known: give --data PATH, or else {', '.join(lacking)}.")
    assert shape is not None
    mean, std = (_numbers(option, given[option], shape[0]) for option in ("--mean", "--std"))
    if (std <= 0).any():
        raise ConfigError(f"--std {args.std!r} has a number that is not positive: give the deviation of each channel.")
    return Inputs(names, shape, mean, std, value_range=BYTES if len(shape) == 3 else "")


def _numbers(option: str, text: Any, channels: int) -> np.ndarray:
    try:
        numbers = np.array([float(part) for part in str(text).split(",")], np.float32)
    except ValueError:
        numbers = np.empty(0, np.float32)
    if len(numbers) != channels or not np.isfinite(numbers).all():
        raise ConfigError(f"{option} {str(text)[:80]!r} is not {channels} numbers with commas between them.")
    return numbers


def _meta(settings: "Settings", inputs: Inputs) -> dict[str, Any]:
    from server.run.origin import OF_SIMULATIONS

    return {
        "round": 0,
        "class_names": list(inputs.class_names),
        "input_shape": list(inputs.shape),
        "normalisation": {"mean": inputs.mean.tolist(), "std": inputs.std.tolist()},
        **({"columns": list(inputs.columns)} if inputs.columns else {}),
        **({"value_range": inputs.value_range} if inputs.value_range else {}),
        "clients": [],
        "settings": {key: value for key, value in settings.to_run_config().items() if key not in OF_SIMULATIONS},
    }
