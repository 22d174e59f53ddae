"use strict";
// The page of profguard. It reads status.json, dumps.json and flame graphs and draws
// them. All text goes through text nodes and attributes; nothing becomes HTML.

const svgSpace = "http://www.w3.org/2000/svg";

// el makes an element: el("p.dim", {title: "x"}, "text", otherElement).
function el(what, attributes, ...children) {
  const [tag, ...classes] = what.split(".");
  const svg = ["svg", "rect", "line", "path", "circle"].includes(tag);
  const e = svg ? document.createElementNS(svgSpace, tag) : document.createElement(tag);
  if (classes.length) e.setAttribute("class", classes.join(" "));
  for (const [name, value] of Object.entries(attributes || {})) {
    if (typeof value === "function") e.addEventListener(name, value);
    else if (value !== undefined && value !== false) e.setAttribute(name, value === true ? "" : value);
  }
  e.append(...children.flat(9).filter(c => c !== undefined && c !== null && c !== false && c !== ""));
  return e;
}

// visible makes characters visible that are none: controls, ends of lines, and marks
// that reorder text.
const visible = text => [...String(text ?? "")].map(c =>
  /[\p{C}\p{Zl}\p{Zp}]/u.test(c) || (c !== " " && /\p{Zs}/u.test(c)) ? "\\u" + c.codePointAt(0).toString(16).padStart(4, "0") : c);

// clean makes text visible, and cuts it where it is longer than anybody reads.
function clean(text) {
  const shown = visible(String(text ?? "").slice(0, 1000)); // a character takes up to two of these
  return shown.length > 300 ? shown.slice(0, 300).join("") + "…" : shown.join("");
}

const code = text => el("code", null, clean(text));
const dim = (...children) => el("span.dim", null, ...children);
const cell = (...children) => el("td", null, ...children);
const number = (...children) => el("td.num", null, ...children);

// amount writes a value in a unit of the documents.
function amount(v, unit) {
  if (typeof v !== "number" || !isFinite(v)) return "–";
  const a = Math.abs(v);
  switch (unit) {
    case "ratio": return v === 0 ? "0%" : (100 * v).toFixed(a < .01 ? 2 : 1) + "%";
    case "cores": return (a >= 1000 ? Math.round(v) : +v.toPrecision(3)) + (v === 1 ? " core" : " cores");
    case "s waited per second": return +v.toPrecision(3) + " " + unit;
    case "nanoseconds": return amount(v / 1e9, "seconds");
    case "microseconds": return amount(v / 1e6, "seconds");
    case "milliseconds": return amount(v / 1e3, "seconds");
    case "seconds":
      if (v === 0 || a >= 1) return v.toFixed(v === 0 ? 0 : 2) + " s";
      for (const [name, size] of [["ms", 1e-3], ["µs", 1e-6]]) if (a >= size) return +(v / size).toPrecision(3) + " " + name;
      return +(v * 1e9).toPrecision(3) + " ns";
    case "bytes":
      for (const [name, size] of [["GiB", 2 ** 30], ["MiB", 2 ** 20], ["KiB", 2 ** 10]]) if (a >= size) return (v / size).toFixed(1) + " " + name;
      return Math.round(v) + " B";
  }
  return v === Math.trunc(v) || a >= 100 ? String(Math.round(v)) : v.toFixed(2);
}

// span writes how long something takes, in its two largest units.
function span(ms) {
  const s = Math.max(0, Math.round(ms / 1000));
  if (s < 60) return s + " s";
  if (s < 3600) return Math.floor(s / 60) + " min " + s % 60 + " s";
  if (s < 86400) return Math.floor(s / 3600) + " h " + Math.floor(s % 3600 / 60) + " min";
  return Math.floor(s / 86400) + " d " + Math.floor(s % 86400 / 3600) + " h";
}

