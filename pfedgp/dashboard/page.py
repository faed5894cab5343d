"""The operator's page: its frame, which holds no data, and the policy under which a browser runs it."""

import base64
import hashlib

from pfedgp.dashboard.script import SCRIPT
from pfedgp.dashboard.style import CSS

__all__ = ["PAGE", "POLICY"]

_SECTIONS = (  # id, heading
    ("live", "Under way"),
    ("sites", "Sites"),
    ("runs", "Runs"),
    ("refusals", "Refusals and failures"),
    ("publications", "Publications"),
    ("certificates", "Certificates"),
    ("server", "Server"),
)


def _section(name: str, heading: str) -> str:
    return f'<section aria-labelledby="of-{name}"><h2 id="of-{name}">{heading}</h2><div id="{name}"></div></section>'


PAGE = f"""\
<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="robots" content="noindex">
<link rel="icon" href="data:,">
<title>pFedGP</title>
<style>{CSS}</style>
</head>
<body>
<noscript><p>This page needs JavaScript. Without it: <code>pfedgp dashboard --json</code>.</p></noscript>
<form id="login" hidden>
<h1>pFedGP</h1>
<p id="why" role="alert"></p>
<label for="token">Token, from the file that <code>pfedgp dashboard</code> names</label>
<input id="token" type="password" autocomplete="off" spellcheck="false" required>
<button>Open</button>
</form>
<main id="page" hidden>
<header><span>pFedGP</span><span id="updated"></span><button id="leave" type="button">Forget token</button></header>
<p id="stale" role="alert" hidden></p>
<div role="status"><h1 id="headline"></h1></div>
<section id="first" aria-labelledby="of-first" hidden>
<h2 id="of-first">Needs attention</h2><ol id="attention"></ol>
</section>
{"".join(_section(*each) for each in _SECTIONS)}
</main>
<script>{SCRIPT}</script>
</body>
</html>
"""


def _hashed(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


# The browser itself runs no other script, loads nothing from anywhere, and sends to this server alone.
POLICY = "; ".join(
    [
        "default-src 'none'",
        f"script-src {_hashed(SCRIPT)}",
        f"style-src {_hashed(CSS)}",
        "connect-src 'self'",
        "img-src data:",
        "base-uri 'none'",
        "form-action 'none'",
        "frame-ancestors 'none'",
    ]
)
