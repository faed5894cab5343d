"""Rules for binary GP nodes, full or FITC, with sampled or stated omega.

Topics full_exact, augmented, gradient, predictive_variants, fixed_omega, fitc and mid_reference. A stated omega is
treated as a single chain, so one rule serves both.
"""

import torch
from torch import Tensor

from pfedgp.verification.cases.format import NotUnderstood
from pfedgp.verification.cases.gradients import evidence_gradient, predictive_gradient
from pfedgp.verification.cases.question import Question, Rule
from pfedgp_core.certificate.evidence import MAX_EXACT, chib_kl, chib_log_evidence, exact_posterior
from pfedgp_core.certificate.pac_bayes import conditional_kl, gibbs_errors, mutual_information
from pfedgp_core.gp.links import node_log_probabilities
from pfedgp_core.numerics.quadrature import expected_log_sigmoid, log_sigmoid_expectation

__all__ = ["NODE_RULES", "expected_kl", "information", "kl", "point_errors"]

PAIRS = 2000  # of one mutual-information estimate; the matrix of a larger one is out of proportion to its gain


def _log_evidence(q: Question) -> float:
    model = q.problem.model()
    if len(model.kappa) <= MAX_EXACT and (q.exact or "omega" in q.inputs):
        return exact_posterior(model.gram, q.problem.y).log_evidence
    if q.exact or "omega" in q.inputs:
        raise NotUnderstood(f"log p(y) of more than {MAX_EXACT} points is not computed exactly")
    return chib_log_evidence(model.gram, q.node.omega, model.kappa).value


def kl(q: Question) -> float:
    """KL[Q(f) || P(f)]: by quadrature where it is to be exact, else by Chib's identity; of a stated omega, its own."""
    model = q.problem.model()
    if "omega" in q.inputs:
        return float(expected_kl(q))
    if q.exact:
        if len(model.kappa) > MAX_EXACT:
            raise NotUnderstood(f"KL of more than {MAX_EXACT} points is not computed exactly")
        return exact_posterior(model.gram, q.problem.y).kl
    return chib_kl(model.gram, q.node.omega, model.kappa).value


def expected_kl(q: Question) -> Tensor:
    """Mean over chains of KL[Q(f | omega) || P(f)]."""
    return conditional_kl(q.node.model.gram, q.node.omega, q.node.kappa).mean()


def information(q: Question) -> float:
    """MI[f; omega] under Q, averaged over groups of chains."""
    f, omega = q.node.f, q.node.omega
    if f is None:
        raise NotUnderstood("a stated omega has no mutual information")
    inclusive = "leave" not in q.text
    groups = zip(f.split(PAIRS), omega.split(PAIRS), strict=True)
    values = [mutual_information(a, b, inclusive).value for a, b in groups if len(a) == min(PAIRS, len(f))]
    return sum(values) / len(values)


def point_errors(q: Question) -> Tensor:
    """P(sign f_i != y_i) of each training point, [n]."""
    return gibbs_errors(q.node.model.gram, q.node.omega, q.node.kappa).mean(0)


def _log_marginal(q: Question) -> Tensor:
    return q.node.model.log_marginal(q.node.omega).mean()


def _probability(q: Question) -> Tensor:
    return node_log_probabilities(*q.node.star, "arith")[1 if _right(q) else 0].exp()


def _explog(q: Question) -> Tensor:
    # The link gives the left side only; the right side is the left one of the mirrored node.
    mu, v = q.node.star
    return node_log_probabilities(-mu if _right(q) else mu, v, "paper-explog")[0].exp()


def _chain_geometric(q: Question) -> Tensor:
    if "normalised" in q.text:
        return node_log_probabilities(*q.node.star, "chain-geo")[1 if _right(q) else 0].exp()
    return log_sigmoid_expectation(*q.node.star)[1 if _right(q) else 0].mean(0).exp()


def _spread(q: Question) -> Tensor:
    return log_sigmoid_expectation(*q.node.star)[0].exp().std(0, correction=0)


def _expected_log_sigmoid(q: Question) -> Tensor:
    return expected_log_sigmoid(*q.node.star)[1 if _right(q) else 0].mean(0)


def _star_mean(q: Question) -> Tensor:
    return q.node.star[0].mean(0)


def _star_variance(q: Question) -> Tensor:
    mu, v = q.node.star
    return v.mean(0) + mu.var(0, correction=0)


def _negative(q: Question) -> Tensor:
    mu, v = q.node.star
    sign = 1.0 if ">" in q.head else -1.0
    shares: Tensor = torch.special.ndtr(sign * mu / v.sqrt()).mean(0)
    return shares


def _right(q: Question) -> bool:
    return "right" in q.head or "sigma(-" in q.head or "ystar=0" in q.text


def _gradient(q: Question) -> object:
    return predictive_gradient(q) if "ystar" in q.text else evidence_gradient(q)


NODE_RULES = (
    Rule(r"^d |^d/d|^grad|^mean c (d|grad) |^true d |gradient", _gradient),
    Rule(r"\be ?q\(w\) ?\[?kl|\be kl\b|kl ?\[ ?q\(f\|w\)|(expected|mean c) kl", expected_kl),
    Rule(r"^mi\b|^i ?\(|mutual information", information),
    Rule(r"\bkl\b", kl),
    Rule(r"log p\(y\|w\)", _log_marginal),
    Rule(r"log p\(y\)|log evidence|log ?z\b|log marginal", _log_evidence),
    Rule(r"^(e|mean( of)?) w\b|^w mean", lambda q: q.node.omega.mean(0)),
    Rule(r"per.?point|p\( ?sign", point_errors),
    Rule(r"gibbs (risk|error)|^(emp\S*|train\w*)? ?risk", lambda q: point_errors(q).mean()),
    Rule(r"exp.?log", _explog),
    Rule(r"chain.?geo", _chain_geometric),
    Rule(r"^(sd|std|standard deviation)\b.*sigma", _spread),
    Rule(r"\be log sigma", _expected_log_sigmoid),
    Rule(r"^p (left|right)|arith|\be sigma|^p\(ystar", _probability),
    Rule(r"^p\( ?fstar ?[<>] ?0", _negative),
    Rule(r"^var(iance)?( of)? fstar|^vstar|^fstar var", _star_variance),
    Rule(r"^(e|mean( of)?) fstar|^mustar|^fstar mean", _star_mean),
    Rule(r"^(e|mean( of)?) fbar|^fbar mean", lambda q: q.node.inducing_moments[0]),
    Rule(r"^cov(ariance)?( of)? fbar|^fbar cov", lambda q: q.node.inducing_moments[1]),
    Rule(r"^(e|mean( of)?) f\b|^f mean", lambda q: q.node.latent_moments[0]),
    Rule(r"^cov(ariance)?( of)? f\b|^f cov", lambda q: q.node.latent_moments[1]),
    Rule(r"^var(iance)?( of)? f\b|^f var", lambda q: q.node.latent_moments[1].diagonal()),
)
