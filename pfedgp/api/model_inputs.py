"""Arrays of a notebook as a model takes them."""

import math

import numpy as np

from pfedgp_core.data.column_names import is_hashed
from pfedgp_core.data.own.wanted_columns import WantedColumns
from pfedgp_core.data.value_range import BYTES
from pfedgp_core.errors import DataError
from pfedgp_core.site.trained_model import TrainedModel

__all__ = ["model_inputs"]


def model_inputs(rows: np.ndarray, model: TrainedModel, names: tuple[str, ...] = ()) -> np.ndarray:
    """Inputs of the model's shape and type.

    Parameters
    ----------
    rows : array [N, C, H, W], [N, D], or [N, C * H * W]
    model : TrainedModel
    names : tuple of str
        Of the columns of a data frame, which may be in another order than the model's; empty for an array.

    Returns
    -------
    numpy.ndarray
        uint8 for a model of images in bytes, else float32.

    Raises
    ------
    DataError
        Another shape, other columns, or values that are no bytes where the model takes bytes.
    """
    if names and is_hashed(model.columns):
        raise DataError("The model knows its columns by hashes: use pfedgp onboard with --column-key.")
    shape = model.input_shape
    if rows.shape[1:] != shape and (rows.ndim != 2 or rows.shape[1] != math.prod(shape)):
        raise DataError(
            f"The inputs have shape {rows.shape[1:]}, and the model takes {shape}: give inputs of that shape."
        )
    if names and model.columns:
        rows = rows[:, WantedColumns(model.columns).order("The data frame", names, "rename or remove columns")]
    try:
        numbers = rows.reshape(len(rows), *shape).astype(np.float64)
    except (TypeError, ValueError) as error:
        raise DataError(f"The inputs are {rows.dtype} and no numbers: encode them as the model's data were.") from error
    if model.value_range != BYTES:
        return numbers.astype(np.float32)
    if not ((numbers % 1 == 0) & (numbers >= 0) & (numbers <= 255)).all():
        raise DataError("The model takes images in bytes: give whole numbers from 0 to 255.")
    return numbers.astype(np.uint8)
