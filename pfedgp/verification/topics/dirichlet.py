"""Rules for the topic dirichlet: counts by stated mixes of the clients, and who falls below a floor."""

import numpy as np
import torch

from pfedgp.verification.cases.format import NotUnderstood
from pfedgp.verification.cases.question import Question, Rule
from pfedgp_core.data.partitions.dirichlet import class_shares
from pfedgp_core.data.partitions.shares import sample_counts

__all__ = ["DIRICHLET_RULES"]


def _stated(q: Question) -> tuple[np.ndarray, np.ndarray]:
    """The mix of each client [clients, classes], and the samples [classes] of each class."""
    proportions = q.inputs.tensor("proportions", torch.float64, 2).numpy()
    counts = q.inputs.tensor("class_counts", torch.int64, 1).numpy()
    if proportions.shape[1:] != counts.shape:
        raise NotUnderstood("'proportions' does not have one column for each of 'class_counts'")
    if not (np.isfinite(proportions).all() and (proportions >= 0).all() and (proportions.sum(axis=0) > 0).all()):
        raise NotUnderstood("'proportions' does not give every class to some client")
    return proportions, counts


def _complete(q: Question) -> np.ndarray:
    proportions, counts = _stated(q)
    return sample_counts(class_shares(proportions), counts)


def _rounded_down(q: Question) -> np.ndarray:
    """The authors' rule, which drops the rest of each class."""
    proportions, counts = _stated(q)
    # Not by `class_shares`, which keeps a trace of every class for every client.
    rounded: np.ndarray = np.floor(counts * (proportions / proportions.sum(axis=0))).astype(np.int64)
    return rounded


def _dropped(q: Question) -> np.ndarray:
    dropped: np.ndarray = _stated(q)[1] - _rounded_down(q).sum(axis=0)
    return dropped


def _below(q: Question) -> list[int]:
    """The clients whose draw would be repeated."""
    below: list[int] = np.flatnonzero(_complete(q).sum(axis=1) < q.inputs.number("minimum")).tolist()
    return below


def _shares(q: Question) -> np.ndarray:
    """The part of each class that each client has, [clients, classes]: columns sum to 1."""
    proportions, _ = _stated(q)
    shares: np.ndarray = proportions / proportions.sum(axis=0)
    return shares


def _unassigned(q: Question) -> np.ndarray:
    """What the complete rule leaves of each class: nothing."""
    unassigned: np.ndarray = _stated(q)[1] - _complete(q).sum(axis=0)
    return unassigned


DIRICHLET_RULES = (
    Rule(r"^(authors|floor(ed)?) counts\b", _rounded_down),
    Rule(r"^(authors|floor(ed)?) unassigned\b", _dropped),
    Rule(r"^(largest remainder|complete) counts\b", _complete),
    Rule(r"^(largest remainder|complete) unassigned\b", _unassigned),
    Rule(r"^(clients? sizes?|samples (of|per) (each )?client|client counts)\b", lambda q: _complete(q).sum(axis=1)),
    Rule(r"^clients below (the )?minimum\b", _below),
    Rule(r"^((normalised|normalized) )?(class )?(shares|proportions|fractions)\b", _shares),
)
