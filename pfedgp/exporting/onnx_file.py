"""A site's classifier as an ONNX file, and how far its answers are from the site's own."""

import io
import warnings
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import nn

from pfedgp_core.data.value_range import BYTES, LARGEST, OPEN
from pfedgp_core.errors import ConfigError, RunFailedError
from pfedgp_core.files.regular import one_line
from pfedgp_core.site.portable import PortableSite, from_bytes
from pfedgp_core.site.saved import SavedSite
from pfedgp_core.tree.portable import moments

__all__ = ["OUTPUTS", "TOLERANCE", "Differences", "differences", "require_onnx", "with_metadata", "written"]

OUTPUTS = ("features", "mean", "variance", "probabilities")
OPSET = 17
TOLERANCE = 1e-4  # of a probability; of mean and variance in units of the prior's deviation and variance
SYNTHETIC = 64  # inputs
SEED = 0
LARGEST_FILE = 2**31 - 1  # bytes that a message of ONNX can have


class Differences(NamedTuple):
    """Largest differences of the file's answers from the site's own.

    Attributes
    ----------
    inputs : int
        Samples that were compared.
    probabilities : float
    mean, variance : float
        Of the latent values, in units of the prior's deviation and variance.
    """

    inputs: int
    probabilities: float
    mean: float
    variance: float

    @property
    def largest(self) -> float:
        """Of the three."""
        return max(self.probabilities, self.mean, self.variance)


def require_onnx() -> None:
    """Raise ConfigError where the packages are not installed."""
    try:
        import onnx  # noqa: F401
        import onnxruntime  # noqa: F401
    except ImportError as error:
        raise ConfigError(
            f"ONNX files need a package that is not installed ({error.name}): run pip install 'pfedgp[onnx]'."
        ) from error


def written(site: SavedSite) -> bytes:
    """The site's classifier as an ONNX model with the input ``inputs`` and the outputs `OUTPUTS`.

    Raises
    ------
    ConfigError
        The site cannot be exported (`PortableSite`), its network has an operation that ONNX lacks, or the file would
        be larger than the format allows.
    """
    module = PortableSite(site).eval()
    size = sum(t.nbytes for t in (*module.parameters(), *module.buffers()))
    if size > LARGEST_FILE:
        raise ConfigError(
            f"The site's classifier has {size / 2**30:.1f} GiB of numbers and an ONNX file holds 2: train with "
            "gp.solver = 'auto', or fewer gp.predict-chains."
        )
    return _exported(module, torch.zeros(2, *site.model.input_shape), ("inputs",), OUTPUTS)


def with_metadata(content: bytes, metadata: Mapping[str, str]) -> bytes:
    """The same model with texts in its properties."""
    import onnx

    model = onnx.load_from_string(content)
    onnx.helper.set_model_props(model, dict(metadata))
    made: bytes = model.SerializeToString()
    return made


def differences(site: SavedSite, content: bytes, inputs: np.ndarray | None = None) -> Differences:
    """Compare the answers of onnxruntime to a model with the site's own.

    Parameters
    ----------
    site : SavedSite
    content : bytes
        What `written` made.
    inputs : array [N, *input_shape], optional
        As the site predicts; without them, random ones of the model's moments, and, through the tree alone, the
        features of the site's training samples.

    Raises
    ------
    RunFailedError
        onnxruntime does not run the model.
    """
    given = _synthetic(site) if inputs is None else inputs
    scale = LARGEST[BYTES] if from_bytes(site) and given.dtype != np.uint8 else 1  # the site has these as shares
    feeds = {"inputs": given.astype(np.float32) * np.float32(scale)}
    _, mean, variance, probabilities = _answers(content, feeds)
    features = site.features(given)
    found = _compared(site, features, mean, variance, probabilities)
    if inputs is not None:
        return found
    tree, known = PortableSite(site).tree.eval(), torch.from_numpy(site.samples.features)
    alone = _exported(tree, known[:2], ("features",), OUTPUTS[1:])
    own = _compared(site, known, *_answers(alone, {"features": known.numpy()}))
    return Differences(found.inputs + own.inputs, *map(max, found[1:], own[1:]))


def _compared(
    site: SavedSite, features: torch.Tensor, mean: np.ndarray, variance: np.ndarray, probabilities: np.ndarray
) -> Differences:
    prediction = site.predict_features(features)
    own_mean, own_variance = moments(site.classifier, features)
    prior = float(site.classifier.kernel.output_scale) + site.model.settings.gp.jitter
    return Differences(
        len(features),
        _largest(probabilities - prediction.probabilities),
        _largest(mean - own_mean.numpy()) / prior**0.5,
        _largest(variance - own_variance.numpy()) / prior,
    )


def _largest(difference: np.ndarray) -> float:
    """The largest absolute value; infinite where one is no number."""
    return float(np.nan_to_num(np.abs(difference), nan=np.inf).max(initial=0.0))


def _exported(module: nn.Module, example: torch.Tensor, inputs: tuple[str, ...], outputs: tuple[str, ...]) -> bytes:
    buffer = io.BytesIO()
    try:
        with torch.no_grad(), warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of the tracer, which takes shapes for constants: the check tells
            # The tracing exporter takes backbones of TorchScript as well, and needs the package onnx alone.
            torch.onnx.export(
                torch.jit.trace(module, (example,)),
                (example,),
                buffer,  # type: ignore[arg-type]
                input_names=list(inputs),
                output_names=list(outputs),
                dynamic_axes={name: {0: "samples"} for name in (*inputs, *outputs)},
                opset_version=OPSET,
                dynamo=False,
            )
    except Exception as error:
        raise ConfigError(
            f"The site's network cannot be written as ONNX ({one_line(error)}): use pfedgp predict or serve, or train "
            "with a network of operations that ONNX has."
        ) from error
    return buffer.getvalue()


def _answers(content: bytes, feeds: dict[str, np.ndarray]) -> list[Any]:
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 3
    try:
        session = onnxruntime.InferenceSession(content, options, providers=["CPUExecutionProvider"])
        answers: list[Any] = session.run(None, feeds)
    except Exception as error:
        raise RunFailedError(
            f"onnxruntime does not run the exported model ({one_line(error)}): update it, or use pfedgp predict."
        ) from error
    return answers


def _synthetic(site: SavedSite) -> np.ndarray:
    """Random inputs of the model's moments, within its range and of its type."""
    model, shape = site.model, site.model.input_shape
    per_channel = (1, -1) + (1,) * (len(shape) - 1)
    drawn = np.random.default_rng(SEED).standard_normal((SYNTHETIC, *shape))
    inputs: np.ndarray = (drawn * model.std.reshape(per_channel) + model.mean.reshape(per_channel)).astype(np.float32)
    if len(shape) < 3 or model.value_range == OPEN:
        return inputs
    inputs = np.clip(inputs, 0, 1)
    return np.rint(inputs * LARGEST[BYTES]).astype(np.uint8) if from_bytes(site) else inputs
