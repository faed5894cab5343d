"""What would make a vacuous certificate say something: how many more labelled or unlabelled samples, and of what.

The numbers take the rates that were seen for granted. They are a plan and no promise: the next samples may err more.
"""

import math
from collections.abc import Callable
from typing import Any

from pfedgp_core.certificate.binomial_bound import clopper_pearson
from pfedgp_core.certificate.mixture_martingale import mixture_bound
from pfedgp_core.certificate.progressive import LABELLED_SHARE, disagreement_bound
from pfedgp_core.words import counted

__all__ = ["advice", "chance", "smallest"]

MOST = 1_000_000
DEAR = 10_000  # unlabelled inputs from which on labelled samples are named as well


def chance(classes: int) -> float:
    """The error of a guess among the site's classes; a certificate from there on says nothing."""
    return 1 - 1 / max(classes, 2)


def advice(result: dict[str, Any]) -> str | None:
    """One sentence or two about what the site could do; None where the certificate says something.

    Parameters
    ----------
    result : dict
        What ``to_dict`` of a certificate returned, with ``classes``.
    """
    target = chance(len(result["classes"]))
    if result["deployed"]["bound"] < target:
        return None
    rules = {"progressive": _progressive, "held-out": _held_out, "pac-bayes": _pac_bayes, "data-prior": _pac_bayes}
    return rules[result["method"]](result, target)


def smallest(bound: Callable[[int], float], target: float, least: int = 1) -> int | None:
    """The number of samples from which `bound` is below `target`, by doubling and bisection; None beyond a million."""
    high = max(least, 1)
    while bound(high) >= target:
        if high >= MOST:
            return None
        high = min(MOST, 2 * high)
    low = max(least, high // 2)
    while low < high:
        middle = (low + high) // 2
        if bound(middle) < target:
            high = middle
        else:
            low = middle + 1
    return high


def _held_out_needed(rate: float, target: float, delta: float) -> int | None:
    return smallest(lambda m: clopper_pearson(min(m, math.ceil(rate * m)), m, delta), target)


def _held_out(result: dict[str, Any], target: float) -> str:
    found, n, draw = result["deployed"], result["n"], _draw(result)
    needed = _held_out_needed(found["empirical"], target, result["delta"])
    if needed is None:
        return _hopeless(found["empirical"])
    return (
        f"At the error rate of these {counted(n, draw)}, about {max(needed, n + 1)} held-out {draw}s would bring the "
        f"bound below chance ({target:.0%})."
    )


def _pac_bayes(result: dict[str, Any], target: float) -> str:
    rate = result["deployed"]["empirical"]
    needed = _held_out_needed(rate, target, result["delta"])
    if needed is None:
        return _hopeless(rate)
    return (
        f"At the error rate of these samples, about {counted(needed, f'labelled {_draw(result)}')} that were kept out "
        f"of everything (--method held-out) would bring a bound below chance ({target:.0%}); without further labels, "
        "--method progressive with --unlabelled is smaller nearly always (a second certificate on the same samples "
        "takes a share of --delta of its own)."
    )


def _progressive(result: dict[str, Any], target: float) -> str:
    found, apart, n, delta = result["on_the_way"], result["disagreement"], result["n"], result["delta"]
    draw, rate = _draw(result), found["empirical"]
    new = "input" if draw == "sample" else draw
    way = mixture_bound(found["errors"], result["tested"], LABELLED_SHARE * delta)
    differ = apart["empirical"] or 0.0
    left = target - way

    def apart_at(m: int) -> float:
        return disagreement_bound(differ, m, (1 - LABELLED_SHARE) * delta)

    alike = "if the classifiers do not disagree on any"
    assumed = "at the disagreement that was seen" if result["unlabelled"] else alike
    if left > 0:
        inputs = smallest(apart_at, left, result["unlabelled"] + 1)
        if inputs is not None:
            worst = rate + differ  # the deployed one errs where its forerunners do, or where it differs from them
            needed = _held_out_needed(worst, target, delta) if inputs >= DEAR else None
            instead = (
                ""
                if needed is None
                else (
                    f" About {counted(needed, f'labelled {draw}')} that were kept out of everything (--method "
                    f"held-out) would, too, at an error of {worst:.0%}."
                )
            )
            return (
                f"About {counted(inputs, f'unlabelled {new}')} in all (--unlabelled) would bring the bound on the "
                f"deployed classifier below chance ({target:.0%}), {assumed}.{instead}"
            )

    def way_at(size: int) -> float:
        steps = size - size * (n - result["tested"]) // n
        return mixture_bound(min(float(steps), rate * steps), steps, LABELLED_SHARE * delta)

    room = (target - rate - differ) / 2  # a half for each of the two terms
    if room <= 0:
        return _hopeless(rate + differ)
    samples, inputs = smallest(way_at, rate + room, n + 1), smallest(apart_at, differ + room, result["unlabelled"])
    if samples is None or inputs is None:
        return _hopeless(rate + differ)
    return (
        f"At the rates that were seen, about {samples} labelled {draw}s in all and {inputs} unlabelled {new}s "
        f"(--unlabelled) would bring the bound on the deployed classifier below chance ({target:.0%})."
    )


def _draw(result: dict[str, Any]) -> str:
    """What the certificate counts."""
    return "group" if result["counts"] == "groups" else "sample"


def _hopeless(rate: float) -> str:
    return (
        f"The error on the samples is {rate:.1%}, too near to chance: no number of further samples would make this "
        "certificate useful, only a better model would."
    )
