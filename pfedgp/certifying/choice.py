"""Which proof ``pfedgp certify`` takes where none was asked for: by the data that are there, never by what they say."""

import argparse

__all__ = ["METHODS", "choose_method"]

METHODS = ("progressive", "pac-bayes", "data-prior", "held-out")


def choose_method(args: argparse.Namespace) -> tuple[str, str]:
    """The method and the reason for it, before any sample is read.

    A choice by the certificates themselves would cost the probability that each of them is wrong.
    """
    if args.method is not None:
        return args.method, "asked for"
    if args.data is not None:
        return "held-out", "samples were kept out of everything (--data), for which the bound is exact"
    if args.classes is not None:
        return "pac-bayes", "the classes were fixed in advance (--classes), which lowers the price of this bound alone"
    return "progressive", (
        "it needs the site's own samples alone, holds for every variant and tree, and is smaller than pac-bayes for "
        "the samples that a site has"
    )
