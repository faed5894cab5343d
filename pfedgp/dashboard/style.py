"""The style of the operator's page: light, dark, on a phone and on paper. Its colours are those of a run's report."""

from server.report.drawing import DARK, LIGHT

__all__ = ["CSS"]

_ROLES = ("ink", "muted", "grid", "surface", "panel", "accent", "warn", "caution")


def _variables(colours: dict[str, str], good: str) -> str:
    return "".join(f"--{role}:{colours[role]};" for role in _ROLES) + f"--good:{good};"


_DAY, _NIGHT = _variables(LIGHT, "#22763f"), _variables(DARK, "#62c98a")

CSS = f"""
:root {{ color-scheme: light dark; {_DAY} }}
@media (prefers-color-scheme: dark) {{ :root {{ {_NIGHT} }} }}
* {{ box-sizing: border-box; }}
[hidden] {{ display: none !important; }}
body {{ margin: 0 auto; max-width: 1400px; padding: 1rem 1rem 4rem; background: var(--surface); color: var(--ink);
  font: 16px/1.5 system-ui, sans-serif; overflow-wrap: anywhere; }}
header {{ display: flex; flex-wrap: wrap; align-items: center; gap: .25rem 1rem;
  color: var(--muted); font-size: .875rem; }}
header span:first-child {{ font-weight: 600; }}
header button {{ margin-left: auto; }}
h1 {{ font-size: 1.5rem; line-height: 1.3; margin: .75rem 0 0; }}
#headline {{ padding: .75rem 1rem; border-radius: 8px; border: 1px solid var(--grid);
  border-left: 8px solid var(--muted); background: var(--panel); }}
#headline.ok {{ border-left-color: var(--good); }}
#headline.attention {{ border-left-color: var(--caution); }}
#headline.broken {{ border-left-color: var(--warn); }}
#headline.unknown {{ color: var(--muted); }}
#stale {{ margin: .75rem 0 0; padding: .5rem .75rem; border: 2px solid var(--warn); border-radius: 8px;
  font-weight: 600; }}
h2 {{ font-size: 1.1rem; margin: 1.75rem 0 .5rem; border-bottom: 1px solid var(--grid); padding-bottom: .2rem; }}
h3 {{ font-size: 1rem; margin: 0 0 .5rem; }}
p {{ margin: .4rem 0; }}
.muted, caption, figcaption, dt {{ color: var(--muted); }}
#attention {{ list-style: none; margin: 0; padding: 0; display: grid; gap: .5rem; }}
#attention li {{ border-left: 4px solid var(--caution); background: var(--panel); padding: .4rem .75rem; }}
#attention li.broken {{ border-left-color: var(--warn); }}
#attention b, #attention span {{ display: block; }}
#attention b {{ font-weight: 600; }}
#attention span {{ color: var(--muted); font-size: .9rem; }}
#live {{ display: grid; grid-template-columns: repeat(auto-fit, minmax(min(20rem, 100%), 1fr)); gap: .75rem; }}
.card {{ background: var(--panel); border: 1px solid var(--grid); border-radius: 8px; padding: .75rem 1rem;
  min-width: 0; }}
.card ul {{ margin: 0; padding-left: 1.2rem; }}
progress {{ width: 100%; height: .9rem; accent-color: var(--accent); }}
figure {{ margin: .5rem 0 0; }}
figcaption {{ font-size: .8rem; }}
svg {{ display: block; width: 100%; height: 3.5rem; }}
polyline {{ fill: none; stroke: var(--accent); stroke-width: 2; vector-effect: non-scaling-stroke;
  stroke-linejoin: round; }}
.mark {{ display: inline-block; white-space: nowrap; font-weight: 600; font-size: .85em; }}
.mark::before {{ content: ""; display: inline-block; width: .65em; height: .65em; margin-right: .4em;
  border-radius: 50%; background: var(--muted); }}
.mark.ok::before {{ background: var(--good); }}
.mark.attention::before {{ background: var(--caution); border-radius: 0; transform: rotate(45deg); }}
.mark.broken::before {{ background: var(--warn); border-radius: 0; }}
.frame {{ overflow: auto; max-height: 32rem; border: 1px solid var(--grid); border-radius: 8px; }}
table {{ border-collapse: collapse; width: 100%; font-size: .875rem; font-variant-numeric: tabular-nums; }}
caption {{ text-align: left; padding: .4rem .6rem; }}
th, td {{ padding: .3rem .6rem; text-align: left; vertical-align: top; white-space: nowrap;
  border-top: 1px solid var(--grid); }}
thead th {{ background: var(--panel); font-weight: 600; position: sticky; top: 0; }}
tbody th {{ font-weight: 600; white-space: normal; min-width: 7rem; max-width: 20rem; }}
td.long {{ white-space: normal; min-width: 14rem; max-width: 40rem; }}
dl {{ display: grid; grid-template-columns: minmax(6rem, max-content) 1fr; gap: .2rem 1rem; margin: 0;
  font-size: .9rem; }}
dd {{ margin: 0; }}
button, input {{ font: inherit; color: inherit; background: var(--panel); border: 1px solid var(--grid);
  border-radius: 6px; padding: .25rem .75rem; }}
button {{ cursor: pointer; }}
:focus-visible {{ outline: 2px solid var(--accent); outline-offset: 2px; }}
#login {{ max-width: 28rem; margin: 10vh auto 0; display: grid; gap: .75rem; }}
#why:empty {{ display: none; }}
#why {{ color: var(--warn); font-weight: 600; }}
@media (min-width: 1000px) {{
  #page {{ display: grid; grid-template-columns: repeat(2, minmax(0, 1fr)); column-gap: 1.5rem; align-items: start; }}
  #page > * {{ grid-column: 1 / -1; }}
  #page > section:has(#live), #page > section:has(#certificates) {{ grid-column: 1; }}
  #page > section:has(#sites), #page > section:has(#server) {{ grid-column: 2; }}
}}
@media screen and (max-width: 600px) {{
  h1 {{ font-size: 1.25rem; }}
  thead {{ display: none; }}
  .frame {{ max-height: none; }}
  table, caption, tbody, tr, th, td {{ display: block; }}
  tbody tr {{ border-top: 1px solid var(--grid); padding: .4rem 0; }}
  tbody th, td, td.long {{ border: 0; padding: .1rem .6rem; white-space: normal; min-width: 0; max-width: none; }}
  td.empty {{ display: none; }}
  td::before {{ content: attr(data-head) ": "; color: var(--muted); }}
}}
@media print {{
  :root {{ color-scheme: light; {_DAY} }}
  body {{ max-width: none; padding: 0; font-size: 10pt; print-color-adjust: exact; -webkit-print-color-adjust: exact; }}
  header button, #login {{ display: none; }}
  #page {{ display: block; }}
  .frame {{ overflow: visible; max-height: none; border: 0; }}
  thead th {{ position: static; }}
  table {{ font-size: 8pt; }}
  th, td {{ white-space: normal; min-width: 0; overflow-wrap: break-word; }}
  tbody th, td.long {{ min-width: 8rem; overflow-wrap: anywhere; }}
  tr, .card, #attention li {{ break-inside: avoid; }}
  h2 {{ break-after: avoid; }}
}}
"""
