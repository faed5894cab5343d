"""The page of a comparison: its tables as one HTML file that loads nothing from anywhere."""

from collections.abc import Sequence

from jinja2 import Environment, StrictUndefined
from markupsafe import Markup

from pfedgp import __version__
from pfedgp.comparing.tables import TextTable
from server.report.html.style import CSS, POLICY
from server.report.html.tables import Cell, Head, Table

__all__ = ["comparison_page"]

_PAGE = """\
<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{{ policy }}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<link rel="icon" href="data:,">
<title>pFedGP: {{ heading }}</title>
<style>{{ css|safe }}</style>
</head>
<body>
<header><h1>{{ heading }}</h1></header>
<main>
{% for table, body in sections %}
<section><h2>{{ table.title }}</h2>
{% if table.note %}
<p>{{ table.note[0]|upper }}{{ table.note[1:] }}.</p>
{% endif %}
{{ body }}
</section>
{% endfor %}
</main>
<footer>Written by pFedGP {{ version }}.</footer>
</body>
</html>
"""
# Folders have the names that a user gives them, so all is escaped but style and tables, which escape by themselves.
_ENVIRONMENT = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)


def comparison_page(names: Sequence[str], tables: Sequence[TextTable]) -> str:
    """The page as text."""
    return _ENVIRONMENT.from_string(_PAGE).render(
        heading=f"Comparison of {', '.join(names)}",
        policy=POLICY,
        css=CSS,
        sections=[(table, _body(table)) for table in tables],
        version=__version__,
    )


def _body(table: TextTable) -> Markup:
    if not table.rows:
        return Markup()
    rows = [[Cell(row[0], header=True), *map(Cell, row[1:])] for row in table.rows]
    return Table(table.title, [Head(text) for text in table.heads], rows).html()
