"""Fields of a stranger: whatever they hold, reading them gives a record or a DataError, and nothing unbounded."""

import json
from typing import Any

import pytest

from pfedgp_core.config import Settings
from pfedgp_core.errors import DataError
from pfedgp_core.exchange import ONBOARDED, Hello
from pfedgp_core.publication import OnboardReply
from pfedgp_core.shared import SharedState
from pfedgp_core.trained_model import TrainedModel

HELLO = Hello("ward-x", (0, 1), ("a", "b"), 10, 3, 3, (1, 8, 8), "", {"torch": "2"}, (0.5,), (0.1,))
HUGE, DEEP = "1" + "0" * 400, "[" * 200_000


def hello_with(**changes: Any) -> dict[str, str]:
    """The config group of a greeting; `HUGE` stands for itself as a number."""
    fields = json.loads(HELLO.to_wire()[0]["hello"]) | changes
    return {"hello": json.dumps(fields).replace(f'"{HUGE}"', HUGE)}


@pytest.fixture(scope="module")
def model() -> TrainedModel:
    settings = Settings()
    state = SharedState.initial(settings, (1, 8, 8), 2)
    meta = {
        "settings": settings.to_run_config(),
        "class_names": ["a", "b"],
        "input_shape": [1, 8, 8],
        "normalisation": {"mean": [0.0], "std": [1.0]},
        "clients": ["ward-x"],
    }
    return TrainedModel.from_artefact(state.to_vector(), meta)


def onboarding(model: TrainedModel, **changes: Any) -> dict[str, Any]:
    return json.loads(
        OnboardReply("ward-x", 5, ("a",), None, "created", model.sha256, 1.0).to_wire()[0][ONBOARDED]
    ) | dict(changes)


def test_a_plain_greeting_comes_back() -> None:
    assert Hello.from_wire(hello_with(), {}) == HELLO


@pytest.mark.parametrize("field", ["mean", "std", "classes", "input_shape"])
def test_an_integer_beyond_any_float_is_malformed(field: str) -> None:
    with pytest.raises(DataError, match="malformed hello"):
        Hello.from_wire(hello_with(**{field: [HUGE]}), {})


@pytest.mark.parametrize("text", [DEEP, DEEP.replace("[", '{"a":'), "", "null", "[]", "9" * 5000])
def test_what_is_no_greeting_is_malformed(text: str) -> None:
    with pytest.raises(DataError, match="malformed hello"):
        Hello.from_wire({"hello": text}, {})


@pytest.mark.parametrize("text", [DEEP, "", "null", "[]"])
def test_what_is_no_onboarding_answer_is_malformed(text: str, model: TrainedModel) -> None:
    with pytest.raises(DataError, match="malformed answer"):
        OnboardReply.from_wire({ONBOARDED: text}, {}, model)


def test_a_plain_onboarding_answer_comes_back(model: TrainedModel) -> None:
    answer = OnboardReply.from_wire({ONBOARDED: json.dumps(onboarding(model))}, {}, model)
    assert answer.name == "ward-x" and answer.samples == 5


@pytest.mark.parametrize(
    "changes", [{"seconds": 1e300}, {"samples": 10**30}, {"classes": ["a"] * 3}, {"seconds": 10**400}]
)
def test_implausible_onboarding_answers_are_refused(changes: dict, model: TrainedModel) -> None:
    with pytest.raises(DataError):
        OnboardReply.from_wire({ONBOARDED: json.dumps(onboarding(model, **changes))}, {}, model)
