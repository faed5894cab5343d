"""Style and behaviour of a report's page. No font, picture or script comes from elsewhere."""

import base64
import hashlib

from server.report.drawing import DARK, LIGHT

__all__ = ["CSS", "POLICY", "SCRIPT"]


def _variables(colours: dict[str, str]) -> str:
    return "".join(f"--{role}:{colour};" for role, colour in colours.items())


CSS = f"""
:root {{ color-scheme: light dark; {_variables(LIGHT)} }}
@media (prefers-color-scheme: dark) {{ :root {{ {_variables(DARK)} }} }}
* {{ box-sizing: border-box; }}
body {{ margin: 0 auto; max-width: 1240px; padding: 1.5rem 1rem 4rem; background: var(--surface); color: var(--ink);
  font: 16px/1.5 system-ui, sans-serif; overflow-wrap: anywhere; }}
h1 {{ font-size: 1.6rem; line-height: 1.25; margin: 0 0 .25rem; }}
h2 {{ font-size: 1.2rem; margin: 2.5rem 0 .5rem; border-bottom: 1px solid var(--grid); padding-bottom: .25rem; }}
h3 {{ font-size: 1rem; margin: 1.5rem 0 .5rem; }}
p {{ max-width: 90ch; margin: .5rem 0; }}
p.lead, figcaption, caption, small, .cards dt {{ color: var(--muted); }}
nav ul {{ display: flex; flex-wrap: wrap; gap: .25rem 1.25rem; list-style: none; padding: 0; margin: 1rem 0 0; }}
a {{ color: var(--accent); }}
.notice {{ border-left: 4px solid var(--warn); background: var(--panel); padding: .5rem .75rem; max-width: none; }}
.cards {{ display: grid; grid-template-columns: repeat(auto-fill, minmax(min(15rem, 100%), 1fr)); gap: .75rem;
  margin: 1.25rem 0 0; }}
.cards div {{ background: var(--panel); border: 1px solid var(--grid); border-radius: 8px; padding: .6rem .8rem; }}
.cards dt {{ font-size: .85rem; }}
.headline {{ max-width: none; font-size: 1.15rem; margin: 1.25rem 0 0; }}
.headline b {{ font-size: 2.6rem; line-height: 1.1; margin-right: .35rem; font-variant-numeric: tabular-nums; }}
.headline small {{ display: block; font-size: .95rem; }}
.cards dd.more {{ font-size: .85rem; font-weight: 400; color: var(--muted); }}
.one {{ max-width: 25rem; }}
.classes td small {{ display: block; }}
.bars svg {{ max-width: 40rem; }}
.about {{ display: grid; grid-template-columns: minmax(7rem, 12rem) 1fr; gap: .25rem 1rem; margin: .5rem 0; }}
.about dt {{ color: var(--muted); }}
.about dd {{ margin: 0; max-width: 80ch; }}
details {{ margin: .75rem 0; }}
summary {{ cursor: pointer; color: var(--accent); }}
.legend {{ display: flex; flex-wrap: wrap; gap: .25rem 1.25rem; list-style: none; padding: 0; margin: .5rem 0;
  font-size: .85rem; color: var(--muted); }}
.legend i {{ display: inline-block; width: .9rem; height: .9rem; border-radius: 3px; margin-right: .4rem;
  vertical-align: -.1rem; }}
.legend i.accent {{ background: var(--accent); }}
.legend i.warn, .legend i.missed {{ background: var(--warn); }}
.legend i.other {{ background: var(--muted); }}
.legend i.caution {{ background: var(--caution); }}
.cards dd {{ margin: 0; font-size: 1.3rem; font-weight: 600; font-variant-numeric: tabular-nums; }}
.charts {{ display: grid; grid-template-columns: repeat(auto-fill, minmax(min(21rem, 100%), 1fr)); gap: 1rem; }}
.split {{ display: flex; flex-wrap: wrap; gap: 1.5rem; align-items: flex-start; }}
.split > figure {{ flex: 0 1 25rem; }}
.split > div {{ flex: 1 1 20rem; min-width: 0; }}
.small {{ display: grid; grid-template-columns: repeat(auto-fill, minmax(9rem, 1fr)); gap: 1rem .75rem; }}
figure {{ margin: 0; min-width: 0; }}
figcaption {{ font-size: .8rem; line-height: 1.35; }}
figcaption b {{ display: block; color: var(--ink); }}
svg {{ display: block; width: 100%; height: auto; }}
.charts svg {{ max-width: 34rem; }}
.frame {{ overflow-x: auto; max-width: 100%; margin: .75rem 0; border: 1px solid var(--grid); border-radius: 8px; }}
.frame:focus-visible, button:focus-visible, a:focus-visible {{ outline: 2px solid var(--accent); outline-offset: 2px; }}
table {{ border-collapse: collapse; width: 100%; font-size: .875rem; font-variant-numeric: tabular-nums; }}
caption {{ text-align: left; padding: .5rem .7rem; }}
caption span {{ display: inline-block; position: sticky; left: .7rem; max-width: calc(100vw - 4rem); }}
th, td {{ padding: .3rem .55rem; text-align: right; white-space: nowrap; border-top: 1px solid var(--grid); }}
tbody th {{ text-align: left; font-weight: 600; background: var(--surface); }}
tbody th, thead th:first-child {{ position: sticky; left: 0; }}
.words {{ text-align: left; white-space: normal; min-width: 7rem; max-width: 22rem; }}
td.long {{ min-width: 13rem; }}
thead th {{ background: var(--panel); vertical-align: bottom; white-space: normal; overflow-wrap: normal; }}
thead th:first-child {{ text-align: left; }}
th button {{ all: unset; cursor: pointer; font-weight: 600; border-radius: 3px; }}
th button::after {{ content: "\\00a0\\2195"; color: var(--muted); }}
th[aria-sort="ascending"] button::after {{ content: "\\00a0\\2191"; color: var(--accent); }}
th[aria-sort="descending"] button::after {{ content: "\\00a0\\2193"; color: var(--accent); }}
td.changed {{ font-weight: 600; }}
.pairs .frame {{ width: fit-content; }}
.fit .frame {{ width: fit-content; }}
.fit table {{ width: auto; overflow-wrap: normal; }}
.pairs td, .pairs thead th {{ text-align: left; white-space: normal; }}
.pairs tbody th {{ white-space: normal; min-width: 8rem; }}
.confusion thead th:not(:first-child) {{ text-align: center; }}
.confusion td {{ text-align: center; min-width: 2.6rem; }}
.confusion td.accent {{ background: color-mix(in srgb, var(--accent) var(--share), transparent); }}
.confusion td.warn {{ background: color-mix(in srgb, var(--warn) var(--share), transparent); }}
.confusion td.missed {{ background: color-mix(in srgb, var(--warn) calc(var(--share) + 25%), transparent);
  font-weight: 700; }}
.confusion td.other {{ background: color-mix(in srgb, var(--muted) var(--share), transparent); }}
.confusion td.caution {{ background: color-mix(in srgb, var(--caution) var(--share), transparent); }}
footer {{ margin-top: 3rem; color: var(--muted); font-size: .85rem; }}
@media print, (max-width: 600px) {{
  .confusion thead th:not(:first-child) {{ writing-mode: vertical-rl; text-align: right; }}
  .confusion td {{ min-width: 2rem; padding: .3rem .35rem; }}
  .fit td {{ white-space: normal; }}
  .fit th, .fit td {{ padding: .3rem .35rem; }}
}}
@media print {{
  :root {{ color-scheme: light; {_variables(LIGHT)} }}
  body {{ max-width: none; padding: 0; font-size: 10pt; print-color-adjust: exact; -webkit-print-color-adjust: exact; }}
  nav, th button::after {{ display: none; }}
  details::details-content {{ content-visibility: visible; }}
  .frame {{ overflow: visible; border: 0; }}
  table {{ font-size: 7.5pt; }}
  th, td {{ padding: .15rem .35rem; }}
  th, th button, td.words, .classes td small {{ white-space: normal; min-width: 0; }}
  thead th {{ overflow-wrap: break-word; }}
  tbody th, thead th:first-child {{ position: static; }}
  .confusion td {{ min-width: 0; }}
  tr, figure, .cards div {{ break-inside: avoid; }}
  h2 {{ break-after: avoid; }}
}}
"""

SCRIPT = """
for (const table of document.querySelectorAll("table.sortable")) {
  const heads = [...table.tHead.rows[0].cells];
  const body = table.tBodies[0];
  const value = (row, column) => row.cells[column].dataset.sort ?? "";
  heads.forEach((head, column) => head.querySelector("button").addEventListener("click", () => {
    const up = head.getAttribute("aria-sort") !== "ascending";
    const rows = [...body.rows];
    const numeric = rows.every((row) => value(row, column) === "" || !Number.isNaN(Number(value(row, column))));
    rows.sort((first, second) => {
      const [a, b] = [value(first, column), value(second, column)];
      if (a === "" || b === "") return (a === "") - (b === "");
      const order = numeric ? a - b : a.localeCompare(b, undefined, { numeric: true });
      return up ? order : -order;
    });
    for (const other of heads) other.setAttribute("aria-sort", "none");
    head.setAttribute("aria-sort", up ? "ascending" : "descending");
    body.append(...rows);
  }));
}
"""

_HASH = base64.b64encode(hashlib.sha256(SCRIPT.encode()).digest()).decode()
# The browser itself then refuses to load anything, and to run any script but the one above.
POLICY = f"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{_HASH}'; img-src data:"
