"""The behaviour of the operator's page: it asks for the token, polls the snapshot, and shows it.

Texts of the snapshot become text nodes and nothing else, whatever a site is called.
"""

__all__ = ["SCRIPT"]

SCRIPT = r"""
"use strict";
const [EVERY, SLOWEST, ROWS] = [3000, 30000, 200];
const KEY = "pfedgp-dashboard-token";
const $ = (id) => document.getElementById(id);
let token = sessionStorage.getItem(KEY);
let [timer, failures, last, shown] = [0, 0, null, {}];

function el(tag, about, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(about ?? {})) if (value != null) made.setAttribute(name, value);
  made.append(...children.filter((child) => child != null));
  return made;
}
const pad = (number) => String(number).padStart(2, "0");
const clock = (at) => `${pad(at.getHours())}:${pad(at.getMinutes())}`;
function moment(text) {
  if (!text) return "";
  const at = new Date(text);
  if (Number.isNaN(at.getTime())) return text;
  return `${at.getFullYear()}-${pad(at.getMonth() + 1)}-${pad(at.getDate())} ${clock(at)}`;
}
function duration(seconds) {
  if (seconds == null) return "";
  if (seconds < 10) return `${seconds.toFixed(1)} s`;
  if (seconds < 120) return `${Math.round(seconds)} s`;
  if (seconds < 7200) return `${Math.round(seconds / 60)} min`;
  return seconds < 172800 ? `${Math.round(seconds / 3600)} h` : `${Math.round(seconds / 86400)} days`;
}
const number = (value, name) => (name.endsWith("accuracy") ? `${(100 * value).toFixed(1)} %` : value.toPrecision(3));
const score = (value, name) => (value == null ? "" : `${number(value, name)} ${name.replaceAll("_", " ")}`);
const mark = (level, words) => el("span", { class: `mark ${level}` }, words);
const STATES = { completed: "ok", running: "ok", starting: "ok", waiting: "attention", "cut off": "attention",
  stopped: "none", failed: "broken" };
const progress = (run) => (run.round == null ? "" : run.rounds ? `${run.round} of ${run.rounds}` : `${run.round}`);

function table(caption, heads, rows, none) {
  if (!rows.length) return el("p", { class: "muted" }, none);
  // The roles stand because a phone shows rows as blocks, and browsers then forget what a table is.
  const head = el("tr", { role: "row" },
    ...heads.map((name) => el("th", { scope: "col", role: "columnheader" }, name)));
  const cell = (value, column) => {
    if (!column) return el("th", { scope: "row", role: "rowheader" }, value ?? "");
    const long = value != null && Object.hasOwn(value, "long");
    const text = long ? value.long : value ?? "";
    const kind = [long ? "long" : "", text === "" ? "empty" : ""].join(" ").trim();
    return el("td", { role: "cell", "data-head": heads[column], class: kind || null }, text);
  };
  const body = rows.slice(0, ROWS).map((row) => el("tr", { role: "row" }, ...row.map(cell)));
  const made = el("table", { role: "table" }, el("caption", null, caption),
    el("thead", { role: "rowgroup" }, head), el("tbody", { role: "rowgroup" }, ...body));
  const frame = el("div", { class: "frame", tabindex: "0", role: "region", "aria-label": caption }, made);
  const more = rows.length - ROWS;
  return more > 0 ? el("div", null, frame, el("p", { class: "muted" }, `and ${more} more, in state.json`)) : frame;
}
function curve(run) {
  const points = run.history.filter((one) => one.score != null);
  if (points.length < 2) return null;
  const values = points.map((one) => one.score);
  const [low, high] = [Math.min(...values), Math.max(...values)];
  const at = (one, i) => `${(200 * i) / (points.length - 1)},${38 - (36 * (one.score - low)) / (high - low || 1)}`;
  const make = (tag, about) => {
    const made = document.createElementNS("http://www.w3.org/2000/svg", tag);
    for (const [name, value] of Object.entries(about)) made.setAttribute(name, value);
    return made;
  };
  const words = `${run.score_name.replaceAll("_", " ")}, rounds ${points[0].round} to ${points.at(-1).round}`;
  const drawn = make("svg", { viewBox: "0 0 200 40", preserveAspectRatio: "none", role: "img", "aria-label": words });
  drawn.append(make("polyline", { points: points.map(at).join(" ") }));
  const ends = `${number(low, run.score_name)} to ${number(high, run.score_name)}`;
  return el("figure", null, drawn, el("figcaption", null, `${words}: ${ends}`));
}
function live(run) {
  const words = [run.rounds ? `round ${run.round ?? 0} of ${run.rounds}` : null,
    run.round_seconds != null ? `${duration(run.round_seconds)} a round` : null,
    run.seconds_left != null ? `about ${duration(run.seconds_left)} left` : null,
    score(run.score, run.score_name), run.changed ? `last sign ${moment(run.changed)}` : null];
  const bar = run.rounds ? el("progress", { max: run.rounds, value: run.round ?? 0,
    "aria-label": `rounds of ${run.name}` }) : null;
  const failed = Object.entries(run.last_failed).map(([site, why]) => el("li", null, `${site}: ${why}`));
  return el("article", { class: "card" }, el("h3", null, run.name, " ", mark(STATES[run.status] ?? "none", run.status)),
    bar, el("p", null, words.filter(Boolean).join(" \u00b7 ")), curve(run),
    failed.length ? el("div", null, el("p", { class: "muted" }, "Without a usable reply in the last round:"),
      el("ul", null, ...failed)) : null);
}
function connection(site) {
  if (!site.registered) return mark("attention", "key not registered yet");
  if (site.connected == null) return mark("none", "not known");
  return site.connected ? mark("ok", "connected") : mark("attention", "not connected");
}
function since(site) {
  if (site.heard) return `last heard of ${moment(site.heard)}`;
  return site.since ? `${moment(site.since)}${site.connected ? "" : " at the latest"}` : "";
}
function remaining(row) {
  if (!row.readable) return mark("attention", "cannot be read");
  if (row.days_left < 0) return mark("broken", "expired");
  return mark(row.days_left < 30 ? "attention" : "ok", `${row.days_left} days`);
}
const SECTIONS = {
  attention: (s) => s.attention.map((item) => el("li", { class: item.level }, el("b", null, item.text),
    item.remedy ? el("span", null, item.remedy) : null)),
  live: (s) => {
    const runs = s.runs.filter((run) => run.live);
    return runs.length ? runs.map(live) : [el("p", { class: "muted" }, "No run is under way.")];
  },
  sites: (s) => {
    const order = (site) => (site.connected ? 1 : 0);
    const rows = [...s.sites].sort((a, b) => order(a) - order(b) || a.name.localeCompare(b.name));
    const cells = rows.map((site) => [site.name, connection(site), since(site)]);
    return [table(`${s.sites.filter((site) => site.connected).length} of ${s.sites.length} connected`,
      ["site", "state", "since"], cells, "No site is registered.")];
  },
  runs: (s) => {
    const cells = s.runs.map((run) => [run.name, run.kind, mark(STATES[run.status] ?? "none", run.status),
      progress(run), score(run.score, run.score_name), moment(run.started), { long: run.reason }]);
    const some = s.runs.length < s.runs_total ? `the latest ${s.runs.length} of ${s.runs_total}` : "the latest first";
    return [table(some,
      ["run", "kind", "state", "round", "result", "started", "reason"], cells, "There has been no run.")];
  },
  refusals: (s) => {
    const when = (row) => (row.time ? moment(row.time) : row.round != null ? `round ${row.round}` : "");
    const cells = s.refusals.map((row) => [row.site, row.kind, { long: row.reason }, row.times, when(row), row.run]);
    return [table("of the latest five runs", ["site", "kind", "reason", "times", "last", "run"], cells,
      "Nothing was refused."),
      s.refusals_beyond ? el("p", { class: "muted" }, `and ${s.refusals_beyond} more`) : null];
  },
  publications: (s) => {
    const failed = (row) => row.sites.filter((site) => site.error);
    const bad = (row) => failed(row).map((site) => `${site.name} (${site.error})`).join(", ") || "none";
    const cells = s.publications.map((row) => [row.run, row.kind, row.status, row.onboarded, { long: bad(row) },
      moment(row.time), row.model.slice(0, 12)]);
    return [table("models given to sites", ["run", "kind", "state", "onboarded", "failed", "time", "model"], cells,
      "No model was published.")];
  },
  certificates: (s) => [table("dates of certificates; keys of sites do not expire",
    ["certificate", "valid until", "left", "for"],
    s.certificates.map((row) => [row.name, moment(row.until), remaining(row),
      { long: row.for.join(", ") }]), "No certificate is known here.")],
  server: (s) => {
    const up = Object.entries(s.server.processes).map(([name, runs]) => `${name} ${runs ? "runs" : "does not run"}`);
    const rows = { state: s.server.state, "sites connect to": s.server.fleet_address, started: moment(s.server.started),
      programs: up.join(", "), database: s.server.database === false ? "none, a restart loses runs" : null,
      versions: Object.entries(s.server.versions).map(([name, version]) => `${name} ${version}`).join(", "),
      page: `pFedGP ${s.version}` };
    return [el("dl", null, ...Object.entries(rows).filter(([, value]) => value)
      .flatMap(([name, value]) => [el("dt", null, name), el("dd", null, value)]))];
  },
};
function show(s) {
  last = s;
  for (const [name, make] of Object.entries(SECTIONS)) {
    const made = make(s).filter((one) => one != null);
    const text = made.map((one) => one.outerHTML).join("");
    if (shown[name] !== text) $(name).replaceChildren(...made);
    shown[name] = text;
  }
  $("first").hidden = !s.attention.length;
  if ($("headline").textContent !== s.headline.text) $("headline").textContent = s.headline.text;
  $("headline").className = s.headline.level;
  const sign = { ok: "", attention: `(${s.attention.length}) `, broken: "(!) " }[s.headline.level];
  document.title = `${sign}pFedGP`;
  const at = new Date(s.time);
  $("updated").textContent = `live, as of ${clock(at)}:${pad(at.getSeconds())}`;
  $("stale").hidden = true;
}
function stale(why) {
  $("stale").hidden = false;
  $("stale").textContent = last ? `${why} What is below was so at ${moment(last.time)}.` : why;
  $("updated").textContent = "not live";
  $("headline").className = "unknown";
  document.title = "(?) pFedGP";
}
function ask(why) {
  token = null;
  sessionStorage.removeItem(KEY);
  $("login").hidden = false;
  $("page").hidden = true;
  $("why").textContent = why;
  $("token").value = "";
  $("token").focus();
}
async function poll() {
  clearTimeout(timer);
  if (!token || document.hidden) return;
  const used = token;
  try {
    const answer = await fetch("/state.json", { headers: { Authorization: `Bearer ${used}` }, cache: "no-store" });
    if (used !== token) return;
    if (answer.status === 401) return ask("This is not the token.");
    const content = await answer.json();
    if (!answer.ok) throw new Error(content.error);
    failures = 0;
    $("login").hidden = true;
    $("page").hidden = false;
    show(content);
  } catch (error) {
    failures += 1;
    $("page").hidden = false;
    stale(error instanceof TypeError ? "The dashboard does not answer; is pfedgp dashboard still running?"
      : error.message);
  }
  timer = setTimeout(poll, Math.min(EVERY * 2 ** Math.max(0, failures - 1), SLOWEST));
}
$("login").addEventListener("submit", (event) => {
  event.preventDefault();
  token = $("token").value.trim();
  if (!/^[\x21-\x7e]+$/.test(token)) return ask("A token has letters and digits alone.");
  sessionStorage.setItem(KEY, token);
  poll();
});
$("leave").addEventListener("click", () => ask("The token is forgotten."));
document.addEventListener("visibilitychange", poll);
if (location.hash) {
  history.replaceState(null, "", location.pathname);
  ask("A token in an address stays in the browser's history: remove its file for a new one, and paste that here.");
} else if (token) poll();
else ask("");
"""
