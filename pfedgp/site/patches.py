"""All patches of Flower at a site, and what a SuperNode applies of them."""

from pfedgp.processes.whole_bodies import SuperNodeBodies
from pfedgp.site.carried_objects import CarriedObjects
from pfedgp.site.flower_waits import ShortWaits, Waits
from pfedgp.site.lost_messages import LostMessages
from pfedgp.site.object_limits import ObjectLimits
from pfedgp.site.own_agent import OwnAgent
from pfedgp.site.server_pace import ServerPace
from pfedgp.site.short_calls import ShortCalls
from pfedgp.site.task_name import TaskName
from pfedgp.site.whole_replies import WholeReplies
from pfedgp_core.patch import Patch, lost_patches

__all__ = ["SITE_PATCHES", "STOCK_REMEDY", "patch_supernode"]

_OPTIONAL: tuple[Patch, ...] = (ObjectLimits(), SuperNodeBodies(), CarriedObjects())
SITE_PATCHES: tuple[Patch, ...] = (
    OwnAgent(),
    ShortWaits(),
    LostMessages(),
    WholeReplies(),
    TaskName(),
    *_OPTIONAL,
    ShortCalls(),
    ServerPace(),
)
STOCK_REMEDY = ", or give --stock where this site may run any app"


def patch_supernode(waits: Waits, calls: ShortCalls | None = None) -> list[str]:
    """Patch the SuperNode of this process, and name the patches that were left out.

    Parameters
    ----------
    waits : Waits
        Pass the turns between the SuperNode's loop and the agent.
    calls : ShortCalls, optional
        The agent's.
    """
    left_out: list[str] = []
    for optional in (*_OPTIONAL, *([calls] if calls else []), ServerPace(waits)):
        if lost := lost_patches([optional]):
            left_out += lost
        else:
            optional.apply()
    ShortWaits(waits).apply()
    LostMessages().apply()
    WholeReplies().apply()
    return left_out
