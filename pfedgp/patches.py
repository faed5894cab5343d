"""All patches of Flower and Ray, by the side that applies them."""

from pfedgp_core.patch import Patch

__all__ = ["SIDES", "patches_of"]

SIDES = ("server", "site", "simulation")


def patches_of(side: str) -> tuple[Patch, ...]:
    """Return all patches of a side, one of `SIDES`; only what that side has is imported."""
    if side == "server":
        from pfedgp.operator.database import WholeDatabase
        from pfedgp.operator.inside_superlink.bounded_replies import BoundedReplies
        from pfedgp.operator.inside_superlink.carried_objects import CarriedObjects
        from pfedgp.operator.inside_superlink.ended_runs import EndedRuns
        from pfedgp.operator.inside_superlink.filed_objects import FiledObjects
        from pfedgp.operator.inside_superlink.fleet_guard import FleetGuard
        from pfedgp.operator.inside_superlink.held_looks import HeldLooks
        from pfedgp.operator.inside_superlink.kept_objects import KeptObjects
        from pfedgp.operator.inside_superlink.kept_replies import KeptReplies
        from pfedgp.operator.inside_superlink.known_keys import KnownKeys
        from pfedgp.operator.inside_superlink.known_runs import KnownRuns
        from pfedgp.operator.inside_superlink.long_log import LongLog
        from pfedgp.operator.inside_superlink.rare_cleanup import RareCleanup
        from pfedgp.operator.inside_superlink.redelivery import Redelivery
        from pfedgp.operator.inside_superlink.short_claims import ShortClaims
        from pfedgp.operator.inside_superlink.spared_tasks import SparedTasks
        from pfedgp.operator.inside_superlink.summed_traffic import SummedTraffic
        from pfedgp.operator.kept_claims import KeptClaims
        from pfedgp.processes.short_ways import ShortWays
        from pfedgp.processes.whole_bodies import SuperLinkBodies
        from server.flower.patches import SERVER_PATCHES

        safe = (FleetGuard(), Redelivery(), KeptReplies(), BoundedReplies())
        statements = (RareCleanup(), LongLog(), KnownKeys(), KnownRuns(), SummedTraffic(), ShortClaims())
        fast = (SuperLinkBodies(), *statements, HeldLooks(), ShortWays())
        objects = (FiledObjects(), KeptObjects(), CarriedObjects(), EndedRuns())
        return (*SERVER_PATCHES, *safe, WholeDatabase(), KeptClaims(), SparedTasks(), *fast, *objects)
    if side == "site":
        from pfedgp.site.patches import SITE_PATCHES

        return SITE_PATCHES
    from pfedgp.local.ray_end import RayEnd
    from pfedgp.local.ray_signals import RaySignals
    from pfedgp.local.ray_start import RayStart

    return (RaySignals(), RayStart(), RayEnd())
