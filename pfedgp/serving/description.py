"""The description of a resident site's interface: texts for OpenAPI, and a page of them without any script or link."""

from typing import Any

from jinja2 import Environment

__all__ = ["ANSWERS", "BODY", "PREDICT", "TITLE", "page"]

TITLE = "pFedGP site"
PREDICT = (
    "Send samples as JSON, as CSV with a line of column names, or as a .npz file with the array inputs. The answer is "
    "JSON or, with the header 'Accept: text/csv', the table that pfedgp predict writes. A sample of a table in JSON is "
    "an object with a number for each name of a column, in any order, or a list of numbers. A list, as a row of a .npz "
    "file without the array columns, is taken by position, in the order of the model's columns, which may be another "
    "one than that of the site's files; the answer states this order as columns."
)
_NUMBERS = {
    "type": "array",
    "items": {},
    "description": "numbers by position, in the order of the model's columns, or an image [C, H, W] of 0 to 255",
}
_NAMED = {
    "type": "object",
    "additionalProperties": {},
    "description": "a number for each name of a column, in any order",
}
_INPUTS = {
    "type": "array",
    "minItems": 1,
    "items": {"oneOf": [_NUMBERS, _NAMED]},
    "description": "a sample in each item, all as lists or all as objects",
}
BODY = {
    "required": True,
    "content": {
        "application/json": {
            "schema": {
                "type": "object",
                "required": ["inputs"],
                "additionalProperties": False,
                "properties": {"inputs": _INPUTS, "ids": {"type": "array", "items": {"type": "string"}}},
            },
            "example": {"inputs": [{"age": 63.5, "bmi": 31.1}], "ids": ["first"]},
        },
        "text/csv": {"schema": {"type": "string"}},
        "application/x-npz": {"schema": {"type": "string", "format": "binary"}},
    },
}
_NUMBER = {"type": "number"}
_PREDICTION = {
    "type": "object",
    "properties": {
        "id": {"type": "string"},
        "predicted": {"type": "string"},
        "probabilities": {"type": "array", "items": _NUMBER, "description": "in the order of classes"},
        "entropy": _NUMBER,
        "epistemic": _NUMBER,
        "aleatoric": _NUMBER,
        "abstain": {"type": "boolean"},
    },
}
_ANSWER = {
    "type": "object",
    "properties": {
        "site": {"type": "string"},
        "model": {"type": "string", "description": "SHA-256 of the model that the site stands on"},
        "temperature": _NUMBER,
        "classes": {"type": "array", "items": {"type": "string"}},
        "columns": {
            "type": "array",
            "items": {"type": "string"},
            "description": "where rows without names came to a site with columns: the order in which they were taken",
        },
        "notes": {
            "type": "array",
            "items": {"type": "string"},
            "description": "where columns of the samples are on another scale than in the model's data",
        },
        "predictions": {"type": "array", "items": _PREDICTION},
    },
}
_ERROR = {"type": "object", "properties": {"error": {"type": "string"}}}
_REFUSALS = {
    400: "something is wrong with the body or a sample in it",
    401: "the token is missing or another one",
    408: "the body did not arrive in time",
    413: "the body is too large",
    415: "the body is of another type",
    422: "a parameter cannot be used",
    503: "too many requests are under way",
}
ANSWERS: dict[int | str, dict[str, Any]] = {
    200: {
        "description": "the predictions",
        "content": {"application/json": {"schema": _ANSWER}, "text/csv": {"schema": {"type": "string"}}},
    },
    **{
        code: {"description": text, "content": {"application/json": {"schema": _ERROR}}}
        for code, text in _REFUSALS.items()
    },
}

_PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>{{ info.title }}</title>
<style>
body { font: 16px/1.5 sans-serif; max-width: 46em; margin: 2em auto; padding: 0 1em; }
code, pre { background: #f3f3f3; padding: .1em .3em; } pre { padding: .6em; overflow: auto; }
td { padding: .1em 1em .1em 0; vertical-align: top; }
</style></head><body>
<h1>{{ info.title }}</h1>
<p>pFedGP {{ info.version }}. For programs: <code>/openapi.json</code>. Requests for predictions carry the header
<code>Authorization: Bearer TOKEN</code>; every refusal is JSON with one sentence, <code>error</code>.</p>
{% for path, methods in paths.items() %}{% for method, one in methods.items() %}
<h2><code>{{ method|upper }} {{ path }}</code></h2>
<p>{{ one.summary }}. {{ one.description }}</p>
{% if one.parameters %}<table>
{% for parameter in one.parameters %}<tr><td><code>{{ parameter.name }}</code></td>
<td>{{ parameter.description }}</td></tr>
{% endfor %}</table>{% endif %}
{% if one.requestBody %}<p>Body: {{ one.requestBody.content|join(", ") }}, such as</p>
<pre>{{ one.requestBody.content["application/json"].example|tojson }}</pre>{% endif %}
<table>{% for code, answer in one.responses.items() %}<tr><td>{{ code }}</td><td>{{ answer.description }}</td></tr>
{% endfor %}</table>
{% endfor %}{% endfor %}</body></html>
"""


def page(description: dict[str, Any]) -> str:
    """The description as a page for people.

    Parameters
    ----------
    description : dict
        OpenAPI's.
    """
    return Environment(autoescape=True).from_string(_PAGE).render(**description)