const time = t => isNaN(new Date(t)) ? clean(t) : el("time", {datetime: t}, new Date(t).toISOString().replace("T", " ").slice(0, 19) + " UTC");
const ago = (t, now = Date.now()) => span(new Date(now) - new Date(t));
const counts = m => Object.entries(m || {}).filter(([, n]) => n).sort().map(([k, n]) => clean(k) + " " + n).join(", ") || "none";

// read fetches a document. What went wrong is an Error with the answer's line.
async function read(url) {
  const answer = await fetch(url, {cache: "no-store"});
  if (!answer.ok) throw new Error((await answer.text()).trim().slice(0, 500) || answer.status + " " + answer.statusText);
  return answer.json();
}

// facts makes a list of names and values; those without a value are left out.
const facts = (list, dl = "dl") => el(dl, null, list.filter(([, v]) => v !== undefined && v !== "" && v !== null)
  .map(([name, ...v]) => el("div", null, el("dt", null, name), el("dd", null, ...v))));

const section = (id, title, ...children) => el("section", {"aria-labelledby": id}, el("h2", {id}, title), ...children);

function table(label, heads, rows) {
  return el("div.scroll", {tabindex: 0, role: "region", "aria-label": label}, el("table", null,
    el("thead", null, el("tr", null, heads.map(h => el(h.startsWith("#") ? "th.num" : "th", {scope: "col"}, h.replace("#", ""))))),
    el("tbody", null, rows.map(cells => el("tr", null, cells)))));
}

// place shows a function, and the last two parts of its file's path with the line.
function place(f) {
  const base = (f.file || "").split("/").slice(-2).join("/");
  return [code(f.function), base && " ", base && el("span.file", {title: clean(f.file)}, clean(base) + (f.line ? ":" + f.line : ""))];
}

// against says the limit of a value, and whether that is above it.
const against = ({value, limit, unit}) => (value > limit ? ", above limit " : ", limit ") + amount(limit, unit);

// bar draws a value against its limit, and the range between its bounds.
function bar(r) {
  const {value, low, high, limit, unit} = r;
  if (!(value >= 0) || !(limit > 0)) return "";
  let end = Math.max(1.5 * limit, 1.05 * value); // the limit is at two thirds
  if (unit === "ratio" && limit <= 1 && value <= 1) end = Math.min(end, 1);
  const at = v => Math.min(100, Math.max(0, 100 * v / end || 0));
  const percent = v => v.toFixed(2) + "%";
  return el("svg.bar" + (value > limit ? ".over" : ""), {width: "100%", height: 14, role: "img", "aria-label": amount(value, unit) + against(r)},
    el("rect.track", {y: 4, width: "100%", height: 6, rx: 3}),
    el("rect.value", {y: 4, width: percent(at(value)), height: 6, rx: 3}),
    high > low && el("rect.bounds", {x: percent(at(low)), y: 2, width: percent(Math.max(.3, at(high) - at(low))), height: 10}),
    el("line.limit", {x1: percent(at(limit)), x2: percent(at(limit)), y1: 0, y2: 14}));
}

// sparkline draws how a value went. A window that was inconclusive is a gap.
function sparkline(history, r) {
  const values = (history || []).map(m => m.verdict === "inconclusive" ? NaN : m.value);
  const known = values.filter(isFinite);
  if (known.length < 2) return "";
  const top = Math.max(r.limit || 0, ...known) || 1;
  const x = i => 2 + 116 * i / (values.length - 1), y = v => 22 - 20 * Math.max(v, 0) / top;
  const path = values.map((v, i) => isFinite(v) ? (i && isFinite(values[i - 1]) ? "L" : "M") + x(i).toFixed(1) + " " + y(v).toFixed(1) : "").join("");
  const last = values.findLastIndex(isFinite);
  return el("svg.spark", {width: 120, height: 24, role: "img", "aria-label": `from ${amount(known[0], r.unit)} to ${amount(known.at(-1), r.unit)} in ${values.length} windows`},
    r.limit > 0 && el("line.limit", {x1: 0, x2: 120, y1: y(r.limit), y2: y(r.limit)}),
    el("path", {d: path}), el("circle", {cx: x(last).toFixed(1), cy: y(values[last]).toFixed(1), r: 2}));
}

