"""The body of a request becomes samples: JSON, CSV or ``.npz``, checked as files of others are."""

import io
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from pfedgp.serving.named_rows import rows_by_name
from pfedgp_core.data.own.array_file import arranged_inputs, npz_blocks, shaped_images
from pfedgp_core.data.own.samples import Block, Findings, Layout, Samples, Wanted
from pfedgp_core.data.own.tables import csv_blocks
from pfedgp_core.data.own.wanted_columns import WantedColumns
from pfedgp_core.data.tables.choice import AS_NAMED, TableChoice
from pfedgp_core.data.value_range import BYTES, usual_range
from pfedgp_core.errors import DataError
from pfedgp_core.files.json_file import parse_object
from pfedgp_core.files.regular import MalformedError
from pfedgp_core.words import cut, shape_text

__all__ = ["KINDS", "Reader", "kind_of"]

KINDS = {
    "application/json": "JSON",
    "text/csv": "CSV",
    "application/x-npz": "npz",
    "application/octet-stream": "npz",
}
BODY = Path("The body")
UNPACKED = 4  # bytes of arrays for each byte that a body may have
ROWS = 256  # samples that are looked at at a time
LONGEST_ID = 1000  # characters


def kind_of(content_type: str | None) -> str | None:
    """``JSON``, ``CSV`` or ``npz``, by the header of a request; None for anything else."""
    return KINDS.get((content_type or "application/json").partition(";")[0].strip().lower())


@dataclass(frozen=True)
class Reader:
    """Reads bodies for a site.

    Attributes
    ----------
    input_shape : tuple of int
        Of the site's model.
    columns : tuple of str
        Of the site's table, in the model's order; empty for other data.
    value_range : str
        Of images, as the model takes them; empty for vectors.
    resize : bool
        Whether images of another size are resized.
    label_column : str
        Column of a table that is no feature, if it is there.
    choice : TableChoice
        Which columns of a table are features.
    rules : str
        By which they become inputs: the setting ``column-rules`` of the site's model.
    most_rows, most_bytes : int
        Samples of a request; bytes of a body, whose arrays may unpack to `UNPACKED` times as many.
    """

    input_shape: tuple[int, ...]
    columns: tuple[str, ...] = ()
    value_range: str = ""
    resize: bool = False
    label_column: str = "label"
    most_rows: int = 10_000
    most_bytes: int = 16_000_000
    choice: TableChoice = AS_NAMED
    rules: str = ""

    def samples(self, kind: str, body: bytes) -> list[Samples]:
        """All samples of a body, in parts.

        Raises
        ------
        DataError
            The body is no such thing, holds no samples or too many, or something is wrong with one of them.
        """
        columns = WantedColumns(self.columns, whose="the site")
        wanted = Wanted(
            self.input_shape,
            self.resize,
            self.label_column,
            labelled=False,
            digests=False,
            layout=Layout(
                columns,
                "" if self.input_shape[0] in (1, 3) else "first",
                model_range=self.value_range,
                choice=self.choice,
                rules=self.rules,
            ),
        )
        parts: list[Samples] = []
        for block in self._blocks(kind, body, wanted):
            if block.findings.problems:
                raise DataError(f"{BODY}: {block.findings.problems[0]}")
            if block.samples is None or block.samples.inputs.shape[1:] != self.input_shape:
                shape = "none" if block.samples is None else shape_text(block.samples.inputs.shape[1:])
                raise DataError(
                    f"The samples have shape {shape}, and the model takes inputs of shape "
                    f"{shape_text(self.input_shape)}: give data of that shape."
                )
            parts.append(block.samples)
            self._require_few(sum(map(len, parts)))
        return parts

    def _blocks(self, kind: str, body: bytes, wanted: Wanted) -> Iterator[Block]:
        if kind == "JSON":
            return iter([self._of_json(body, wanted)])
        if kind == "CSV":
            return csv_blocks(BODY, io.BytesIO(body), wanted, ROWS)
        return npz_blocks(BODY, io.BytesIO(body), wanted, ROWS, UNPACKED * self.most_bytes)

    def _of_json(self, body: bytes, wanted: Wanted) -> Block:
        try:
            content = parse_object(body, self.most_bytes)
        except MalformedError as error:
            raise DataError(
                f"{BODY} cannot be read as JSON ({error}): send an object with the list 'inputs'."
            ) from error
        if unknown := sorted(content.keys() - {"inputs", "ids"}):
            raise DataError(f"{BODY} has the key {cut(unknown[0], 40)!r}: give 'inputs' and, if you like, 'ids'.")
        findings = Findings()
        rows = self._rows(content.get("inputs"))
        if isinstance(rows[0], dict):
            samples = rows_by_name(BODY, rows, wanted, findings)
            ids = _ids(content.get("ids"), len(rows))
            whole = samples is not None and len(samples) == len(rows)
            return Block(replace(samples, ids=ids) if samples is not None and whole else samples, findings, 1.0)
        inputs = self._numbers(rows)
        ids = _ids(content.get("ids"), len(inputs))
        arranged = arranged_inputs(inputs, wanted, findings)
        shaped = arranged
        if arranged is not None and arranged.ndim == 4:
            # Numbers in JSON have no type that tells their range, so that of the model is taken as said.
            stated = replace(wanted, layout=replace(wanted.layout, value_range=self.value_range))
            found = shaped_images(arranged, stated, findings)
            shaped = None if found is None else found[0]
        if shaped is not None and not np.isfinite(shaped).all():
            findings.problem("A number is too large for 32 bits: rescale it.")
        return Block(None if shaped is None else Samples(shaped, ids, None), findings, 1.0)

    def _rows(self, inputs: Any) -> list[Any]:
        if not isinstance(inputs, list) or not inputs:
            raise DataError(f"{BODY} has no list 'inputs': give at least one sample in it.")
        self._require_few(len(inputs))
        return inputs

    def _numbers(self, inputs: list[Any]) -> np.ndarray:
        try:
            numbers = np.asarray(inputs)
        except ValueError as error:
            raise DataError("The samples in 'inputs' differ in shape: give each of them the same.") from error
        if numbers.dtype.kind not in "iuf":
            raise DataError("The samples in 'inputs' hold something else than numbers: give numbers alone.")
        if usual_range(self.value_range, self.input_shape) == BYTES:
            if numbers.dtype.kind == "f" or numbers.min(initial=0) < 0 or numbers.max(initial=0) > 255:
                raise DataError("The values of images are whole numbers from 0 to 255: give such numbers in 'inputs'.")
            return numbers.astype(np.uint8)
        return numbers

    def _require_few(self, count: int) -> None:
        if count > self.most_rows:
            raise DataError(
                f"{BODY} has more than {self.most_rows:,} samples: send them in parts, or use pfedgp predict."
            )


def _ids(given: Any, count: int) -> tuple[str, ...]:
    if given is None:
        return tuple(str(i + 1) for i in range(count))
    good = isinstance(given, list) and len(given) == count
    if not good or not all(isinstance(one, str) and len(one) <= LONGEST_ID and _is_text(one) for one in given):
        raise DataError(f"The list 'ids' is not a text for each of the {count} samples: correct it or leave it out.")
    return tuple(given)


def _is_text(one: str) -> bool:
    """Whether it can be written: JSON may hold half of a surrogate pair."""
    return not any("\ud800" <= character <= "\udfff" for character in one)
