// The live page. All text goes in by textContent, so nothing that users sent can become markup.
import { MAX_SERIES, draw, short } from "/assets/charts.js";

const NUMBERS = new Set(["int", "long", "float", "double"]);
const KEEP_ROWS = 400, SHOWN_ROWS = 40, OVERVIEW_EVERY_MS = 1500, SERIES_CANDIDATES = 2;
const REOPEN_MS = 2000, SILENT_MS = 5000, FIRST_MS = 20000;
const main = document.getElementById("main");
const connection = document.getElementById("connection");
let paused = false;

function make(name, { text, cls, ...rest } = {}, ...children) {
  const made = document.createElement(name);
  if (cls) made.className = cls;
  if (text !== undefined) made.textContent = text;
  for (const [key, value] of Object.entries(rest)) made.setAttribute(key, value);
  made.append(...children);
  return made;
}

function figure(value, label) {
  return make("div", { cls: "figure" }, make("b", { text: value }), make("span", { text: label }));
}

function connected(state, text) {
  connection.className = `pill ${state}`;
  connection.textContent = text;
}

async function load(path) {
  const response = await fetch(path, { headers: { Accept: "application/json" }, signal: AbortSignal.timeout(SILENT_MS) });
  const body = await response.json();
  if (!response.ok) throw new Error(body.detail || response.statusText);
  return body;
}

// --- overview ------------------------------------------------------------------------------------

function appCard(app) {
  const state = app.active.length ? "good" : app.replicas ? "warn" : "bad";
  const text = app.active.length ? `active on ${app.active.join(", ")}` : app.replicas ? "no replica leads yet" : "waiting for a processor";
  return make("article", { cls: "card" },
    make("header", {}, make("h2", {}, make("a", { text: app.app, href: `/apps/${encodeURIComponent(app.app)}` })), make("span", { cls: "soft", text: app.version })),
    make("div", { cls: "figures" }, figure(short(app.total), "results"), figure(short(app.rate), "per second"), figure(String(app.streams), "streams"), figure(String(app.tables), "tables"), figure(String(app.replicas), "replicas"), figure(short(app.lag), "lag")),
    make("div", { cls: "pills" }, make("span", { cls: `pill ${state}`, text })));
}

async function showOverview() {
  document.title = "Lockstep";
  for (;;) {
    try {
      const { apps, nodes } = await load("/v1/live");
      connected("good", "live");
      const cards = apps.length
        ? make("div", { cls: "cards" }, ...apps.map(appCard))
        : make("p", { cls: "empty", text: "No app is deployed yet. Deploy one with: lockstep deploy my.siddhi" });
      const list = nodes.map((node) => make("span", { cls: "pill good", text: `${node.service} · ${node.node}${node.leading ? " · leads" : ""}`, title: node.url }));
      main.replaceChildren(
        make("section", {}, make("h1", { text: "Apps" }), cards),
        make("section", {}, make("h2", { text: "Nodes" }), list.length ? make("div", { cls: "pills" }, ...list) : make("p", { cls: "soft", text: "No node has been heard of yet." })));
    } catch (error) {
      connected("bad", "no connection");
    }
    await new Promise((wake) => setTimeout(wake, OVERVIEW_EVERY_MS));
  }
}

// --- one app -------------------------------------------------------------------------------------

class StreamCard {
  constructor({ name, attributes }) {
    this.attributes = attributes;
    this.rows = [];
    this.numeric = attributes.map((one, at) => ({ ...one, at: at + 2 })).filter((one) => NUMBERS.has(one.type));
    this.texts = attributes.map((one, at) => ({ ...one, at: at + 2 })).filter((one) => one.type === "string").slice(0, SERIES_CANDIDATES);
    this.total = figure("0", "results");
    this.rate = figure("0", "per second");
    this.last = figure("–", "last at");
    this.last.classList.add("time");
    this.legend = make("div", { cls: "legend" });
    this.charts = this.numeric.slice(0, 6).map((one) => this.chart(one));
    this.body = make("tbody");
    const heads = [make("th", { text: "time" }), ...attributes.map((one) => make("th", { text: one.name, cls: NUMBERS.has(one.type) ? "number" : "" }))];
    this.root = make("article", { cls: "card", id: `stream-${name}` },
      make("header", {}, make("h2", { text: name })),
      make("div", { cls: "figures" }, this.total, this.rate, this.last),
      this.legend,
      make("div", { cls: "charts" }, ...this.charts.map((one) => one.root)),
      make("div", { cls: "scroll" }, make("table", {}, make("thead", {}, make("tr", {}, ...heads)), this.body)));
  }

