"""The frame of every page that pFedGP writes: its head, with style and policy, and a body."""

from jinja2 import Environment, StrictUndefined
from markupsafe import Markup

from server.report.html.style import CSS, POLICY

__all__ = ["framed"]

_FRAME = """\
<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{{ policy }}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<link rel="icon" href="data:,">
<title>{{ title }}</title>
<style>{{ css }}</style>
</head>
<body>
{{ body }}
</body>
</html>
"""
_TEMPLATE = Environment(autoescape=True, undefined=StrictUndefined).from_string(_FRAME)


def framed(title: str, body: Markup) -> str:
    """Return a whole page as text; it loads nothing from anywhere.

    Parameters
    ----------
    title : str
        Escaped here.
    body : Markup
    """
    return _TEMPLATE.render(policy=POLICY, css=Markup(CSS), title=title, body=body)
