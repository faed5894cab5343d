"""``pfedgp export-client``: the data of a simulated client as files, to try onboarding with them."""

import argparse
import difflib
import io
from pathlib import Path
from typing import TYPE_CHECKING

from pfedgp.collecting import collect_settings
from pfedgp_core.config_text import describe
from pfedgp_core.errors import ConfigError
from pfedgp_core.words import few
from server.outputs import Outputs
from server.run.settings import read_settings_file

if TYPE_CHECKING:
    from pfedgp_core.data.samples import Dataset, Split

__all__ = ["add_arguments", "main"]

_NAMED = (
    *("dataset", "data-root", "label-column", "group-column", "partition-by"),
    *("clients", "partition", "classes-per-client", "noise", "seed"),
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of the verb; those of the partition are the settings of a run."""
    known = {key: (default, text) for key, default, text in describe()}
    for key in _NAMED:
        default, text = known[key]
        shown = f"{text} (default: {default})" if default != "" else text
        parser.add_argument(f"--{key}", metavar="N" if isinstance(default, int) else "NAME", help=shown)
    parser.add_argument("--config", type=Path, metavar="FILE", help="a run's config.toml: its data set and partition")
    parser.add_argument("--client", metavar="NAME", required=True, help="which client, for example client-18")
    parser.add_argument("--out", type=Path, metavar="FOLDER", required=True, help="folder to make for the files")


def main(args: argparse.Namespace) -> int:
    """Write train.npz, validation.npz and test.npz; 0 once all are there."""
    flat = read_settings_file(args.config) if args.config else {}
    Outputs.take(flat)
    # They have no part in who holds what, and must not stand in the way of a small number of clients.
    flat |= {"clients-per-round": 1, "min-results": 1, "aggregation": "uniform"}
    settings = collect_settings(flat, vars(args), [])

    from pfedgp_core.data.datasets import client_splits, dataset_of
    from pfedgp_core.data.simulated import simulated_partition
    from pfedgp_core.files.folder import write_folder

    dataset = dataset_of(settings)
    partition = simulated_partition(settings)
    names = partition.client_names
    if args.client not in names:
        near = difflib.get_close_matches(args.client, names, n=1)
        hint = f"did you mean {near[0]!r}?" if near else f"the clients are {names[0]} to {names[-1]}."
        raise ConfigError(f"--client {args.client!r} is not in the federation: {hint}")
    index = names.index(args.client)
    files, sizes = {}, []
    for name, own in client_splits(dataset, partition, index).items():
        if len(own):
            groups = dataset.groups[name] if dataset.groups else ()
            rows = partition.indices[name][index].tolist()
            files[f"{name}.npz"] = _to_npz(own, dataset, [groups[row] for row in rows] if groups else [])
        sizes.append(f"{name} {len(own)}")
    out = args.out.expanduser()
    write_folder(out, files)
    classes = few([dataset.class_names[c] for c in partition.classes[index]], 20)
    print(f"{args.client} holds the classes {classes}: {', '.join(sizes)} samples; saved in {out}.")
    return 0


def _to_npz(split: "Split", dataset: "Dataset", groups: list[str]) -> bytes:
    import numpy as np

    file = io.BytesIO()
    named = {"class_names": dataset.class_names, "columns": dataset.columns, "groups": groups}
    arrays = {"inputs": split.inputs, "labels": split.labels}
    arrays |= {key: np.array(names) for key, names in named.items() if names}
    np.savez_compressed(file, **arrays)  # type: ignore[arg-type]
    return file.getvalue()