  chart(attribute) {
    const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
    svg.setAttribute("role", "img");
    svg.setAttribute("aria-label", attribute.name);
    const now = make("b", { text: "–" });
    const span = make("span", { cls: "soft" });
    const root = make("div", { cls: "chart" }, make("div", { cls: "name" }, make("span", { text: attribute.name }), now), svg, make("div", { cls: "name" }, span));
    return { attribute, svg, now, span, root };
  }

  take({ total, rate, rows }) {
    this.total.firstChild.textContent = short(total);
    this.rate.firstChild.textContent = short(rate);
    // Who comes back is sent the newest rows again.
    const known = new Set(this.rows.map((row) => row[0]));
    const fresh = rows.filter((row) => !known.has(row[0]));
    if (!fresh.length) return;
    this.rows.push(...fresh);
    if (this.rows.length > KEEP_ROWS) this.rows.splice(0, this.rows.length - KEEP_ROWS);
    this.last.firstChild.textContent = clock(this.rows[this.rows.length - 1][1]);
    this.render();
  }

  render() {
    const by = this.seriesColumn();
    const names = by ? [...new Set(this.rows.map((row) => String(row[by.at])))].sort() : ["all"];
    this.legend.replaceChildren(...(by ? names.map((name, index) => make("span", {}, make("i", { cls: `f${index}` }), name)) : []));
    for (const chart of this.charts) {
      const series = names.map((name) => ({ name, points: [] }));
      this.rows.forEach((row, x) => {
        const y = numeric(row[chart.attribute.at]);
        if (y !== null) series[by ? names.indexOf(String(row[by.at])) : 0].points.push([x, y]);
      });
      const range = draw(chart.svg, series.filter((one) => one.points.length));
      const latest = numeric(this.rows[this.rows.length - 1][chart.attribute.at]);
      chart.now.textContent = short(latest);
      chart.span.textContent = range ? `${short(range.low)} to ${short(range.high)}` : "no value yet";
    }
    const shown = this.rows.slice(-SHOWN_ROWS).reverse();
    this.body.replaceChildren(...shown.map((row) => make("tr", {}, make("td", { text: clock(row[1]), title: `identity ${row[0]}` }), ...this.attributes.map((one, at) => cell(row[at + 2], one.type)))));
  }

  seriesColumn() {
    for (const column of this.texts) {
      const values = new Set(this.rows.map((row) => row[column.at]));
      if (values.size > 1 && values.size <= MAX_SERIES) return column;
    }
    return null;
  }
}

class TableCard {
  constructor({ name, attributes, key }) {
    this.attributes = attributes;
    this.count = figure("0", "rows");
    this.note = make("p", { cls: "soft" });
    this.note.hidden = true;
    this.body = make("tbody");
    this.root = make("article", { cls: "card" },
      make("header", {}, make("h2", { text: name }), make("span", { cls: "soft", text: key.length ? `key ${key.join(", ")}` : "no key" })),
      make("div", { cls: "figures" }, this.count),
      this.note,
      make("div", { cls: "scroll" }, make("table", {}, make("thead", {}, make("tr", {}, ...attributes.map((one) => make("th", { text: one.name, cls: NUMBERS.has(one.type) ? "number" : "" })))), this.body)));
  }

  take({ count, missing, rows }) {
    this.note.textContent = missing ?? "";
    this.note.hidden = !missing;
    this.count.firstChild.textContent = short(count);
    this.body.replaceChildren(...rows.map((row) => make("tr", {}, ...this.attributes.map((one, at) => cell(row[at], one.type)))));
  }
}

// Whole numbers that a browser would round come as text.
function numeric(value) {
  return value === null ? null : Number(value);
}

function cell(value, type) {
  if (value === null) return make("td", { text: "null", cls: NUMBERS.has(type) ? "null number" : "null" });
  if (NUMBERS.has(type)) return make("td", { text: String(value), cls: "number" });
  const text = typeof value === "object" ? JSON.stringify(value) : String(value);
  return make("td", { text, title: text });
}

