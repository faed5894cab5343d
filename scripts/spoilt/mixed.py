"""Random spoilt tables of texts, dates, gaps and patients, in CSV and Parquet, under a federation's rules.

A cell is written in many ways, of which some say what it was and others say nothing that is certain. It has to be read
as what it was, or refused. The rows of a patient, and equal rows, have to be in one part of the site's split.
"""

import random
from collections import Counter
from pathlib import Path

import numpy as np

from pfedgp_core.data.own.class_ids import map_classes
from pfedgp_core.data.own.groups import group_notes
from pfedgp_core.data.own.kept_split import assign_parts
from pfedgp_core.data.own.reader import read_samples
from pfedgp_core.data.own.samples import Layout, Samples
from pfedgp_core.data.own.wanted_columns import WantedColumns
from pfedgp_core.data.tables.choice import TableChoice
from pfedgp_core.errors import DataError
from scripts.spoilt.cell_faults import CLASSES, FAULTS, INPUTS, RULES, Mixed, start

__all__ = ["judged", "mixed", "tried"]


def mixed(seed: int) -> Mixed:
    """A spoilt table."""
    rng = random.Random(seed)  # noqa: S311
    table = start(rng)
    for name in sorted(rng.sample(list(FAULTS), rng.randint(1, 3)), key=list(FAULTS).index):
        FAULTS[name](rng, table)
        table.faults.append(name)
    table.parquet = rng.random() < 0.5
    table.separator = rng.choice(",;\t")
    return table


def judged(table: Mixed, folder: Path) -> str:
    """``refused``, ``noted`` or ``read``; ``WRONG`` where it is something else, or a patient in two parts unsaid."""
    choice = TableChoice(id_column="pid")
    layout = Layout(WantedColumns(INPUTS), rules=RULES, choice=choice, group_column="patient")
    try:
        samples = read_samples(table.write(folder), input_shape=(len(INPUTS),), layout=layout)
        classes = map_classes(samples.labels or (), CLASSES)
    except DataError:
        return "refused"
    if len(samples) != len(table.truth):
        return "WRONG"
    meant = np.array([inputs for inputs, _, _ in table.truth], np.float64).astype(np.float32)
    right = np.array_equal(samples.inputs, meant) and classes.tolist() == [one for _, one, _ in table.truth]
    if right and _torn(samples, [patient for _, _, patient in table.truth]):
        return "noted" if any("may be the same" in note for note in group_notes(samples.groups or ())) else "WRONG"
    return "read" if right else "WRONG"


def _torn(samples: Samples, patients: list[str]) -> bool:
    """Whether a patient, or equal rows, are in two parts of the split."""
    assert samples.digests is not None
    digests = [row.tobytes().hex() for row in samples.digests]
    parts = assign_parts(digests, list(samples.labels or ()), groups=samples.groups)
    together = Counter(name for name, _ in {*zip(patients, parts, strict=True)})
    equal = Counter(name for name, _ in {*zip(digests, parts, strict=True)})
    return max(together.values()) > 1 or max(equal.values()) > 1


def tried(seed: int, folder: Path) -> tuple[list[str], str]:
    """The faults of one table, and how it was judged."""
    table = mixed(seed)
    return table.faults, judged(table, folder)
