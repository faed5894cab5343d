"""The process of the SuperLink: Flower's own program, behind the guard of the Fleet port, losing no message.

python -P -m pfedgp.operator.inside_superlink.process CONNECTIONS OBJECTS flower-superlink OPTIONS
"""

import sys
from collections.abc import Sequence
from pathlib import Path

from pfedgp_core.errors import ConfigError
from pfedgp_core.freed_memory import keep_freed_memory
from pfedgp_core.patch import lost_patches, refuse_lost

__all__ = ["main"]


def main(arguments: Sequence[str]) -> None:
    """Run it; before its command line come how many connections the Fleet port holds, and the folder of objects."""
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
    from pfedgp.processes.short_ways import ShortWays
    from pfedgp.processes.whole_bodies import SuperLinkBodies

    keep_freed_memory(one_heap=True)  # a model under way comes and goes in the same pieces
    patches = (FleetGuard(int(arguments[0])), Redelivery(), KeptReplies(), BoundedReplies())
    try:
        refuse_lost(patches)
    except ConfigError as error:
        sys.exit(str(error))
    large = Path(arguments[1])
    objects = (FiledObjects(large), KeptObjects(large.with_name("messages"), large), CarriedObjects(), EndedRuns(large))
    statements = (RareCleanup(), LongLog(), KnownKeys(), KnownRuns(), SummedTraffic(), ShortClaims())
    optional = (SuperLinkBodies(), *statements, *objects, HeldLooks(), ShortWays(), SparedTasks())
    for patch in (*patches, *(patch for patch in optional if not lost_patches([patch]))):
        patch.apply()
    sys.argv = list(arguments[2:])
    from flwr.superlink.cli import flower_superlink

    flower_superlink()


if __name__ == "__main__":
    main(sys.argv[1:])
