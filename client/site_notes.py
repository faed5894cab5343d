"""What a person should know of a site that was just made, and of the data that were read for it."""

from collections.abc import Sequence

from pfedgp_core.data.samples import Split
from pfedgp_core.site.data_notes import position_notes, site_scale_notes
from pfedgp_core.site.origins import Origin
from pfedgp_core.site.saved import SavedSite
from pfedgp_core.words import counted, few

__all__ = ["group_notes", "site_notes"]


def site_notes(site: SavedSite, split: Split, nameless: bool = False) -> tuple[str, ...]:
    """Sentences on the site and the data; empty where there is nothing to say.

    Parameters
    ----------
    site : SavedSite
    split : Split
        The data that were read.
    nameless : bool
        Whether columns of the data had no names, which are known at the site.
    """
    notes = site_scale_notes(site, split.inputs)
    if nameless:
        notes += position_notes(split.inputs, (), site.columns, "The site")
    else:
        notes += position_notes(split.inputs, site.columns, site.model.columns, "The model")
    counts = site.samples.counts(site.model.class_names)
    if len(site.class_names) == 1:
        notes.append(
            f"The site has the class {site.class_names[0]!r} only, so its classifier answers it with probability 1 for "
            "every input."
        )
    single = [name for name, count in counts.items() if count == 1]
    if single and len(counts) > 1:
        notes.append(f"Classes with a single sample: {few(single)}; their probabilities stay uncertain.")
    if site.samples.repeated():
        notes.append(
            f"{counted(site.samples.repeated(), 'sample')} of {len(site.samples)} repeat another one exactly, and "
            "count each time."
        )
    return tuple(notes)


def group_notes(site: SavedSite, origins: Sequence[Origin]) -> list[str]:
    """A sentence where new samples of a site with groups name none; else nothing."""
    if any(origin.group for origin in origins) or not any(origin.group for origin in site.samples.origins):
        return []
    named = f", as {site.group_column!r} in its former data does" if site.group_column else ""
    return [f"Nothing names the groups of the new samples{named}: forget --group will not find them."]
