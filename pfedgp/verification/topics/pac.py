"""Rules for the PAC-Bayes bound: the inverse of the binary kl, bounds from stated numbers, bounds of a node."""

from typing import Any

import numpy as np

from pfedgp.verification.cases.format import NotUnderstood
from pfedgp.verification.cases.question import Question, Rule
from pfedgp.verification.topics.nodes import expected_kl, information, kl, point_errors
from pfedgp_core.certificate.pac_bayes import epsilon, kl_inverse, pac_bayes_bound

__all__ = ["PAC_RULES"]


def _inverse(q: Question) -> tuple[np.ndarray, np.ndarray]:
    """Risks and kl_inverse(risk, eps) of the input rows (q, eps)."""
    rows = np.asarray(q.inputs["rows"], dtype=np.float64)
    if rows.ndim != 2 or rows.shape[1] != 2:
        raise NotUnderstood("input 'rows' is not a list of pairs (q, eps)")
    return rows[:, 0], kl_inverse(rows[:, 0], rows[:, 1])


def _gap(q: Question) -> np.ndarray:
    risks, p_max = _inverse(q)
    gaps: np.ndarray = p_max - risks
    return gaps


def _form(q: Question) -> str:
    return "maurer" if "maurer" in q.text or "sqrt" in q.text else "seeger"


def _size(q: Question) -> tuple[int, float]:
    n = q.inputs.number("N") if "N" in q.inputs else q.inputs.number("n")
    return int(n), q.inputs.number("delta")


def _epsilon(q: Question) -> float:
    return float(epsilon(_kl(q), *_size(q), _form(q)))


def _bound(q: Question) -> float:
    return float(pac_bayes_bound(_risk(q), _kl(q), *_size(q), _form(q)))


def _risk(q: Question) -> float:
    return q.inputs.number("emp_risk") if "emp_risk" in q.inputs else float(point_errors(q).mean())


def _kl(q: Question) -> Any:
    return q.inputs.number("KL") if "KL" in q.inputs else kl(q)


PAC_RULES = (
    Rule(r"^p max|kl.?inverse|^kl\^-1", lambda q: _inverse(q)[1]),
    Rule(r"\bgap\b", _gap),
    Rule(r"^eps", _epsilon),
    Rule(r"\bbound\b", _bound),
    Rule(r"\be ?kl\b|\be q\(w\) kl|kl ?\[ ?q\(f\|w\)", expected_kl),
    Rule(r"^mi\b|^i ?\(|mutual information", information),
    Rule(r"^kl\b", _kl),
    Rule(r"per.?point|p\( ?sign", point_errors),
    Rule(r"gibbs (risk|error)|^(emp\S*|train\w*)? ?risk", _risk),
)
