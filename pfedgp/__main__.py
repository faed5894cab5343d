"""``python -m pfedgp``: the same as the command ``pfedgp``."""

import sys

from pfedgp.cli import main

sys.exit(main())