// mostOf is the function of an offender, which of the value of a label is what costs most of it.
const mostOf = o => o.within?.function ? o.within : o;

function offenders(list, unit) {
  let before = "";
  return el("ol.offenders", null, list.map(o => {
    const most = mostOf(o), blame = o.blame && o.blame.function && o.blame.function !== most.function && o.blame.function !== before;
    before = o.blame ? o.blame.function : "";
    const chain = (word, frames) => (frames || []).slice(0, 12).map(f => el("li", null, dim(word), " ", place(f)));
    return el("li", null, el("strong", null, amount(o.share ?? o.value, unit)), o.high > o.low && dim(` (${amount(o.low, unit)} to ${amount(o.high, unit)})`), " ", place(o),
      most !== o && el("div", null, "mostly in ", place(most)),
      blame && el("div", null, "called from ", place(o.blame)),
      o.owner?.function && el("div", null, "nearly all of it in ", place(o.owner)),
      (o.callers || o.callees) && el("details", null, el("summary", null, "callers and callees"), el("ul.chain", null,
        chain("from", o.callers), el("li", null, dim("is"), " ", el("strong", null, place(most))), chain("to", o.callees))));
  }));
}

// command shows one to copy.
const command = text => el("p.accept", null, el("code", null, visible(text).join("")));