function clock(milliseconds) {
  const at = new Date(milliseconds);
  return isNaN(at) ? String(milliseconds) : at.toISOString().replace("T", " ").slice(0, 19);
}

function replicaPill(one) {
  const state = one.trouble ? "bad" : one.role === "active" ? "good" : one.ready ? "good" : "warn";
  const lag = one.lag ? ` · lag ${short(one.lag)}` : "";
  return make("span", { cls: `pill ${state}`, text: `${one.node} · ${one.role}${lag}`, title: one.trouble || `position ${one.position}, epoch ${one.epoch}` });
}

async function showApp(name) {
  document.title = `${name} · Lockstep`;
  document.getElementById("crumbs").textContent = `/ ${name}`;
  const app = await load(`/v1/live/${encodeURIComponent(name)}`);
  const streams = new Map(app.streams.map((one) => [one.name, new StreamCard(one)]));
  const tables = new Map(app.tables.map((one) => [one.name, new TableCard(one)]));
  const replicas = make("div", { cls: "pills" });
  const none = make("p", { cls: "empty", text: "This app has no output stream: add a stream that no query reads, or a @sink." });
  main.replaceChildren(
    make("section", {}, make("h1", { text: name }), replicas),
    make("section", {}, make("h2", { text: "Streams" }), streams.size ? make("div", { cls: "cards" }, ...[...streams.values()].map((one) => one.root)) : none),
    ...(tables.size ? [make("section", {}, make("h2", { text: "Tables" }), make("div", { cls: "cards" }, ...[...tables.values()].map((one) => one.root)))] : []),
    make("section", {}, make("details", {}, make("summary", { text: `App text, version ${app.version.slice(0, 12)}` }), make("pre", { text: app.text }))));
  follow(app, streams, tables, replicas);
}

// A browser gives a source up for good at the first answer that is not 200, as proxies give it, and
// does not notice a presenter that says nothing: then another one is opened.
function follow(app, streams, tables, replicas) {
  let source = null, timer = 0;
  function openIn(milliseconds) {
    clearTimeout(timer);
    timer = setTimeout(() => { connected("bad", "no connection"); open(); }, milliseconds);
  }
  function open() {
    source?.close();
    const opened = source = new EventSource(`/v1/apps/${encodeURIComponent(app.app)}/live`);
    openIn(FIRST_MS);
    opened.onerror = () => {
      connected("bad", "connecting again");
      if (opened.readyState === EventSource.CLOSED) openIn(REOPEN_MS);
    };
    opened.addEventListener("changed", () => location.reload());
    opened.addEventListener("digest", (message) => { heard(JSON.parse(message.data)); });
  }
  function heard(digest) {
    if (digest.edition !== app.edition) { location.reload(); return; }
    openIn(SILENT_MS);
    connected("good", "live");
    replicas.replaceChildren(...digest.replicas.map(replicaPill));
    if (!digest.replicas.length) replicas.replaceChildren(make("span", { cls: "pill bad", text: "no processor carries this app now" }));
    if (paused) return;
    for (const [key, value] of Object.entries(digest.streams)) streams.get(key)?.take(value);
    for (const [key, value] of Object.entries(digest.tables)) tables.get(key)?.take(value);
  }
  open();
}

// --- start ---------------------------------------------------------------------------------------

const stored = localStorage.getItem("theme");
const dark = stored ? stored === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
document.documentElement.dataset.theme = dark ? "dark" : "light";
document.getElementById("theme").onclick = () => {
  const next = document.documentElement.dataset.theme === "dark" ? "light" : "dark";
  document.documentElement.dataset.theme = next;
  localStorage.setItem("theme", next);
};
const found = location.pathname.match(/^\/apps\/([^/]+)$/);
if (found) {
  const pause = document.getElementById("pause");
  pause.hidden = false;
  pause.onclick = () => { paused = !paused; pause.textContent = paused ? "Go on" : "Pause"; };
  showApp(decodeURIComponent(found[1])).catch((error) => {
    connected("bad", "no connection");
    main.replaceChildren(make("p", { cls: "empty", text: error.message }));
  });
} else {
  showOverview();
}
