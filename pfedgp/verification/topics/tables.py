"""Rules for the topics that are plain arithmetic on tables: tree, calibration, federated."""

from typing import Any

import numpy as np
import torch

from pfedgp.verification.cases.format import NotUnderstood
from pfedgp.verification.cases.question import Question, Rule
from pfedgp.verification.cases.reference_metrics import reference_metrics
from pfedgp_core.learning.aggregation import average
from pfedgp_core.metrics.classification import MetricSums, calibration_curve, metric_sums
from pfedgp_core.metrics.temperature import TEMPERATURE_GRID, best_temperature, temperature_scale
from pfedgp_core.tree.splits import Node, Tree, class_log_probabilities

__all__ = ["CALIBRATION_RULES", "FEDERATED_RULES", "TREE_RULES"]

METRICS = {"acc": "accuracy", "accuracy": "accuracy", "ece": "ece", "mce": "mce", "nll": "nll", "brier": "brier"}


def _class_probabilities(q: Question) -> torch.Tensor:
    nodes: list[Node] = []
    log_probabilities = []
    stated = q.inputs["p_left"]
    try:
        for i, (name, (left, right)) in enumerate(q.inputs["nodes"].items()):
            nodes.append(Node(i, tuple(sorted(left)), tuple(sorted(right))))
            p = torch.tensor(stated[name], dtype=torch.float64)
            log_probabilities.append((p.log(), torch.log1p(-p)))
    except (AttributeError, KeyError, TypeError, ValueError):
        raise NotUnderstood("inputs 'nodes' and 'p_left' do not describe a tree") from None
    classes = sorted({c for node in nodes for c in node.left + node.right}) or sorted(q.inputs["classes"])
    count = len(log_probabilities[0][0]) if nodes else int(q.inputs.number("count", 1.0))
    return class_log_probabilities(Tree(tuple(classes), tuple(nodes)), log_probabilities, count).exp()


def _sums(q: Question, temperature: float = 1.0) -> MetricSums:
    probabilities = np.asarray(q.inputs["probs"], dtype=np.float64)
    if temperature != 1.0:
        probabilities = temperature_scale(probabilities, temperature)
    return metric_sums(probabilities, np.asarray(q.inputs["labels"]), _bins(q))


def _bins(q: Question) -> int:
    return int(q.inputs.number("n_bins", 15.0))


def _grid(q: Question) -> list[float]:
    return list(q.inputs.values.get("temp_grid") or TEMPERATURE_GRID)


def _metric(q: Question) -> Any:
    return _named_metric(_sums(q), q.head.split()[0])


def _named_metric(sums: MetricSums, name: str) -> Any:
    key = METRICS.get(name.lower().replace("_", " ").split()[0])
    if key is None:
        raise NotUnderstood(f"the metric {name!r} is not known")
    return reference_metrics(sums)[key]


def _temperatures(q: Question) -> dict[str, dict[str, Any]]:
    if not isinstance(q.check.value, dict) or not all(isinstance(row, dict) for row in q.check.value.values()):
        raise NotUnderstood("the expected value is not a table of temperatures and metrics")
    return {t: {name: _named_metric(_sums(q, float(t)), name) for name in row} for t, row in q.check.value.items()}


def _ece_over_grid(q: Question) -> list[Any]:
    return [reference_metrics(_sums(q, t))["ece"] for t in _grid(q)]


def _best_temperature(q: Question) -> float:
    return best_temperature(q.inputs["probs"], q.inputs["labels"], _grid(q), _bins(q))


CALIBRATION_RULES = (
    Rule(r"bin counts?", lambda q: calibration_curve(_sums(q)).count),
    Rule(r"bin conf", lambda q: calibration_curve(_sums(q)).confidence),
    Rule(r"bin acc", lambda q: calibration_curve(_sums(q)).accuracy),
    Rule(r"^best t", _best_temperature),
    Rule(r"\bece over", _ece_over_grid),
    Rule(r"temperature", _temperatures),
    Rule(r"^(acc|accuracy|ece|mce|nll|brier)\b", _metric),
)


def _average(q: Question) -> np.ndarray:
    vectors = [np.asarray(row, dtype=np.float64) for row in q.inputs["client_params"]]
    return average(vectors, q.inputs["n_samples"] if "weighted" in q.head or "sample" in q.head else None)


FEDERATED_RULES = (Rule(r"^uniform|weighted|sample", _average),)
TREE_RULES = (Rule(r"class prob|leaf prob", _class_probabilities),)
