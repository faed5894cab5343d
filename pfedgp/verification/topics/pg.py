"""Rules for Polya-Gamma variables: moments, the augmentation identity, symmetry."""

import numpy as np
import torch
from torch import Tensor

from pfedgp.verification.cases.format import NotUnderstood
from pfedgp.verification.cases.question import Question, Rule, Sampled
from pfedgp_core.numerics.polya_gamma import pg_mean, pg_variance, sample_pg, sample_pg_torch
from pfedgp_core.numerics.streams import Stream

__all__ = ["PG_RULES"]

DRAWS = 400_000


def _draws(q: Question, tilts: Tensor) -> Tensor:
    """PG(1, c) draws, [c, n]."""
    if q.inputs.number("b", 1.0) != 1.0:
        raise NotUnderstood("only PG(1, c) is sampled")
    options = q.check.options
    n = max(int(q.inputs.number("n", 0.0)), int(options.get("n_min") or 0), int(options.get("n") or 0)) or DRAWS
    stream = Stream(q.workspace.seed, "verify", "pg", repr(tilts.tolist()))
    return torch.stack([stream.polya_gamma(c.expand(n).contiguous()) for c in tilts])


def _tilts(q: Question) -> Tensor:
    return q.inputs.tensor("c", torch.float64, 1)


def _mean(q: Question) -> object:
    if q.exact:
        return pg_mean(_tilts(q))
    draws = _draws(q, _tilts(q))
    return Sampled(draws.mean(1), draws.shape[1])


def _variance(q: Question) -> object:
    if q.exact:
        return pg_variance(_tilts(q))
    draws = _draws(q, _tilts(q))
    return Sampled(draws.var(1), draws.shape[1])


def _identity(q: Question) -> Sampled:
    """2^-1 exp((a - 1/2) psi) E_{PG(1, 0)} exp(-omega psi^2 / 2) for every row (psi, a)."""
    omega = _draws(q, torch.zeros(1, dtype=torch.float64))[0]
    try:
        rows = [(float(row["psi"]), float(row["a"])) for row in q.inputs["rows"]]
    except (KeyError, TypeError, ValueError):
        raise NotUnderstood("input 'rows' is not a list of objects with psi and a") from None
    values = [0.5 * np.exp((a - 0.5) * psi) * float(torch.exp(-0.5 * psi**2 * omega).mean()) for psi, a in rows]
    return Sampled(values, len(omega))


def _symmetric(q: Question) -> bool:
    """Whether both samplers give the same draws for z and -z from the same state of their generators."""
    z = Stream(q.workspace.seed, "verify", "tilts").normal(4096, dtype=torch.float64) * 20

    def draws(tilts: Tensor) -> list[Tensor]:
        generator = torch.Generator().manual_seed(q.workspace.seed)
        return [sample_pg(tilts, np.random.default_rng(q.workspace.seed)), sample_pg_torch(tilts, generator)]

    plain = draws(z)
    return all(torch.equal(a, b) for tilts in (-z, z.abs()) for a, b in zip(plain, draws(tilts), strict=True))


PG_RULES = (
    Rule(r"^mean\b|^e (pg|w)\b", _mean),
    Rule(r"^var(iance)?\b", _variance),
    Rule(r"exp\(-w psi", _identity),
    Rule(r"any sign|\|z\| only|symmetr|pg\(b,-c\)", _symmetric),
)
