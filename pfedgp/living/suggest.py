"""``pfedgp suggest``: which samples of a pool without labels a site should label next."""

import argparse
from pathlib import Path

from pfedgp.living.options import LONGEST, add_site_options, show
from pfedgp.living.reading import add_reading, unlabelled_samples
from pfedgp.predicting.notes import print_notes
from pfedgp.predicting.place import require_site
from pfedgp_core.checks import printable
from pfedgp_core.errors import ConfigError

__all__ = ["add_arguments", "main"]

ONE_CLASS = "It has one class, so the entropy of every answer is 0: samples are chosen by the remaining variance alone."


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of the verb."""
    add_site_options(parser, changes=False)
    parser.add_argument(
        "--pool", type=Path, metavar="PATH", required=True, help="samples without labels: folder, .npz, .csv, .parquet"
    )
    parser.add_argument("--count", type=int, default=20, metavar="N", help="samples to label (default: 20)")
    add_reading(parser)


def main(args: argparse.Namespace) -> int:
    """Print the samples, the best one first; 0 once there are some."""
    if args.count < 1:
        raise ConfigError(f"--count {args.count} is no number of samples: give one from 1.")
    require_site(args.site)
    import torch

    torch.set_num_threads(1)  # small matrices are several times slower on more
    from pfedgp_core.site.saved import SavedSite
    from pfedgp_core.site.suggestion import suggest

    site = SavedSite.load(args.site, tuple(args.allow_network))
    pool = unlabelled_samples(site, args.pool, args)
    found = suggest(site, site.features(pool.inputs), args.count)
    if found.by_variance:
        print_notes([ONE_CLASS], "on the site")
    rows = zip(found.rows.tolist(), found.entropy.tolist(), found.variance.tolist(), strict=True)
    samples = [{"id": pool.ids[row], "entropy": entropy, "variance": left} for row, entropy, left in rows]
    result = {"format": "pfedgp-suggestion", "schema_version": 1, "site": site.name, "pool": len(pool)}
    result["by"] = "variance" if found.by_variance else "entropy and variance"
    lines = [f"{printable(one['id'], LONGEST)}\t{one['entropy']:.3f}\t{one['variance']:.3f}" for one in samples]
    head = "id\tentropy in nats\tremaining variance, share of the prior's"
    show(result | {"samples": samples}, "\n".join([head, *lines]), args.json)
    return 0