// here is the address of a document beside the page. A shell gets it in quotes.
const here = name => "'" + new URL(name, location.href).href.replace(/'/g, "%27") + "'";

// usual is what a budget's value was before its alert: the median of the windows within the limit, those
// before the first of the last ones that are not.
function usual(b) {
  const r = b.result, list = (b.history || []).filter(m => m.verdict !== "inconclusive");
  let end = list.length;
  while (end > 0 && (list[end - 1].verdict === "fail" || list[end - 1].value > r.limit)) end--;
  const values = list.slice(Math.max(0, end - 20), end).filter(m => m.verdict !== "fail").map(m => m.value).sort((x, y) => x - y);
  return values.length < 3 ? "" : `${amount(values[values.length >> 1], r.unit)} before (median of ${values.length} windows)`;
}

// sentence is a budget's without its name.
const sentence = b => b.result.budget.startsWith(b.name + ": ") ? b.result.budget.slice(b.name.length + 2) : b.result.budget;

// budget shows where a budget stands: now, or then when a dump was taken.
function budget(b, then) {
  const r = b.result, fresh = r.reason || r.verdict !== "inconclusive", named = b.name !== r.budget;
  const judged = r.verdict !== "inconclusive" || r.value !== 0 || r.high !== 0;
  const open = then || b.state === "firing" || b.state === "pending" || b.warning, state = b.state.replace(" ", "-");
  const over = judged && r.limit > 0 && r.value > r.limit;
  return el("details.budget.b-" + state, {open: !!open},
    el("summary", null,
      el("span.badge.s-" + state, null, b.state), el("span.sentence", null, named && el("strong", null, clean(b.name), " "), code(sentence(b))),
      el("span.measure", null, judged ? [el("strong.value", null, amount(r.value, r.unit)), r.limit > 0 && dim(against(r))] : dim(fresh ? "not judged" : "no window yet")),
      el("span.draw", null, judged && bar(r)), el("span", null, sparkline(b.history, r))),
    b.warning && el("p.warning", null, el("strong", null, "Warning: "), clean(b.warning)),
    fresh && el("p.why", null, el("span.verdict.v-" + r.verdict, null, r.verdict), r.reason !== b.warning && [" ", clean(r.reason)],
      r.high > r.low && dim(` (between ${amount(r.low, r.unit)} and ${amount(r.high, r.unit)})`)),
    over && b.state === "ok" && el("p", null, "The last window is above the limit, which proves nothing by itself. All windows together prove that the budget is kept."),
    b.offender && !r.offenders?.length && el("p", null, "offender in the last event: ", place(b.offender)),
    r.offenders?.length && [offenders(r.offenders, b.offender_unit || r.unit),
      r.over > r.offenders.length && el("p.dim", null, `${r.over - r.offenders.length} more on these paths are over the limit`)],
    b.accept && el("p.accept", null, "To accept the first offender, write: ", el("code", null, visible(b.accept).join("")), ". Only for a while: write “until” and a day after its name, as in “until 2027-01-31”."),
    (b.state === "firing" || b.state === "pending") && el("p.since", null, `${b.state} since `, time(b.since), usual(b) && "; " + usual(b)),
    el("p.dim.small", null, `${b.state} for ${ago(b.since, then)} · windows: ${counts(b.verdicts)}`,
      r.samples > 0 && ` · ${r.samples} samples in the last`, b.dump && [" · ", el("a", {href: "dumps/" + b.dump}, "last dump"), ", of the window until ", time(b.dumped)],
      b.dump_url && [" · exported to ", /^https?:\/\//.test(b.dump_url) ? el("a", {href: b.dump_url}, clean(b.dump_url)) : clean(b.dump_url)]));
}

const urgency = b => ["firing", "pending"].indexOf(b.state) + 1 || (b.warning ? 3 : 4);

function budgets(list) {
  const sorted = list.map((b, i) => [urgency(b), i, b]).sort((x, y) => x[0] - y[0] || x[1] - y[1]).map(x => budget(x[2]));
  const search = list.length > 10 && el("label.search", null, "Find a budget ", el("input", {type: "search", id: "find-budget", input: e => {
    const text = e.target.value.toLowerCase();
    for (const b of sorted) b.hidden = !b.textContent.toLowerCase().includes(text);
  }}));
  return section("budgets", "Budgets", search, sorted.length ? sorted : el("p.dim", null, "none"));
}

// build writes which one it is.
const build = b => clean([b?.version, b?.revision?.slice(0, 12), b?.go].filter(Boolean).join(" ")) || "unknown";

// points writes a growth in points, with its bounds.
const signed = v => (v < 0 ? "\u2212" : "+") + Math.abs(100 * v).toFixed(1);
const points = f => [el("strong", null, signed(f.points)), dim(` (${signed(f.low)} to ${signed(f.high)})`)];

// release shows what the running build costs, compared with the one before.
function release(r) {
  if (!r) return "";
  const cost = v => amount(v, r.unit ? "seconds" : "ratio");
  const heads = ["change", "function", "#before", "#now", "#points", "line"];
  const rows = (r.functions || []).map(f => [
    cell(el("span.change.c-" + (/^[a-z]+$/.test(f.change) ? f.change : "same"), null, clean(f.change))),
    cell(code(f.function), f.was && dim(" was ", code(f.was))),
    number(f.before || f.change === "less" ? cost(f.before) : "new"), number(cost(f.now)), number(points(f)),
    cell(f.file && el("span.file", {title: clean(f.file)}, clean(f.file.split("/").slice(-2).join("/")) + (f.line ? ":" + f.line : "")))]);
  return section("release", "This build and the one before",
    el("p.balance", null, clean(r.message)),
    facts([["this build", build(r.now)], ["before", build(r.before)],
      ["CPU per " + clean(r.unit), r.known ? [el("strong", null, signed(r.growth) + "%"), dim(` (${signed(r.low)}% to ${signed(r.high)}%)`)] : ""],
      ["samples of this build", r.samples]]),
    rows.length > 0 && [table("Functions of the two builds", heads, rows),
      el("p.dim.small", null, (r.unit ? `Costs are CPU time per ${clean(r.unit)}. ` : "Costs are shares of CPU. ") + "Everything together cost 100 points before."),
      el("p.tools", null, el("a", {href: "before.pb.gz"}, "before.pb.gz"), el("a", {href: "now.pb.gz"}, "now.pb.gz")),
      command(`go tool pprof -http=: -normalize -diff_base ${here("before.pb.gz")} ${here("now.pb.gz")}`)]);
}

// A page has one flame graph at a time: drawn is where.
let drawn;
function drawIn(drawing, ...what) {
  if (drawn !== drawing) drawn?.replaceChildren();
  drawn = drawing;
  drawing.replaceChildren(...what);
}

// drawButton draws a flame graph when it is chosen.
const drawButton = (id, text, drawing, url) => el("button", {id, click: async () => {
  drawIn(drawing, el("p.dim", {role: "status"}, "Reading …"));
  try {
    drawIn(drawing, ...flameGraph(await read(url), []));
  } catch (error) {
    drawIn(drawing, el("p.warning", {role: "status"}, clean(error.message)));
  }
}}, text);

// largest lists the functions with the largest own bodies, from a flame graph.
function largest(f) {
  const own = new Map(), all = new Map(); // by the number of the name
  (f.parent || []).forEach((parent, i) => {
    if (i === 0) return;
    const n = f.name[i];
    own.set(n, (own.get(n) || 0) + f.self[i]);
    let outer = true;
    for (let p = parent; outer && p > 0; p = f.parent[p]) outer = f.name[p] !== n;
    if (outer) all.set(n, (all.get(n) || 0) + f.value[i]);
  });
  return [...own].sort((x, y) => y[1] - x[1]).slice(0, 10).filter(([, v]) => v > 0)
    .map(([n, v]) => [cell(code(f.names[n])), number(amount(v / f.total, "ratio")), number(amount(all.get(n) / f.total, "ratio"))]);
}

function lastWindow(w) {
  if (!w || !w.outcome) return section("window", "Last window", el("p.dim", null, "none yet"));
  const functions = el("div", null);
  const e = section("window", "Last window", facts([
    ["outcome", el("span.verdict" + (w.outcome === "ok" ? ".v-pass" : ""), null, clean(w.outcome)), w.reason && " " + clean(w.reason)],
    ["started", time(w.start), ", " + ago(w.start) + " ago, for " + amount(w.elapsed, "nanoseconds") + (w.early ? ", early: CPU jumped" : "")],
    ["samples", w.samples], ["CPU", amount(w.cores, "cores")], ["garbage collection", amount(w.gc, "ratio") + " of CPU"],
    ["RSS", amount(w.rss, "bytes")], ["heap", amount(w.heap, "bytes")], ["goroutines", w.goroutines]]), functions);
  read("window.flame.json").then(f => {
    const rows = largest(f), drawing = el("div", null);
    functions.replaceChildren(...rows.length ? [el("h3", {id: "largest"}, "Largest functions of the last good window"),
      table("Largest functions", ["function", "#own body", "#with what it calls"], rows),
      el("p.tools", null, drawButton("draw-window", "Flame graph", drawing, "window.flame.json"), el("a", {href: "window.pb.gz"}, "window.pb.gz")),
      command(`go tool pprof -http=: ${here("window.pb.gz")}`), drawing] : []);
  }).catch(error => functions.replaceChildren(el("p.dim", null, clean(error.message))));
  return e;
}

const guard = s => section("guard", "The guard itself", facts([
  ["build of the program", s.build && build(s.build)],
  ["own cost", amount(s.cost_share, "ratio") + " of a core lately, " + amount(s.cpu, "nanoseconds") + " of CPU in all"],
  ["windows", counts(s.windows)], ["events dropped", counts(s.dropped)], ["panics", counts(s.panics)], ["dumps", counts(s.dumps)]]));

function dumpTable(d) {
  const rows = (d.dumps || []).map(({id, end, bytes, broken, sidecar}) => {
    const b = sidecar?.budget, r = b?.result || {};
    return [cell(el("a", {href: "dumps/" + id}, time(end))), cell(clean(b?.name || id)), cell(clean(r.verdict) + " " + amount(r.value, r.unit)),
      cell(broken ? clean(broken) : r.offenders?.[0] ? code(r.offenders[0].function) : ""), number(amount(bytes, "bytes"))];
  });
  return section("dumps", "Dumps", d.note && el("p.dim", null, clean(d.note)),
    rows.length > 0 && table("Dumps", ["time", "budget", "measured", "worst offender", "#size"], rows));
}

// live offers a CPU profile of the next seconds, as a flame graph or a file.
function live(s) {
  const drawing = el("div", null), marks = s.budgets?.filter(b => b.state === "firing").flatMap(b => (b.result.offenders || []).map(o => mostOf(o).function));
  const draw = async e => {
    e.preventDefault();
    const n = e.target.elements.seconds.value;
    drawIn(drawing, el("p.dim", {role: "status"}, `Profiling for ${n} seconds …`));
    try {
      drawIn(drawing, ...flameGraph(await read("flame.json?seconds=" + encodeURIComponent(n)), marks));
    } catch (error) {
      drawIn(drawing, el("p.warning", {role: "status"}, clean(error.message)));
    }
  };
  return section("live", "Live CPU profile",
    el("form", {method: "get", action: "profile", submit: e => e.submitter?.id !== "download" && draw(e)},
      el("label", {for: "seconds"}, "Seconds (1 to 60)"), el("input", {id: "seconds", name: "seconds", type: "number", min: 1, max: 60, value: 10, required: true}),
      el("button", {id: "draw"}, "Flame graph"), el("button", {id: "download"}, "Download")),
    el("p.dim.small", null, "While a window of the guard runs, /debug/pprof/profile answers 500: the process has one CPU profiler. A profile from here shares it. " +
      "If this handler answers that path, too, go tool pprof shares it as well: ",
      code('mux.Handle("/debug/pprof/profile", http.StripPrefix("/debug/pprof", g.Handler()))')),
    drawing);
}

// nextWindow says when the next window is.
function nextWindow(s) {
  if (s.state !== "running" || !s.next) return "";
  const left = new Date(s.next) - Date.now();
  return left > 0 ? `, the next window is in ${span(left)}` : ", a window is due or runs";
}

async function overview() {
  const s = await read("status.json");
  const list = s.budgets || [], firing = list.filter(b => b.state === "firing").length;
  document.title = (firing ? `(${firing} firing) ` : "") + "profguard" + (s.program ? ": " + clean(s.program) : "");
  const dumps = el("div", null);
  document.getElementById("top").replaceChildren(
    el("h1", null, "profguard ", el("span.program", null, clean(s.program))),
    s.build ? el("p.dim", null, "build " + build(s.build), s.started && [", started ", time(s.started)]) : "",
    el("p", null, el("span.badge.s-" + s.state, null, s.state), s.reason && el("span.reason", null, " ", clean(s.reason)),
      s.paused_until && [" until ", time(s.paused_until)],
      s.started && dim(` started ${ago(s.started)} ago, as of `, time(new Date().toISOString()), nextWindow(s))),
    el("nav", {"aria-label": "Pages"}, [["#budgets", "Budgets"], s.release && ["#release", "Builds"], ["#window", "Last window"], ["#live", "Live profile"], ["#dumps", "Dumps"],
      ["status.json", "status.json"], ["status.txt", "status as text"], ["budgets", "budgets as text"]].filter(Boolean).map(([href, text]) => [el("a", {href}, text), " "])));
  document.getElementById("main").replaceChildren(budgets(list), release(s.release), lastWindow(s.window), guard(s), s.state === "stopped" ? "" : live(s), dumps);
  try {
    dumps.replaceChildren(dumpTable(await read("dumps.json")));
  } catch (error) {
    dumps.replaceChildren(dumpTable({note: error.message}));
  }
  document.getElementById(location.hash.slice(1))?.scrollIntoView();
}

async function dumpPage(id) {
  const s = await read(`${id}/${id}.json`);
  const files = (s.files || []).filter(f => f.startsWith(id + ".") && !/[/\\?#]/.test(f));
  const drawing = el("div", null), b = s.budget?.result && s.budget, name = clean(b?.name || id);
  const draw = async file => {
    drawing.replaceChildren(el("p.dim", {role: "status"}, "Reading …"));
    try {
      drawing.replaceChildren(...flameGraph(await read(`${id}/${file}.flame.json`), (b?.result.offenders || []).map(o => mostOf(o).function)));
    } catch (error) {
      drawing.replaceChildren(el("p.warning", null, clean(error.message)));
    }
  };
  document.title = "profguard: " + name;
  document.getElementById("top").replaceChildren(el("nav", {"aria-label": "Pages"}, el("a", {href: "../"}, "← profguard")), el("h1", null, name));
  document.getElementById("main").replaceChildren(
    section("facts", "What was measured", b && budget(b, s.end), facts([
      ["window", [s.start && [time(s.start), " to "], time(s.end)]],
      ["alert", s.mark === "first" ? "the first dump of its alert" : s.mark === "worst" ? "the worst when it was taken" : ""],
      ["host", clean(`${s.host}, process ${s.pid}`)], ["build", clean(s.build)]], "dl.wide")),
    section("files", "Files", el("ul.files", null, [...files, id + ".json"].map(f => el("li", null, el("a", {href: `${id}/${f}`, download: true}, clean(f.slice(id.length + 1))),
      f.endsWith(".pb.gz") && [" ", el("button.small", {click: () => draw(f)}, "flame graph")]))),
      files[0]?.endsWith(".pb.gz") && command("go tool pprof -http=: " + (files.includes(id + ".before.cpu.pb.gz") ? "-normalize -diff_base " + here(`${id}/${id}.before.cpu.pb.gz`) + " " : "") + here(`${id}/${files[0]}`))),
    drawing);
  if (files.length) await draw(files[0]);
}

// colour is the class of a frame: the program's own code, the runtime, and for the
// rest one by package, so that neighbours of one package look alike.
function colour(name, module) {
  const plain = name.split("[")[0], slash = plain.lastIndexOf("/"), dot = plain.indexOf(".", slash + 1);
  const pkg = dot < 0 ? plain : plain.slice(0, dot);
  if (pkg === "main" || module && (pkg === module || pkg.startsWith(module + "/"))) return "own";
  if (/^(internal\/)?runtime(\/|$)/.test(pkg)) return "rt";
  let hash = 0;
  for (const c of pkg) hash = (hash * 31 + c.codePointAt(0)) >>> 0;
  return "k" + hash % 6;
}

// short drops the directories and the major version of a function's package path, but not of type
// arguments.
function short(name) {
  const end = name.indexOf("["), head = end < 0 ? name : name.slice(0, end);
  const plain = head.replace(/(\/v([2-9]|[1-9]\d+)|%2ev\d+)\./, ".");
  return plain.slice(plain.lastIndexOf("/") + 1) + name.slice(head.length);
}

// flameGraph draws a flame.json: what it adds up to, a search, the frames. marks are the
// names of offenders.
function flameGraph(f, marks) {
  const names = f.names || [], count = (f.parent || []).length, marked = new Set(marks);
  const warning = f.warning && el("p.warning", null, clean(f.warning));
  if (!count) return [section("flame", "Flame graph", warning || el("p.dim", null, "The profile is empty."))];
  const name = i => i ? names[f.name[i]] : "all", share = v => amount(v / f.total, "ratio");
  const children = f.parent.map(() => []);
  for (let i = 1; i < count; i++) children[f.parent[i]].push(i);
  for (const list of children) list.sort((a, b) => f.value[b] - f.value[a]);
  const rowHeight = 20, frames = el("div.flame", {role: "group", "aria-label": `Flame graph of ${amount(f.total, f.unit)}, the root at the top`});
  const found = el("span.dim", {id: "found", role: "status"}), back = el("button", {id: "whole", hidden: true, click: () => show(0)}, "Whole profile");
  let wanted = "";
  const hit = i => wanted && i && name(i).toLowerCase().includes(wanted);

  // show draws the frames from one on, with its callers above it.
  function show(root) {
    const drawn = [], path = [];
    for (let i = f.parent[root]; i >= 0; i = f.parent[i]) path.unshift(i);
    let deepest = path.length;
    const draw = (i, depth, left, width, outer) => {
      drawn.push(frame(i, depth, left, width, outer));
      deepest = Math.max(deepest, depth);
      if (outer) return;
      for (const c of children[i]) {
        const part = f.value[c] / f.value[root];
        if (part < .001) break; // they are sorted: a pixel of a wide screen
        draw(c, depth + 1, left, part, false);
        left += part;
      }
    };
    path.forEach((i, depth) => draw(i, depth, 0, 1, true));
    draw(root, path.length, 0, 1, false);
    frames.style.height = (deepest + 1) * rowHeight + "px";
    frames.replaceChildren(...drawn);
    drawn[path.length].tabIndex = 0;
    back.hidden = root === 0;
    search();
  }

  function frame(i, depth, left, width, outer) {
    const n = clean(name(i)), mark = marked.has(name(i)), self = f.self[i] ? `; in its own body ${amount(f.self[i], f.unit)}, ${share(f.self[i])}` : "";
    const e = el("button.frame." + (i ? colour(name(i), f.module) : "all") + (mark ? ".mark" : "") + (outer ? ".outer" : ""),
      {title: `${n}\n${amount(f.value[i], f.unit)}, ${share(f.value[i])}${self}${mark ? "\noffender" : ""}`, tabindex: -1, "data-frame": i, click: () => show(i)},
      width * innerWidth > 25 && clean(short(name(i)))); // three letters
    e.style.top = depth * rowHeight + "px";
    e.style.left = 100 * left + "%";
    e.style.width = 100 * width + "%";
    return e;
  }

  // search marks the frames whose function has the text, and adds up the outermost.
  function search() {
    for (const e of frames.children) e.classList.toggle("hit", !!hit(+e.dataset.frame));
    let sum = 0;
    const below = [];
    for (let i = 0; i < count; i++) {
      below[i] = i > 0 && below[f.parent[i]] || !!hit(i);
      if (below[i] && !(i > 0 && below[f.parent[i]])) sum += f.value[i];
    }
    found.textContent = wanted ? ` ${share(sum)} is in frames with this text` : "";
  }

  // The arrow keys lead from frame to frame.
  frames.addEventListener("keydown", e => {
    const from = e.target, i = +from.dataset.frame, all = [...frames.children], same = all.filter(x => x.style.top === from.style.top), at = same.indexOf(from);
    const to = {ArrowUp: all.find(x => +x.dataset.frame === f.parent[i]), ArrowDown: all.find(x => f.parent[+x.dataset.frame] === i),
      ArrowLeft: same[at - 1], ArrowRight: same[at + 1]}[e.key];
    if (!to) return;
    e.preventDefault();
    from.tabIndex = -1;
    to.tabIndex = 0;
    to.focus();
  });
  show(0);
  const keys = [el("span.key.own", null, "own code"), " ", el("span.key.rt", null, "runtime"), " ", el("span.key.k2", null, "other packages"), " ",
    marked.size > 0 && el("span.key.mark", null, "offender")];
  return [section("flame", "Flame graph", warning,
    el("p.dim", null, amount(f.total, f.unit) + " in all. The width of a frame is its cost, including everything it calls. Choose one to zoom in. ", keys),
    f.cut && el("p.dim", null, "Some stacks are deeper than drawn here."),
    el("p.tools", null, el("label.search", null, "Find ", el("input", {type: "search", id: "find-frame", input: e => { wanted = e.target.value.toLowerCase(); search(); }})), " ", back, found),
    frames)];
}

(async () => {
  try {
    document.getElementById("main").replaceChildren(el("p.dim", {role: "status"}, "Reading …"));
    const dump = location.pathname.match(/\/dumps\/([A-Za-z0-9._-]+)$/);
    await (dump ? dumpPage(dump[1]) : overview());
  } catch (error) {
    document.getElementById("main").replaceChildren(el("p.warning", null, "The page could not be drawn: " + clean(error.message)));
  }
})();
