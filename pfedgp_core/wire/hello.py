"""A client's greeting before its first round, and the checks of its content."""

import json
import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from pfedgp_core.checks import MALFORMED, count, finite, not_negative, text
from pfedgp_core.data.column_names import columns_fault
from pfedgp_core.data.spec import CLASS_NAME_LIMIT, normal_class
from pfedgp_core.data.tables.summary import TableSummary
from pfedgp_core.data.value_range import RANGES
from pfedgp_core.errors import DataError
from pfedgp_core.files.json_file import parse_object
from pfedgp_core.names import NAME_LIMIT, name_fault
from pfedgp_core.wire.names import SCALES, Fields

__all__ = ["Hello"]

SAMPLE_LIMIT = 10**8  # no client has more
HELLO_LIMIT = 16 * 1024 * 1024  # characters of a greeting
INPUT_LIMIT = 10**8  # values of one input
VERSIONS_LIMIT, VERSION_LIMIT = 50, 100  # entries, and characters of each part of one


@dataclass(frozen=True)
class Hello:
    """How a client presents itself before its first round; counts and class ids, no data.

    Attributes
    ----------
    name : str
        The same in every run; rows of every table carry it.
    classes : tuple of int
        Class ids in the client's training data.
    class_names : tuple of str
        All classes of the federation, by id; of a client with data of its own, the names that these give.
    n_train, n_validation, n_test : int
    input_shape : tuple of int
        Shape of one input.
    partition_hash : str
        Of the simulated partition; empty where the client brings its own data.
    versions : dict
        Software by name.
    mean, std : tuple of float
        Normalisation of the inputs; of a client with data of its own, moments of its training inputs as they are (std
        is 0 where all are equal), from which the server makes one normalisation for all.
    columns : tuple of str
        Names of a table's features, or their hashes, in the order of the moments; empty where there are none or the
        site keeps them.
    value_range : str
        Of images of a client's own, see `pfedgp_core.data.value_range`; empty for vectors, in a simulation, and for
        bytes of a former version.
    summary : str
        What a table's columns hold, from which sites agree on rules (`pfedgp_core.data.tables.summary`); the greeting
        is then of columns as they are, with all samples as ``n_train``, and without classes. Empty else.
    rules : str
        In a simulation: the rules on which its sites agree, where they do.
    """

    name: str
    classes: tuple[int, ...]
    class_names: tuple[str, ...]
    n_train: int
    n_validation: int
    n_test: int
    input_shape: tuple[int, ...]
    partition_hash: str
    versions: dict[str, str]
    mean: tuple[float, ...] = ()
    std: tuple[float, ...] = ()
    columns: tuple[str, ...] = ()
    value_range: str = ""
    summary: str = ""
    rules: str = ""

    def to_wire(self) -> tuple[Fields, Fields]:
        """Return (config, metrics)."""
        told = {key: value for key, value in asdict(self).items() if value or key not in ("summary", "rules")}
        return {"hello": json.dumps(told)}, {}

    @classmethod
    def from_wire(cls, config: Mapping[str, Any], metrics: Mapping[str, Any]) -> "Hello":
        """Read and check what ``to_wire`` wrote."""
        try:
            written = text(config["hello"])
            fields = parse_object(written, HELLO_LIMIT)
            hello = cls(
                name=text(fields["name"]),
                classes=tuple(count(c) for c in fields["classes"]),
                class_names=tuple(text(c) for c in fields["class_names"]),
                n_train=count(fields["n_train"]),
                n_validation=count(fields["n_validation"]),
                n_test=count(fields["n_test"]),
                input_shape=tuple(count(n) for n in fields["input_shape"]),
                partition_hash=text(fields["partition_hash"]),
                versions={text(k): text(v) for k, v in fields["versions"].items()},
                mean=tuple(finite(x) for x in fields["mean"]),
                std=tuple(not_negative(x) for x in fields["std"]),
                columns=tuple(text(name) for name in fields.get("columns", ())),  # former versions send none
                value_range=text(fields.get("value_range", "")),
                summary=text(fields.get("summary", "")),
                rules=text(fields.get("rules", "")),
            )
        except MALFORMED as error:
            raise DataError(f"malformed hello ({type(error).__name__})") from None
        if fault := name_fault(hello.name, NAME_LIMIT):
            raise DataError(f"hello with a client name that {fault}")
        if any(c >= len(hello.class_names) for c in hello.classes):
            raise DataError("hello with a class id that is not among its classes")
        for name in hello.class_names:
            if fault := name_fault(normal_class(name), CLASS_NAME_LIMIT):
                raise DataError(f"hello with a class whose name {fault}")
        if len(set(hello.classes)) < len(hello.classes):
            raise DataError("hello with a class twice")
        if len(hello.input_shape) > 3 or math.prod(hello.input_shape) > INPUT_LIMIT:
            raise DataError("hello with an implausible shape of an input")
        if fault := _inputs_fault(hello):
            raise DataError(f"hello with {fault}")
        software = [hello.partition_hash, *hello.versions, *hello.versions.values()]
        if len(hello.versions) > VERSIONS_LIMIT or not all(map(_is_short, software)):
            raise DataError("hello with unprintable, over-long or too many versions")
        if hello.summary and not hello.own_data:
            raise DataError("hello of a simulation with a summary of columns")
        if max(hello.n_train, hello.n_validation, hello.n_test) > SAMPLE_LIMIT:
            raise DataError("hello with an implausible sample count")
        return hello

    @property
    def table(self) -> TableSummary:
        """What the site tells of its columns; DataError says what it sends instead."""
        return TableSummary.from_json(self.name, self.n_train, self.columns, self.mean, self.std, self.summary)

    @property
    def own_data(self) -> bool:
        """Whether the client brings data of its own, and is no part of a simulation."""
        return not self.partition_hash

    def count(self, split: str) -> int:
        """Number of samples in ``validation`` or ``test``, or in the training data (`SCALES`)."""
        return {"validation": self.n_validation, "test": self.n_test, SCALES: self.n_train}[split]


def _inputs_fault(hello: Hello) -> str:
    """Say what of columns and range does not go with the inputs; empty where all does."""
    if hello.columns and len(hello.input_shape) != 1:
        return "names of columns for inputs that have none"
    if hello.value_range not in ("", *RANGES) or (hello.value_range and len(hello.input_shape) != 3):
        return "a range of values that such inputs do not have"
    return columns_fault(hello.columns, hello.input_shape[0] if hello.columns else None)


def _is_short(line: str) -> bool:
    return len(line) <= VERSION_LIMIT and line.isprintable()
