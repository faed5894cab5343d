"""The ranges of the sites' images: one for all, and which sites' moments can be held against each other."""

from collections.abc import Sequence

from pfedgp_core.data.value_range import OPEN, range_text, usual_range
from pfedgp_core.wire.hello import Hello
from pfedgp_core.wire.notice import column_text

__all__ = ["comparable", "feature_text", "range_misfit", "range_of", "ranges_difference"]


def range_of(hello: Hello) -> str:
    """The range of a site's images; empty where it has a table, or takes part in a simulation."""
    return usual_range(hello.value_range, hello.input_shape) if hello.own_data else ""


def range_misfit(hello: Hello, name: str) -> str:
    """Say that a site's images have another range than those of the federation, `name`; empty where they have not."""
    own = range_of(hello)
    if not own or own == (name := usual_range(name, hello.input_shape)):
        return ""
    return (
        f"{hello.name} has images with {range_text(own)}, the federation with {range_text(name)}: bring its images to "
        f"that range, or start it with --value-range {name} (node config value-range) if they have it."
    )


def ranges_difference(hellos: Sequence[Hello]) -> str:
    """Say which sites have images of which range, where there are several; else empty."""
    found: dict[str, list[str]] = {}
    for hello in hellos:
        found.setdefault(range_of(hello), []).append(hello.name)
    if len(found) < 2:
        return ""
    listed = "; ".join(f"{', '.join(names[:3])}: {range_text(name)}" for name, names in found.items())
    return f"The sites' images have different ranges ({listed})"


def comparable(hello: Hello) -> bool:
    """Whether a site's moments can be held against those of others: of tables, and of images in a unit of their own."""
    return len(hello.input_shape) == 1 or range_of(hello) == OPEN


def feature_text(index: int, hello: Hello, columns: Sequence[str] = ()) -> str:
    """What a moment is of: a column by name or place, or a channel of images; `index` counts from 0."""
    if len(hello.input_shape) == 1:
        return column_text(index, columns or hello.columns)
    return f"channel {index + 1} of the images"
