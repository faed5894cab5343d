"""A certificate for a person to read."""

from typing import Any

from pfedgp_core.words import counted, few

__all__ = ["certificate_text"]

ROWS = {
    "deployed": "error of the deployed classifier",
    "on_the_way": "mean error of the classifiers on the way",
    "disagreement": "their disagreement with the deployed one",
    "vote": "error of this posterior's vote",
    "wrong_probability": "probability it gives to wrong classes",
    "gibbs": "error of the Gibbs classifier",
    "gibbs_vote": "error of the Gibbs classifier's vote",
}


def certificate_text(result: dict[str, Any]) -> str:
    """The table of bounds, what they cover, and under which conditions they hold."""
    size = counted(result["samples"], "sample")
    if result["counts"] == "groups":
        size += f" of {counted(result['n'], 'group')}, which count"
    lines = [
        (
            f"Certificate of site {result['site']!r}: {few(result['classes'], 20)}; {size}, "
            f"method {result['method']}, delta {result['delta']:g}"
        ),
        *([] if result["reason"] == "asked for" else [f"This method because {result['reason']}."]),
        "",
        f"{'':<44}{'on the samples':>16}{'certified: at most':>21}",
    ]
    for key, label in ROWS.items():
        if key in result:
            seen = result[key]["empirical"]
            lines.append(f"{label:<44}{'-' if seen is None else f'{seen:.1%}':>16}{_up(result[key]['bound']):>21}")
    if result["advice"] is not None:
        lines += ["", "The bound on the deployed classifier says no more than chance: it is true, and of no use."]
        lines.append(result["advice"])
    lines += _about(result)
    lines += ["", "True with probability at least 1 - delta, provided that:"]
    lines += [f"  {i}. {condition}" for i, condition in enumerate(result["conditions"], start=1)]
    return "\n".join(lines)


def _about(result: dict[str, Any]) -> list[str]:
    """What a reader of the numbers must know."""
    lines = []
    draw = result["counts"].removesuffix("s")
    if result["method"] == "data-prior":
        parts = f"{counted(result['prior'], draw)} made the prior, and {result['tested']} the bound"
        tree = "the tree of all samples" if result["same_tree"] else "another tree or fewer classes"
        lines += ["", f"{parts}: KL {result['kl']:.2f} nats, and {result['price']:.2f} for a prior with {tree}."]
        lines.append(
            "Covered is the vote of the Gaussians with the moments of the chains; how often the deployed classifier "
            f"answers otherwise is what unlabelled inputs say, of which there are {result['unlabelled']}."
        )
    if result["method"] == "pac-bayes":
        price = result["price_tree"] + result["price_classes"]
        differs = result["deployed"]["differs_from_predict"]
        lines += ["", f"KL {result['kl']:.2f} nats, and {price:.2f} for a tree and classes read off the samples."]
        lines.append(
            "Covered is the arg max of the exact probabilities; the site's own answer differs from it on "
            f"{differs:.1%} of the samples, the Gibbs vote's on {result['gibbs_vote']['differs_from_predict']:.1%}."
        )
        if result["temperature"] != 1:
            lines.append(
                "The probability of wrong classes is that at temperature 1, not at the site's "
                f"{result['temperature']:g}; the answers, and so their error, are the same at both."
            )
    if "on_the_way" in result:
        of = "groups of " if result["counts"] == "groups" else ""
        lines += [
            "",
            (
                f"Each of the last {result['tested']} {of}samples was answered by a classifier of those before it; "
                f"{result['unlabelled']} {of}unlabelled inputs say how often these answer otherwise than the deployed "
                "one."
            ),
        ]
    if "unseen" in result:
        lines.append(f"That the model never saw this site's data is {result['unseen']}.")
    return lines


def _up(bound: float) -> str:
    """In percent, rounded upwards: a bound that is printed smaller is no bound."""
    return f"{min(100.0, -(-bound * 1000 // 1) / 10):.1f}%"
