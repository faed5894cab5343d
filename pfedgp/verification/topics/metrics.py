"""Rules for the topic metrics: pooled over clients, at a temperature, and over clients or seeds."""

import re

import numpy as np
import torch

from pfedgp.verification.cases.format import Inputs, NotUnderstood
from pfedgp.verification.cases.question import Question, Rule
from pfedgp.verification.cases.reference_metrics import reference_metrics
from pfedgp_core.metrics.classification import MetricSums, metric_sums
from pfedgp_core.metrics.spread import spread
from pfedgp_core.metrics.summary import metrics_of
from pfedgp_core.metrics.temperature import temperature_scale

__all__ = ["METRICS_RULES"]

PLURALS = {"accuracies": "accuracy", "eces": "ece", "mces": "mce", "briers": "brier", "nlls": "nll"}


def _sums(q: Question, temperature: float | None = None) -> list[MetricSums]:
    """The sums of each client, in the precision of the run."""
    dtype = np.float32 if q.workspace.dtype == torch.float32 else np.float64
    bins = int(q.inputs.number("bins"))
    sums = []
    for client in map(Inputs, q.inputs["clients"]):
        probabilities = np.asarray(client["probabilities"], dtype=dtype)
        if temperature is not None:
            probabilities = temperature_scale(probabilities, temperature).astype(dtype)
        sums.append(metric_sums(probabilities, np.asarray(client["labels"], dtype=np.int64), bins))
    return sums


def _of_pooled(q: Question, temperature: float | None = None) -> float | None:
    key, first, *others = _key(q.head.split()[-1]), *_sums(q, temperature)
    return reference_metrics(sum(others, first))[key]


def _key(name: str) -> str:
    key = PLURALS.get(name, name)
    if key not in [metric.key for metric in metrics_of("classification")]:
        raise NotUnderstood(f"the metric {name!r} is not known")
    return key


def _of_clients(q: Question) -> float:
    found = re.fullmatch(r"mean of client (\w+)", q.head)
    key = _key(found[1] if found else q.head)
    values = [reference_metrics(sums)[key] for sums in _sums(q)]
    return spread([value for value in values if value is not None]).mean


def _over_seeds(q: Question) -> float | None:
    mean, error = spread(q.inputs["accuracies_of_seeds"])
    return error if q.head.startswith("sem") else mean


METRICS_RULES = (
    Rule(r"^pooled \w+$", _of_pooled),
    Rule(r"^tempered \w+$", lambda q: _of_pooled(q, q.inputs.number("temperature"))),
    Rule(r"^mean of client \w+$", _of_clients),
    Rule(r"^(mean|sem) over seeds$", _over_seeds),
)
