"""All readers that are tried, by name."""

from collections.abc import Callable
from pathlib import Path

from scripts.fuzzing.data_readers import DATA_READERS
from scripts.fuzzing.governed_readers import GOVERNED_READERS
from scripts.fuzzing.image_sets import IMAGE_SETS
from scripts.fuzzing.living_readers import LIVING_READERS
from scripts.fuzzing.operator_readers import OPERATOR_READERS
from scripts.fuzzing.state_readers import STATE_READERS
from scripts.fuzzing.trial import Trial

__all__ = ["PARSERS"]

PARSERS: dict[str, Callable[[Path], Trial]] = {
    **STATE_READERS,
    **GOVERNED_READERS,
    **LIVING_READERS,
    **DATA_READERS,
    **IMAGE_SETS,
    **OPERATOR_READERS,
}
