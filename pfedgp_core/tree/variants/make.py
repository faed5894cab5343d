"""A variant by its name."""

from pfedgp_core.config import Settings
from pfedgp_core.kernels.base import Kernel
from pfedgp_core.registry import VARIANTS, entry
from pfedgp_core.tree.variants.base import Variant

__all__ = ["make_variant"]


def make_variant(settings: Settings, kernel: Kernel) -> Variant:
    """The variant named by ``settings.variant``.

    Raises
    ------
    ConfigError
        The registry does not know the name.
    """
    made: Variant = entry(VARIANTS, "variant", settings.variant).load()(kernel, settings)
    return made
