"""The page of a comparison: its tables as one HTML file that loads nothing from anywhere."""

from collections.abc import Sequence

from jinja2 import Environment, StrictUndefined
from markupsafe import Markup

from pfedgp import __version__
from pfedgp.comparing.tables import TextTable
from server.report.html.frame import framed
from server.report.html.tables import Cell, Head, Table

__all__ = ["comparison_page"]

_BODY = """\
<header><h1>{{ heading }}</h1></header>
<main>
{% for table, body in sections %}
<section class="fit"><h2>{{ table.title }}</h2>
{% if table.note %}
<p>{{ table.note[0]|upper }}{{ table.note[1:] }}.</p>
{% endif %}
{{ body }}
</section>
{% endfor %}
</main>
<footer>Written by pFedGP {{ version }}.</footer>
"""
# Folders have the names that a user gives them, so all is escaped but tables, which escape by themselves.
_TEMPLATE = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True).from_string(
    _BODY
)


def comparison_page(names: Sequence[str], tables: Sequence[TextTable]) -> str:
    """The page as text."""
    heading = f"Comparison of {', '.join(names)}"
    sections = [(table, _body(table)) for table in tables]
    body = _TEMPLATE.render(heading=heading, sections=sections, version=__version__)
    return framed(f"pFedGP: {heading}", Markup(body))  # noqa: S704 (escaped)


def _body(table: TextTable) -> Markup:
    if not table.rows:
        return Markup()
    rows = [[Cell(row[0], header=True), *map(Cell, row[1:])] for row in table.rows]
    return Table(table.title, [Head(text) for text in table.heads], rows, captioned=False).html()
