"""The SuperExec's process: Flower's own, which keeps the claim of a server app that starts slowly.

Started as ``python -P -m pfedgp.operator.superexec flower-superexec ARGUMENT ...``, so that a list of processes shows
the name by which Flower's users know it.
"""

import sys

from pfedgp.operator.kept_claims import KeptClaims
from pfedgp.processes.output import write_anything
from pfedgp_core.patch import lost_patches

__all__ = ["COMMAND", "main"]

COMMAND = (sys.executable, "-P", "-m", "pfedgp.operator.superexec", "flower-superexec")


def main(arguments: list[str]) -> None:
    """Run until the process is ended."""
    write_anything()
    patch = KeptClaims()
    lost = lost_patches([patch])
    for sentence in lost:
        print(sentence, file=sys.stderr, flush=True)
    if not lost:
        patch.apply()
    from flwr.supercore.cli import flower_superexec

    sys.argv = arguments
    flower_superexec()


if __name__ == "__main__":
    main(sys.argv[1:])
