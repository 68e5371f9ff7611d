"use strict";
/* Draws a client and its server on one axis (machines.py). All times are in ns since the measured part of the run
 * began. A picture is a function of the data and of the window of time, and is SVG. */
const LEFT = 170, LANE = 15, STEP = 38, GAP = 4, MS = 1e6, LEAST_NS = 1e5;

/* Text without what SVG would take for its own. */
const plain = (text) => String(text).replace(/&/g, "&amp;").replace(/</g, "&lt;");
const ms = (ns) => (ns / MS).toLocaleString("en", {minimumFractionDigits: 3, maximumFractionDigits: 3});

/* The place of the first element whose key is above x. */
function after(list, x, key) {
  let low = 0, high = list.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (key(list[middle]) <= x) low = middle + 1;
    else high = middle;
  }
  return low;
}

/* A window of time, and where a time is in the picture. */
function windowOf(from, to, width) {
  return {from, to, width, x: (t) => LEFT + (t - from) / (to - from) * (width - LEFT)};
}

/* A bar from one time to another, cut to the window; "" outside of it. */
function bar(w, y, height, begin, end, kind, own, words) {
  if (end < w.from || begin > w.to) return "";
  const x = Math.max(LEFT, w.x(begin)), right = Math.min(w.width, w.x(end));
  const box = `x="${x.toFixed(1)}" y="${y}" width="${Math.max(0.5, right - x).toFixed(1)}" height="${height}"`;
  return `<rect class="${kind}${own ? " own" : ""}" ${box}><title>${plain(words)}</title></rect>`;
}

/* A function that says whether a bar of a lane can be left out, because one that is drawn already ends at the same
 * point of the picture. */
function thinned(w) {
  const last = [];
  return (lane, end) => {
    const x = w.x(Math.min(end, w.to));
    if (end < w.from || x - last[lane] < 0.4) return true;
    last[lane] = x;
    return false;
  };
}

const isOwn = (read, chosen) => chosen && read === chosen.number;
const kindOf = (write) => (write ? "write" : "read");

/* A number over time, as an area. */
function area(w, y, steps, label) {
  const first = Math.max(0, after(steps, w.from, (s) => s[0]) - 1), last = after(steps, w.to, (s) => s[0]);
  const most = steps.reduce((a, s) => Math.max(a, s[1]), 1), height = STEP - GAP;
  const level = (n) => (y + height - Math.max(0, n) / most * height).toFixed(1);
  let path = `M${LEFT} ${level(0)}`, n = 0;
  for (let i = first; i < last; i++) {
    const x = Math.max(LEFT, w.x(steps[i][0])).toFixed(1);
    path += `L${x} ${level(n)}L${x} ${level(n = steps[i][1])}`;
  }
  path += `L${w.width} ${level(n)}L${w.width} ${level(0)}Z`;
  return name(y + 12, label) + name(y + 26, `up to ${most}`) + `<path class="area" d="${path}"/>`;
}

const name = (y, text, kind = "") => `<text class="${kind}" x="4" y="${y}">${plain(text)}</text>`;

/* Lanes of bars (machines.py: Bar), one for each name. */
function lanes(w, y, names, bars, chosen) {
  let out = names.map((one, i) => name(y + i * LANE + 11, one)).join("");
  const skip = thinned(w);
  for (const [lane, begin, end, write, read] of bars)
    if (isOwn(read, chosen) || !skip(lane, end)) out += bar(w, y + lane * LANE, LANE - GAP, begin, end, kindOf(write), isOwn(read, chosen),
      `${write ? "write" : read ? `read ${read}` : "read"}, ${ms(end - begin)} ms`);
  return out;
}

/* The frames of one direction. */
function frames(w, y, label, found, chosen) {
  let out = name(y + 11, label);
  const first = after(found, w.from, (f) => f[1]), last = after(found, w.to, (f) => f[0]);
  const skip = thinned(w);
  for (const [begin, end, write, read, lost] of found.slice(first, last))
    if (lost || isOwn(read, chosen) || !skip(0, end)) out += bar(w, y, LANE - GAP, begin, end, lost ? "lost" : kindOf(write), isOwn(read, chosen),
      `a frame of a ${kindOf(write)}${lost ? ", lost" : ""}`);
  return out;
}

