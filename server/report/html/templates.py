"""Templates of what the report's page holds, as texts in Python because the Flower bundle takes no HTML files.

Everything that they are given is escaped: clients choose their own names. Only figures, style and script are `Markup`.
"""

from typing import Any

from jinja2 import DictLoader, Environment, StrictUndefined
from markupsafe import Markup

__all__ = ["render"]

_PAGE = """\
<header>
<h1>pFedGP run {{ name }}</h1>
<p class="lead">{{ lead }}</p>
{% for notice in notices %}
<p class="notice">{{ notice }}</p>
{% endfor %}
{% if headline %}
<p class="headline"><b>{{ headline.value }}</b> {{ headline.name }}<small>{{ headline.details }}</small></p>
{% endif %}
{% if cards %}
<dl class="cards">
{%- for name, value, more in cards %}<div><dt>{{ name }}</dt><dd>{{ value }}</dd><dd class="more">{{ more }}</dd></div>
{%- endfor -%}
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
"""

_ROUNDS = """\
<div class="charts">
{% for figure in figures %}
<figure>{{ figure.inline_svg() }}</figure>
{% endfor %}
</div>
"""

_BARS_AND_TABLE = """\
<p>{{ text }}</p>
{% if figure %}
<figure class="bars">{{ figure.inline_svg() }}</figure>
{% endif %}
{{ table.html() }}
"""

_CLASSES = """\
<p>{{ text }}</p>
{% if figure %}
<figure class="bars">{{ figure.inline_svg() }}</figure>
{% endif %}
{{ table.html() }}
{% if sites.rows %}
<details><summary>Site by site</summary>
{{ sites.html() }}
{% if more %}
<p>{{ more }} more rows are in classes.csv.</p>
{% endif %}
</details>
{% endif %}
"""

_CARD = """\
{% for section, entries in card.items() %}
<h3>{{ section }}</h3>
<dl class="about">
{%- for name, text in entries.items() %}<dt>{{ name }}</dt><dd>{{ text }}</dd>{% endfor -%}
</dl>
{% endfor %}
"""

_FOLDED = """\
<details><summary>{{ summary }}</summary>
{{ body }}
</details>
"""

_CONFUSION = """\
<ul class="legend"><li><i class="accent"></i>right</li>
{%- if positive -%}
<li><i class="missed"></i>missed: {{ positive }} taken for another class</li>
<li><i class="caution"></i>false alarm: another class taken for {{ positive }}</li>
<li><i class="other"></i>mistake between other classes</li>
{%- else %}<li><i class="warn"></i>wrong</li>{% endif -%}
<li>the stronger the colour, the larger the share of the true class</li></ul>
{{ table.html() }}
"""

_CALIBRATION = """\
<p>A solid bar is the accuracy of the predictions in a bin of confidence, a red frame its distance to the mean
confidence, a thin line the accuracy's 95 % interval; on the dashed line the two agree.</p>
<figure class="one">{{ pooled.inline_svg() }}</figure>
<details><summary>Temperatures</summary>
<p>{{ temperatures }}</p>
{{ table.html() }}
</details>
<h3>Sites, worst first, at temperature 1</h3>
<div class="small">
{% for name, text, figure in clients %}
<figure>{{ figure.inline_svg() }}<figcaption><b>{{ name }}</b>{{ text }}</figcaption></figure>
{% endfor %}
</div>
{% if more > 0 %}
<p>{{ more }} more sites are in calibration.json.</p>
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
{% if captioned %}
<caption><span>{{ caption }}</span></caption>
{% endif %}
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
    "bars and table": _BARS_AND_TABLE,
    "classes": _CLASSES,
    "folded": _FOLDED,
    "card": _CARD,
    "confusion": _CONFUSION,
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
