"""Where else a run's results go: options of the verbs that start one."""

import argparse
from typing import Any

from pfedgp.path_arguments import path_text

__all__ = ["add_outputs", "given_outputs"]

_KEYS = ("out", "tensorboard", "prometheus", "mlflow", "wandb")


def add_outputs(parser: argparse.ArgumentParser, where: str = "") -> None:
    """Declare the options, which `given_outputs` reads; `where` ends their help."""
    for option, metavar, text in (
        ("--tensorboard", "FOLDER", "also write the run for TensorBoard, in this folder"),
        ("--prometheus", "FILE", "also keep the run's state in a Prometheus text file"),
        (
            "--mlflow",
            "FILE",
            "also write the run into this MLflow data base, or to the tracking server of this address",
        ),
    ):
        parser.add_argument(option, type=path_text, metavar=metavar, help=text + where)
    parser.add_argument(
        "--wandb", metavar="PROJECT", help=f"also write the run for Weights & Biases, as files in its folder{where}"
    )


def given_outputs(args: argparse.Namespace) -> dict[str, Any]:
    """Those that were given, and ``--out``, by the keys of `server.outputs.Outputs`."""
    return {key: getattr(args, key) for key in _KEYS if getattr(args, key) is not None}