const PART_WORDS = ["controller", "arm still busy", "seek", "rotation", "transfer"];
/* The drive's lane. A row is begin, the parts, done, write, read (drive_rows of machine_lanes.py). */
function drive(w, y, label, rows, chosen) {
  let out = name(y + 11, label);
  const skip = thinned(w);
  for (const row of rows) {
    const begin = row[0], [done, write, read] = row.slice(6);
    if (done < w.from || begin > w.to || (skip(0, done) && !isOwn(read, chosen))) continue;
    let at = begin;
    PART_WORDS.forEach((words, i) => {
      if (row[i + 1]) out += bar(w, y, LANE - GAP, at, at += row[i + 1], `part${i}`, false, `${kindOf(write)}: ${words}`);
    });
    if (at < done) out += bar(w, y, LANE - GAP, at, done, kindOf(write), false, kindOf(write));
    if (isOwn(read, chosen)) out += `<g fill="none">${bar(w, y - 1, LANE - GAP + 2, begin, done, "", true, "")}</g>`;
  }
  return out;
}

/* The axis: some five times, on the machines' clock. */
function axis(data, w, y) {
  let unit = 1;
  while ((w.to - w.from) / unit > 6) unit *= [2, 2.5, 2][Math.round(Math.log10(unit) * 3) % 3];
  let out = "";
  for (let t = Math.ceil((w.from + data.start_ns) / unit) * unit; t <= w.to + data.start_ns; t += unit) {
    const x = w.x(t - data.start_ns).toFixed(1);
    out += `<line class="line" x1="${x}" x2="${x}" y1="0" y2="${y}"/>`;
    if (x < w.width - 90) out += `<text x="${x}" y="${y + 14}">${ms(t)} ms</text>`;
  }
  return out;
}

/* The picture of a window. chosen: the slow read whose parts are marked, or null. */
function machinesPicture(data, from, to, width, chosen) {
  const w = windowOf(from, to, width);
  let y = 4, out = "";
  const put = (height, text) => { out += text; y += height; };
  const place = (word) => put(18, name(y + 12, word, "place"));
  place("client");
  put(LANE * data.readers.length, lanes(w, y, data.readers, data.reads, chosen));
  put(STEP, area(w, y, data.dirty, "dirty blocks"));
  put(STEP, area(w, y, data.queue, "waiting requests"));
  put(LANE * data.carriers.length, lanes(w, y, data.carriers, data.carried, chosen));
  place("wire");
  put(LANE, frames(w, y, "to the server", data.to_server, chosen));
  put(LANE, frames(w, y, "to the client", data.to_client, chosen));
  place("server");
  put(LANE * data.servers.length, lanes(w, y, data.servers, data.served, chosen));
  put(STEP, area(w, y, data.server_queue, "waiting requests"));
  put(LANE, drive(w, y, data.drive_name, data.drive, chosen));
  return `<svg class="lanes" xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${y + 20}">${axis(data, w, y)}${out}</svg>`;
}

/* The whole run: for each place on the axis, the longest response of a read that was done then. */
function overviewPicture(data, from, to, width) {
  const w = windowOf(0, data.length_ns, width), longest = {}, height = 50;
  let most = 1, out = "";
  for (const [, begin, end] of data.reads) {
    const x = Math.round(w.x(end));
    longest[x] = Math.max(longest[x] || 0, end - begin);
    most = Math.max(most, end - begin);
  }
  for (const x in longest) {
    const tall = longest[x] / most * height;
    out += `<rect class="read" x="${x}" y="${(height - tall).toFixed(1)}" width="1" height="${tall.toFixed(1)}"/>`;
  }
  out += `<rect class="window" x="${w.x(from).toFixed(1)}" y="0" width="${Math.max(2, w.x(to) - w.x(from)).toFixed(1)}" height="${height}"/>`;
  out += name(14, "reads: response") + name(28, `up to ${ms(most)} ms`);
  return `<svg class="lanes" xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height + 4}">${out}</svg>`;
}

