"""One assert in its context: what a rule sees, and the work that cases share."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, NamedTuple

import torch
from torch import Tensor

from pfedgp.verification.cases.format import Assert, Case, Inputs, NotUnderstood
from pfedgp.verification.cases.naming import canonical, head
from pfedgp.verification.cases.nodes import SMALL, NodeProblem, SampledNode, sample
from pfedgp_core.words import cut

__all__ = ["Question", "Rule", "Sampled", "Workspace", "answer"]

_ROW_SUMS = re.compile(r"\b(the )?(row sums?|rows sum|sums? of (the |all )?rows)\b( of\b)?[ :]*(to (1|one)\b)?")
# What the rows are of where a name says no more than "row sums".
_ROW_SUMS_OF = {"tree": "class probs", "dirichlet": "largest remainder counts", "floors": "head probabilities"}
EFFORT = {True: (20000, 60), False: (2000, 50)}  # chains and sweeps of small and of larger nodes


class Sampled(NamedTuple):
    """A value with the number of draws behind it, for rules that divide by n."""

    value: Any
    draws: int


@dataclass
class Workspace:
    """The file's cases by id, the seed and precision of the run, and the chains that cases share."""

    cases: dict[str, Case]
    seed: int
    dtype: torch.dtype
    chains: dict[tuple[str, int, int], tuple[Tensor, Tensor]] = field(default_factory=dict)

    def sample(self, problem: NodeProblem, chains: int, sweeps: int) -> tuple[Tensor, Tensor]:
        """Chains of a problem (f, omega), drawn once a problem and effort."""
        key = (problem.key, chains, sweeps)
        if key not in self.chains:
            self.chains[key] = sample(problem, chains, sweeps, self.seed)
        return self.chains[key]


@dataclass(frozen=True)
class Question:
    """An assert, the inputs that answer it, and the workspace."""

    workspace: Workspace
    case: Case
    check: Assert

    @cached_property
    def text(self) -> str:
        """The canonical name of the assert."""
        return canonical(self.check.name)

    @cached_property
    def head(self) -> str:
        """The canonical name up to an equals sign."""
        return head(self.check.name)

    @property
    def exact(self) -> bool:
        """Whether the value is to be computed without sampling."""
        return self.check.kind == "exact"

    @cached_property
    def inputs(self) -> Inputs:
        """The case's inputs; those of another case where ``case`` names it."""
        name = self.case.inputs.values.get("case")
        if name is None:
            return self.case.inputs
        if not isinstance(name, str):
            raise NotUnderstood(f"input 'case' is {cut(repr(name), 80)}, not the id of a case")
        if name not in self.workspace.cases:
            raise NotUnderstood(f"the case refers to case {name!r}, which the file does not hold")
        return Inputs({**self.workspace.cases[name].inputs.values, **self.case.inputs.values})

    @cached_property
    def problem(self) -> NodeProblem:
        """The GP node of the inputs."""
        return NodeProblem.of(self.inputs, self.workspace.dtype)

    @cached_property
    def node(self) -> SampledNode:
        """The node with its omegas: the stated one, or chains of the length that the case asks for."""
        if "omega" in self.inputs:
            omega = self.inputs.tensor("omega", self.workspace.dtype, 1)
            if len(omega) != len(self.problem.y):
                raise NotUnderstood("input 'omega' does not have one value for each row of 'X'")
            return SampledNode(self.problem, omega[None], None, self.test_inputs, self.kss)
        f, omega = self.workspace.sample(self.problem, *self._effort())
        return SampledNode(self.problem, omega, f, self.test_inputs, self.kss)

    @cached_property
    def test_inputs(self) -> Tensor | None:
        """Rows of Xs that the assert covers."""
        if "Xs" not in self.inputs:
            return None
        Xs = self.inputs.tensor("Xs", self.workspace.dtype, 2)
        rows = self.check.options.get("test_index")
        if rows is None:
            return Xs
        if not isinstance(rows, list) or not all(isinstance(i, int) and 0 <= i < len(Xs) for i in rows):
            raise NotUnderstood(f"test_index {rows!r} does not select rows of 'Xs'")
        return Xs[rows]

    @cached_property
    def kss(self) -> float | None:
        """The prior variance of a test latent: as the assert's name states it, else as the inputs do."""
        stated = re.search(r"\bkss ?= ?([\d.]+(?:e[+-]?\d+)?)", self.text)
        if stated:
            return float(stated[1])
        return self.inputs.number("kss") if "kss" in self.inputs else None

    def _effort(self) -> tuple[int, int]:
        chains, sweeps = EFFORT[len(self.problem.y) <= SMALL]
        stated = [a.options for a in self.case.asserts if a.kind == "mc"]
        return (
            max((int(o["chains"]) for o in stated if o.get("chains")), default=chains),
            max((int(o["steps"]) for o in stated if o.get("steps")), default=sweeps),
        )


class Rule(NamedTuple):
    """A pattern on the head of an assert's name, and how to compute what it means."""

    pattern: str
    compute: Callable[[Question], Any]


def answer(question: Question, rules: Sequence[Rule]) -> Any:
    """Compute the value by the first rule whose pattern occurs in the head of the name.

    The row sums of a quantity, as ``row sums of class_probs``, are those of what the rest of the name means.

    Raises
    ------
    NotUnderstood
        No rule applies.
    """
    rest = _ROW_SUMS.sub("", question.head)
    if rest != question.head:
        return _row_sums(question, rest.strip() or _ROW_SUMS_OF.get(question.case.topic, ""), rules)
    for rule in rules:
        if re.search(rule.pattern, question.head):
            return rule.compute(question)
    raise NotUnderstood(f"no rule of topic {question.case.topic!r} covers this name")


def _row_sums(question: Question, name: str, rules: Sequence[Rule]) -> Any:
    value = answer(Question(question.workspace, question.case, replace(question.check, name=name)), rules)
    try:
        table = torch.as_tensor(value.value if isinstance(value, Sampled) else value, dtype=torch.float64)
    except (TypeError, ValueError, RuntimeError):
        raise NotUnderstood(f"{name!r} is no table of numbers whose rows have sums") from None
    if table.ndim < 2:
        raise NotUnderstood(f"{name!r} is no table of numbers whose rows have sums")
    sums, expected = table.sum(-1), question.check.value
    if isinstance(expected, int | float):  # one number for all rows: the row that is furthest from it
        return sums.flatten()[(sums.flatten() - expected).abs().argmax()]
    return sums
