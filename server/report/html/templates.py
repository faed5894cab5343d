"""Templates of the report's page, as texts in Python because the Flower bundle takes no HTML files.

Everything that they are given is escaped: clients choose their own names. Only figures, style and script are `Markup`.
"""

from typing import Any

from jinja2 import DictLoader, Environment, StrictUndefined
from markupsafe import Markup

__all__ = ["render"]

_PAGE = """\
<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{{ policy }}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<link rel="icon" href="data:,">
<title>pFedGP run {{ name }}</title>
<style>{{ css }}</style>
</head>
<body>
<header>
<h1>pFedGP run {{ name }}</h1>
<p class="lead">{{ lead }}</p>
{% for notice in notices %}
<p class="notice">{{ notice }}</p>
{% endfor %}
{% if cards %}
<dl class="cards">
{%- for name, value in cards %}<div><dt>{{ name }}</dt><dd>{{ value }}</dd></div>{% endfor -%}
</dl>
{% endif %}
<nav aria-label="Sections"><ul>
{%- for name, _ in sections %}<li><a href="#{{ name|anchor }}">{{ name }}</a></li>{% endfor -%}
</ul></nav>
</header>
<main>
{% for name, body in sections %}
<section id="{{ name|anchor }}"><h2>{{ name }}</h2>
{{ body }}
</section>
{% endfor %}
</main>
<footer>{{ origin }}</footer>
<script>{{ script }}</script>
</body>
</html>
"""

_ROUNDS = """\
<div class="charts">
{% for figure in figures %}
<figure>{{ figure.inline_svg() }}</figure>
{% endfor %}
</div>
"""

_TEXT_AND_TABLE = """\
<p>{{ text }}</p>
{{ table.html() }}
"""

_CALIBRATION = """\
<p>A solid bar is the accuracy of the predictions in a bin of confidence, a red frame its distance to the mean
confidence; on the dashed line the two agree.</p>
<div class="split"><figure>{{ pooled.inline_svg() }}</figure><div><p>{{ temperatures }}</p>
{{ table.html() }}</div></div>
<h3>Clients, worst first</h3>
<div class="small">
{% for name, text, figure in clients %}
<figure>{{ figure.inline_svg() }}<figcaption><b>{{ name }}</b>{{ text }}</figcaption></figure>
{% endfor %}
</div>
{% if more > 0 %}
<p>{{ more }} more clients are in calibration.json.</p>
{% endif %}
"""

_FIGURE_AND_TABLE = """\
<div class="split"><figure>{{ figure.inline_svg() }}</figure>{{ table.html() }}</div>
"""

_PAIRS = """\
<div class="pairs">{{ table.html() }}</div>
"""

# The frame scrolls by itself, so that the page never does so sideways.
_TABLE = """\
<div class="frame" role="region" tabindex="0" aria-label="{{ caption }}">
<table class="{{ kind }}">
<caption><span>{{ caption }}</span></caption>
<thead><tr>
{%- for head in heads -%}
<th scope="col"{% if head.words %} class="words"{% endif %}{% if head.order %} aria-sort="{{ head.order }}">
{#- #}<button type="button">{{ head.text }}</button>{% else %}>{{ head.text }}{% endif %}</th>
{%- endfor -%}
</tr></thead>
<tbody>
{% for row in rows %}
<tr>
{%- for cell in row -%}
{% set tag = "th" if cell.header else "td" -%}
<{{ tag }}{% if cell.header %} scope="row"{% endif %}{% if cell.kind %} class="{{ cell.kind }}"{% endif %}
{%- if cell.sort is not none %} data-sort="{{ cell.sort }}"{% endif %}
{%- if cell.share is not none %} style="--share:{{ cell.share }}%"{% endif %}>{{ cell.text }}
{%- if cell.small %} <small>{{ cell.small }}</small>{% endif %}</{{ tag }}>
{%- endfor -%}
</tr>
{% endfor %}
</tbody>
</table>
</div>
"""

_TEMPLATES = {
    "page": _PAGE,
    "rounds": _ROUNDS,
    "text and table": _TEXT_AND_TABLE,
    "calibration": _CALIBRATION,
    "figure and table": _FIGURE_AND_TABLE,
    "pairs": _PAIRS,
    "table": _TABLE,
}


def render(template: str, **values: Any) -> Markup:
    """Return a template with its values, escaped unless they are `Markup`."""
    return Markup(_ENVIRONMENT.get_template(template).render(values))


def _anchor(name: str) -> str:
    return name.lower().replace(" ", "-")


_ENVIRONMENT = Environment(
    loader=DictLoader(_TEMPLATES), autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
)
_ENVIRONMENT.filters["anchor"] = _anchor