/* The parts of a slow read, which add up. */
function partsTable(data, chosen) {
  const rows = chosen.rows.map(([ns, words]) => `<tr><td>${(ns / MS).toFixed(6)} ms</td><td>${plain(words)}</td></tr>`);
  const when = `queued at ${ms(chosen.begin + data.start_ns)} ms`;
  return `<h2>Read ${chosen.number}, ${when}</h2><table>${rows.join("")}</table>`;
}

/* The window around a slow read. */
function aroundRead(data, chosen) {
  const more = (chosen.end - chosen.begin) / 4;
  return [Math.max(0, chosen.begin - more), Math.min(data.length_ns, chosen.end + more)];
}

/* ---- the page ---- */

async function inflatedData(text) {
  const bytes = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  return JSON.parse(await new Response(stream).text());
}

/* Unpack the page's data, draw it, and let the reader choose a time and a read. */
async function begin(text) {
  const data = await inflatedData(text), at = (id) => document.getElementById(id);
  let from = 0, to = data.length_ns, chosen = null, which = -1;
  const width = () => Math.max(500, at("machines").clientWidth);
  const timeAt = (event) => {
    const box = at("machines").getBoundingClientRect();
    return from + (event.clientX - box.left - LEFT) / (box.width - LEFT) * (to - from);
  };
  const draw = () => {
    at("overview").innerHTML = overviewPicture(data, from, to, width());
    at("machines").innerHTML = machinesPicture(data, from, to, width(), chosen);
    at("parts").innerHTML = chosen ? partsTable(data, chosen) : "";
    at("now").textContent = `${ms(from + data.start_ns)} to ${ms(to + data.start_ns)} ms`;
  };
  const show = (a, b) => {
    const length = Math.min(data.length_ns, Math.max(LEAST_NS, b - a));
    from = Math.max(0, Math.min(a, data.length_ns - length));
    to = from + length;
    draw();
  };
  const zoom = (factor, t = (from + to) / 2) => show(t - (t - from) * factor, t + (to - t) * factor);
  const move = (share) => show(from + (to - from) * share, to + (to - from) * share);
  const slow = (step) => {
    if (!data.slow.length) return;
    which = (which + step + data.slow.length) % data.slow.length;
    chosen = data.slow[which];
    show(...aroundRead(data, chosen));
  };
  const keys = {n: () => slow(1), p: () => slow(-1), "+": () => zoom(0.5), "-": () => zoom(2),
    0: () => show(0, data.length_ns), ArrowLeft: () => move(-0.1), ArrowRight: () => move(0.1)};
  document.addEventListener("keydown", (event) => {
    const key = keys[event.key.length === 1 ? event.key.toLowerCase() : event.key];
    if (!key || event.ctrlKey || event.altKey || event.metaKey) return;
    event.preventDefault();
    key();
  });
  for (const [id, key] of [["worst", "n"], ["in", "+"], ["out", "-"], ["all", "0"]])
    at(id).addEventListener("click", () => keys[key]());
  at("overview").addEventListener("click", (event) => {
    const box = at("overview").getBoundingClientRect(), half = (to - from) / 2;
    const t = (event.clientX - box.left - LEFT) / (box.width - LEFT) * data.length_ns;
    show(t - half, t + half);
  });
  at("machines").addEventListener("wheel", (event) => {
    event.preventDefault();
    zoom(event.deltaY > 0 ? 1.25 : 0.8, timeAt(event));
  }, {passive: false});
  let held = null;
  at("machines").addEventListener("pointerdown", (event) => { held = timeAt(event); });
  addEventListener("pointerup", () => { held = null; });
  addEventListener("pointermove", (event) => {
    if (held === null) return;
    const by = held - timeAt(event);
    show(from + by, to + by);
  });
  addEventListener("resize", draw);
  which = -1;
  slow(1);
  if (!chosen) draw();
  document.documentElement.dataset.ready = "yes";
}
