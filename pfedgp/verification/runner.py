"""Walks through the cases, computes every expected value, and judges it."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

import torch

from pfedgp.verification.cases.format import KINDS, Assert, Case, NotUnderstood
from pfedgp.verification.cases.naming import head
from pfedgp.verification.cases.question import Question, Rule, Sampled, Workspace, answer
from pfedgp.verification.compare import Verdict, compare, float32_tolerance
from pfedgp.verification.topics.corruption import CORRUPTION_SPEC_RULES, CORRUPTION_VALUES_RULES
from pfedgp.verification.topics.corruption_tables import CORRUPTION_TABLE_RULES
from pfedgp.verification.topics.coupling import COUPLING_RULES
from pfedgp.verification.topics.dirichlet import DIRICHLET_RULES
from pfedgp.verification.topics.floors import FLOORS_RULES
from pfedgp.verification.topics.hypernetwork import HYPERNETWORK_RULES
from pfedgp.verification.topics.ipdata import IPDATA_RULES
from pfedgp.verification.topics.laplace import LAPLACE_RULES
from pfedgp.verification.topics.layered import LAYERED_RULES
from pfedgp.verification.topics.meta import META_RULES
from pfedgp.verification.topics.metrics import METRICS_RULES
from pfedgp.verification.topics.moreau import MOREAU_RULES, PROX_RULES
from pfedgp.verification.topics.nodes import NODE_RULES
from pfedgp.verification.topics.pac import PAC_RULES
from pfedgp.verification.topics.partition import PARTITION_RULES
from pfedgp.verification.topics.pg import PG_RULES
from pfedgp.verification.topics.regression import REGRESSION_RULES
from pfedgp.verification.topics.tables import CALIBRATION_RULES, FEDERATED_RULES, TREE_RULES
from pfedgp_core.errors import PFedGPError

__all__ = ["TOPICS", "Result", "verify"]

TOPICS: dict[str, Sequence[Rule]] = {
    "pg": PG_RULES,
    "full_exact": NODE_RULES,
    "augmented": NODE_RULES,
    "gradient": NODE_RULES,
    "predictive_variants": NODE_RULES,
    "fixed_omega": NODE_RULES,
    "fitc": NODE_RULES,
    "mid_reference": NODE_RULES,
    "ipdata": IPDATA_RULES,
    "regression": REGRESSION_RULES,
    "tree": TREE_RULES,
    "calibration": CALIBRATION_RULES,
    "partition": PARTITION_RULES,
    "federated": FEDERATED_RULES,
    "pac": PAC_RULES,
    "fedavg": LAYERED_RULES,
    "fedper": LAYERED_RULES,
    "lgfedavg": LAYERED_RULES,
    "pfedme": MOREAU_RULES,
    "pfedme_prox": PROX_RULES,
    "peravg": META_RULES,
    "fedu": COUPLING_RULES,
    "fola": LAPLACE_RULES,
    "pfedhn": HYPERNETWORK_RULES,
    "floors": FLOORS_RULES,
    "metrics": METRICS_RULES,
    "dirichlet": DIRICHLET_RULES,
    "corruption_spec": CORRUPTION_SPEC_RULES,
    "corruption_values": CORRUPTION_VALUES_RULES,
}


# Rules for tables of settings; one that none of them covers is shown and not compared.
SETTINGS: dict[str, Sequence[Rule]] = {"corruption_spec": CORRUPTION_TABLE_RULES}


class Result(NamedTuple):
    """The outcome of one assert. ``status`` is PASS, FAIL or INFO; what is not understood is a FAIL."""

    status: str
    case: str
    name: str
    text: str
    understood: bool = True

    def __str__(self) -> str:
        return f"{self.status} {self.case} {self.name} {self.text}".rstrip()


def verify(
    cases: Sequence[Case], selected: Sequence[Case], seed: int, dtypes: Sequence[torch.dtype] = (torch.float64,)
) -> Iterator[Result]:
    """Check the selected cases one assert at a time.

    In float64 every assert is checked, tables of settings where the product has one of that name. In float32 those
    exact asserts are that have a tolerance for it; sampled ones are always computed in float64.

    Parameters
    ----------
    cases : sequence of Case
        All to which the selected ones may refer; of two with one id, the later one.
    selected : sequence of Case
    seed : int
        Of everything that is sampled.
    dtypes : sequence of torch.dtype
    """
    workspaces = {dtype: Workspace({case.id: case for case in cases}, seed, dtype) for dtype in dtypes}
    for case in selected:
        if not case.asserts:
            yield Result("FAIL", case.id, "", "not understood: the case has no asserts", understood=False)
        for check in case.asserts:
            if check.kind == "info" or (check.kind == "spec" and not _has_rule(case, check)):
                if workspaces:
                    yield Result("INFO", case.id, check.name, _shorten(check.value))
                continue
            for dtype, workspace in workspaces.items():
                if dtype == torch.float64 or _in_float32(case, check):
                    yield _judge(Question(workspace, case, check))


def _has_rule(case: Case, check: Assert) -> bool:
    """Whether a table of settings is one that the product has too; in an unknown topic, that is asked and fails."""
    return case.topic not in TOPICS or any(re.search(r.pattern, head(check.name)) for r in SETTINGS.get(case.topic, ()))


def _in_float32(case: Case, check: Assert) -> bool:
    if case.topic not in TOPICS or check.kind not in KINDS:
        return True  # what cannot be understood is reported whatever the precision
    if check.kind == "spec":
        return False  # settings have no precision
    try:
        return check.kind == "exact" and float32_tolerance(check) is not None
    except NotUnderstood:
        return True


def _judge(question: Question) -> Result:
    case, check = question.case, question.check
    float32 = question.workspace.dtype == torch.float32
    name = f"{check.name} (float32)" if float32 else check.name
    understood = True
    try:
        if case.topic not in TOPICS:
            raise NotUnderstood(f"the topic {case.topic!r} is not known")
        if check.kind not in KINDS:
            raise NotUnderstood(f"the kind {check.kind!r} is not known")
        value = answer(question, (SETTINGS if check.kind == "spec" else TOPICS)[case.topic])
        draws = None
        if isinstance(value, Sampled):
            value, draws = value
        if check.kind == "spec":
            check = replace(check, options={"atol": 0.0} | check.options)
        verdict = compare(value, check, float32=float32, draws=draws)
    except NotUnderstood as reason:
        understood, verdict = False, Verdict(False, f"not understood: {reason}")
    except PFedGPError as error:
        verdict = Verdict(False, f"not computed: {error}")
    except Exception as error:  # noqa: BLE001 - inputs of a form that no rule foresaw must not end the run
        words = f"{type(error).__name__}: {' '.join(str(error).split())[:200]}"
        verdict = Verdict(False, f"not computed: the inputs have a form that the rule does not expect ({words})")
    return Result("PASS" if verdict.passed else "FAIL", case.id, name, verdict.text, understood)


def _shorten(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 100 else text[:97] + "..."
