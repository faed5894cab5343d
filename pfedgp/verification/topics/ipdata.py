"""Rules for inducing points used as labelled data: both modes of the node, and the class-ratio correction."""

import dataclasses
import math
import re
from typing import Any

import torch
from torch import Tensor

from pfedgp.verification.cases.format import Inputs, NotUnderstood
from pfedgp.verification.cases.noted import Sides, noted_sides
from pfedgp.verification.cases.question import Question, Rule, answer
from pfedgp.verification.topics.nodes import NODE_RULES
from pfedgp_core.gp.class_ratio import apply_class_ratio, log_class_ratio
from pfedgp_core.gp.links import node_log_probabilities

__all__ = ["IPDATA_RULES", "in_mode"]

_MODE = re.compile(r"^\s*(train|test)(?:ing)?(?: mode)?\s*[:,-]\s*", re.IGNORECASE)


def in_mode(q: Question) -> Question:
    """The question about the GP that the assert's mode conditions.

    ``train``: on (Xbar, ybar), predicting the data X. ``test``: on the stack [X; Xbar], predicting Xs. The omega of the
    mode, if stated, comes from ``omega_train`` or ``omega_test``.
    """
    mode = _MODE.match(q.check.name)
    if not mode:
        raise NotUnderstood("the name does not begin with train or test")
    name, given = mode[1].lower(), q.inputs
    values = {key: value for key, value in given.values.items() if key not in ("Xbar", "ybar")}
    if name == "train":
        values |= {"X": given["Xbar"], "y": given["ybar"], "Xs": given["X"]}
    else:
        values |= {"X": [*given["X"], *given["Xbar"]], "y": [*given["y"], *given["ybar"]]}
    if f"omega_{name}" in given:
        values["omega"] = given[f"omega_{name}"]
    case = dataclasses.replace(q.case, inputs=Inputs(values))
    return Question(q.workspace, case, dataclasses.replace(q.check, name=q.check.name[mode.end() :]))


def _node_value(q: Question) -> Any:
    return answer(in_mode(q), NODE_RULES)


def _sides(q: Question) -> Sides:
    """Points on the two sides, from the inputs, or where these have none from the notes."""
    inputs = q.inputs
    if "n_data" in inputs:
        own, added = ([int(n) for n in inputs[key]] for key in ("n_data", "n_ind"))
    elif "ybar" in inputs:
        own, added = ([sum(inputs[key]), len(inputs[key]) - sum(inputs[key])] for key in ("y", "ybar"))
    else:
        return noted_sides(f"{inputs.values.get('note', '')} {q.case.notes}")
    if len(own) != 2 or len(added) != 2:
        raise NotUnderstood("the counts are not those of two sides")
    return Sides((own[0], own[1]), (own[0] + added[0], own[1] + added[1]))


def _share(left: int, right: int) -> float:
    """Share of the left side, from its log ratio to a half: against one that saw both sides alike."""
    return 0.5 * math.exp(log_class_ratio(left, right, 1, 1, smoothing=0.0)[0])


def _probabilities(q: Question) -> tuple[Tensor, Tensor]:
    """Log-probabilities of both sides before the correction: stated, or those of the mode's GP."""
    for name in ("p_first_in", "p_left_in", "p_in"):
        if name in q.inputs:
            p = q.inputs.tensor(name, torch.float64, 1)
            return p.log(), torch.log1p(-p)
    return node_log_probabilities(*in_mode(q).node.star, "arith")


def _corrected(q: Question) -> Tensor:
    sides = _sides(q)
    smoothing = 1.0 if "smooth" in q.text else 0.0
    if smoothing and not sides.counted:
        raise NotUnderstood("the notes state shares, and smoothing needs the counts behind them")
    ratios = log_class_ratio(*sides.own, *sides.seen, smoothing=smoothing)
    return apply_class_ratio(*_probabilities(q), *ratios)[0].exp()


def _by_counts(q: Question) -> Tensor:
    """Probabilities times the client's class counts, as the authors correct in training: p is taken as balanced."""
    left, right = _sides(q).own
    return apply_class_ratio(*_probabilities(q), *log_class_ratio(left, right, 1, 1, smoothing=0.0))[0].exp()


IPDATA_RULES = (
    Rule(r"times .*counts", _by_counts),
    Rule(r"^literal|smoothed|corrected", _corrected),
    Rule(r"^q ?(prior|\( ?(left|first) ?\))", lambda q: _share(*_sides(q).own)),
    Rule(r"^p ?(prior|\( ?(left|first) ?\))", lambda q: _share(*_sides(q).seen)),
    Rule(r"^(train|test)", _node_value),
)
