"""What memory a site's data will take in a run, said before the run: a Gaussian process grows with the square."""

from pfedgp_core.config import Settings
from pfedgp_core.data.own.check import DataReport
from pfedgp_core.words import counted, size

__all__ = ["memory_notes"]

FEW = 2_000  # samples below which memory is no question


def memory_notes(report: DataReport, settings: Settings) -> list[str]:
    """A sentence on each part for training that is large; empty where none is."""
    notes = []
    for part in report.splits:
        if part.split in ("", "train") and part.usable >= FEW and part.input_shape is not None:
            from pfedgp_core.model.needs import Workload, client_needs

            work = Workload(part.usable, max(len(part.counts), 1))
            needs = client_needs(settings, part.input_shape, work.classes, work)
            if needs:
                largest = max(needs, key=lambda need: need.bytes)
                notes.append(
                    f"With all {counted(part.usable, 'sample')} for training a run needs at least "
                    f"{size(sum(need.bytes for need in needs))} of memory here, {size(largest.bytes)} of it for "
                    f"{largest.what}: if that is too much, {largest.remedy}."
                )
    return notes
