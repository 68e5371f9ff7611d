"use strict";
/* Draws a run or two from their traces (scenes of scene.py, packed by packing.py and columns.py). All times are in ns
 * since the measured part of a run began; all runs have one time, `now`, and one window of it.
 *
 * Each picture is a function of the time alone, so any moment can be shown at once: what waits is
 * found in sorted columns, and the cache is kept at every KEYFRAMEth change. */
const MS = 1e6, S = 1e9, KEYFRAME = 2048, MOST_PROCESSES = 6, WROTE_NS = 1e9, MOST_SLOW = 8;
const [EMPTY, READING, CLEAN, AHEAD, DIRTY, WRITING] = [0, 1, 2, 3, 4, 5];
const STATES = ["empty", "reading", "clean", "ahead", "dirty", "writing"];
const STATE_WORDS = ["", "is read", "clean", "prefetched", "dirty", "is written"];
const KINDS = ["", "miss", "hit", "ahead", "write", "behind", "fixed", "flash"];
const PARTS = ["command", "busy", "seek", "rotation", "transfer"];
const PART_WORDS = {command: "the drive's controller takes up the command",
  busy: "the arm is still busy with what was written before", seek: "seek", rotation: "rotation",
  transfer: "transfer"};
const KIND_WORDS = {hit: "the drive's cache has it",
  ahead: "the drive's arm is reading it ahead already", fixed: "the drive serves it",
  flash: "its pages are read and cross the buses"};
const BUSY_WORDS = {flash: "the chips are still busy with what was written before"};
const PART_COLOURS = ["#999999", "#cc79a7", "#56b4e9", "#e69f00", "#009e73"];
const LEAST_MS = 0.1, MOST_MS = 20000; // of the responses' axis
const at = (id) => document.getElementById(id);

/* ---- a run's columns, from those that the page has: packing.py says which, and has the same guesses ---- */

const OF_CACHE = 8;

/* The times of all instants. The page has how long each instant is after the one before, in a column for each kind of
 * instant. An instant's kind follows from what happens then (instant_kinds of packing.py). */
function instantsOf(c) {
  const changes = c["cache.time"], states = c["cache.state"];
  const places = [c["requests.queued"], c["requests.issued"], c.done, changes, c["flushes.time"], c["writes.time"]];
  let count = 0;
  for (const column of places) for (let i = 0; i < column.length; i++) count = Math.max(count, column[i] + 1);
  const instants = new Float64Array(count), kinds = new Uint8Array(count);
  const after = [], next = new Uint32Array(256); // by kind: its column, and how much of the column is used
  for (let bit = 0; bit < 3; bit++)
    for (let i = 0, column = places[bit]; i < column.length; i++) kinds[column[i]] |= 1 << bit;
  for (let i = 0; i < changes.length; i++)
    kinds[changes[i]] = kinds[changes[i]] % OF_CACHE + OF_CACHE * (states[i] + 1);
  for (let kind = 0; kind < 256; kind++) after.push(c["instants." + kind]);
  for (let i = 0, before = 0; i < count; i++) before = instants[i] = before + after[kinds[i]][next[kinds[i]]++];
  return instants;
}

/* The indices of the requests, sorted by the numbers of their commands: a counting sort. */
function byCommand(commands) {
  const n = commands.length, order = new Uint32Array(n);
  let most = 0;
  for (let i = 0; i < n; i++) most = Math.max(most, commands[i]);
  const starts = new Uint32Array(most + 2); // by command: where its requests begin in `order`
  for (let i = 0; i < n; i++) starts[commands[i] + 1]++;
  for (let k = 1; k < starts.length; k++) starts[k] += starts[k - 1];
  for (let i = 0; i < n; i++) order[starts[commands[i]]++] = i;
  return order;
}

/* The place in the cache of each change: the place of an earlier change, to which `befores` leads
 * (previous_changes of packing.py), or the next new place. */
function placesOf(befores, states) {
  const places = new Float64Array(befores.length);
  for (let i = 0, emptied = 0, count = 0; i < places.length; i++) {
    const before = states[i] === EMPTY ? emptied + befores[i] : i - befores[i];
    if (states[i] === EMPTY) emptied = before;
    places[i] = before < 0 ? count++ : places[before];
  }
  return places;
}

/* The requests; issued and completed are still times, as those of the others. */
function unpackedRequests(c, order, instants) {
  const n = order.length, time = (i) => instants[i], r = {queued: c["requests.queued"].map(time)};
  for (const name of ["issued", "completed", "number", "event"]) r[name] = new Float64Array(n);
  for (const name of ["write", "sector", "sectors", "command", "origin", "process"]) r[name] = c["requests." + name];
  const issued = c["requests.issued"], queued = c["requests.queued"], numbers = c["requests.number"];
  for (let k = 0; k < n; k++) {
    r.issued[order[k]] = instants[issued[k]];
    r.completed[order[k]] = instants[c.done[k]];
  }
  for (let i = 0, last = 0; i < n; i++) {
    r.number[i] = numbers[i] + (r.write[i] ? 0 : last + 1);
    last = r.number[i] || last;
    r.event[i] = c["requests.event"][i] + queued[i];
  }
  return r;
}

/* The commands: each guess of compress_commands (packing.py) plus the difference from it that the
 * page has. */
function unpackedCommands(run, c, r) {
  const own = {}, n = c["commands.begin"].length, turn = run.platter.rotation_ns;
  for (const name of ["begin", "done", "free", "from", "to", "kind", "own", ...PARTS]) own[name] = c["commands." + name];
  const first = new Int32Array(n).fill(-1), ends = new Float64Array(n).fill(Infinity);
  r.command.forEach((k, i) => {
    if (first[k] < 0) first[k] = i;
    ends[k] = Math.min(ends[k], r.completed[i]);
  });
  const cylinders = new Map(), angles = new Map(), seeks = new Map();
  for (let k = 0, arm = 0, ready = 0; k < n; k++) {
    const i = first[k], [sector, write] = i < 0 ? [-1, 1] : [r.sector[i], r.write[i]];
    const begin = own.begin[k] += i < 0 ? ready : Math.max(r.issued[i], ready);
    ready = ends[k] = i < 0 ? begin : ends[k];
    const from = own.from[k] += arm;
    arm = own.to[k] += cylinders.has(sector) ? cylinders.get(sector) : from;
    cylinders.set(sector, arm);
    const way = Math.abs(arm - from) * 2 + write;
    own.seek[k] += seeks.get(way) || 0;
    seeks.set(way, own.seek[k]);
    const before = own.command[k] + own.busy[k] + own.seek[k], there = run.start_ns + begin + before;
    if (own.kind[k]) {
      own.rotation[k] += angles.has(sector) ? ((angles.get(sector) - there) % turn + turn) % turn
        : ready - begin - before - own.transfer[k];
      if (turn) angles.set(sector, (there + own.rotation[k]) % turn);
    }
    own.done[k] += own.kind[k] ? before + own.rotation[k] + own.transfer[k] : ready - begin;
  }
  for (let k = 0; k < n; k++) {
    const after = k + 1 < n ? own.begin[k + 1] : Infinity;
    own.free[k] += Math.max(0, Math.min(ends[k], after) - own.begin[k]);
  }
  return own;
}

/* A run with its columns, as scene.py has them. */
async function unpackedRun(run) {
  const names = Object.keys(run.columns), c = {};
  (await Promise.all(names.map((name) => unpack(run.columns[name])))).forEach((column, k) => { c[names[k]] = column; });
  const order = byCommand(c["requests.command"]);
  c.done = c["requests.completed"].map((n, k) => n + c["requests.issued"][k]);
  const instants = instantsOf(c), times = (name) => c[name].map((i) => instants[i]);
  const r = unpackedRequests(c, order, instants);
  run.commands = unpackedCommands(run, c, r);
  for (let i = 0; i < r.queued.length; i++) {
    r.issued[i] -= r.queued[i];
    r.completed[i] -= r.queued[i];
  }
  run.requests = r;
  run.cache = {time: times("cache.time"), place: placesOf(c["cache.before"], c["cache.state"]), state: c["cache.state"]};
  run.flushes = {time: times("flushes.time"), blocks: c["flushes.blocks"]};
  run.writes = {time: times("writes.time"), process: c["writes.process"]};
  run.origins = await inflatedValue(run.origins);
  delete run.columns;
}

/* How many of a sorted column are at most x. */
function upTo(column, x) {
  let low = 0, high = column.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (column[middle] <= x) low = middle + 1;
    else high = middle;
  }
  return low;
}

/* ---- a run ---- */

/* When two runs begin to differ: at the first request of another place, size or direction. (Times
 * differ by some instructions from the beginning, where policies differ.) */
function firstDifference(one, other) {
  const a = one.requests, b = other.requests, n = Math.min(a.queued.length, b.queued.length);
  for (let i = 0; i < n; i++)
    for (const name of ["sector", "sectors", "write"])
      if (a[name][i] !== b[name][i]) return Math.min(a.queued[i], b.queued[i]);
  return a.queued.length === b.queued.length ? null : Math.min(one.length_ns, other.length_ns);
}

/* A number that is one more after each time of `up`, one less after each of `down`, both sorted: the
 * times of its changes, and what it is from then on. */
function steps(up, down) {
  const n = up.length + down.length, times = new Float64Array(n), counts = new Float64Array(n);
  for (let i = 0, u = 0, d = 0; i < n; i++) {
    const rises = d === down.length || (u < up.length && up[u] <= down[d]);
    times[i] = rises ? up[u++] : down[d++];
    counts[i] = u - d;
  }
  return {times, counts, most: counts.reduce((a, b) => Math.max(a, b), 1)};
}

/* Add to a run what its pictures look up: reads in the order of completion, the number of waiting
 * requests and of dirty blocks over time, and the cache's state at every KEYFRAMEth change. */
function prepare(run) {
  const r = run.requests, n = r.queued.length;
  for (let i = 0; i < n; i++) {
    r.issued[i] += r.queued[i];
    r.completed[i] += r.queued[i];
  }
  // By request: when the last of the requests up to it is issued, and completed. So a search for those that wait at
  // a time, backwards, knows where to stop.
  run.lastIssued = new Float64Array(n);
  for (let i = 0, last = -Infinity; i < n; i++) run.lastIssued[i] = last = Math.max(last, r.issued[i]);
  run.lastCompleted = new Float64Array(n);
  for (let i = 0, last = -Infinity; i < n; i++)
    run.lastCompleted[i] = last = Math.max(last, r.completed[i]);
  run.byDone = [...r.queued.keys()].filter((i) => !r.write[i] && r.number[i])
    .sort((a, b) => r.completed[a] - r.completed[b]);
  run.doneTimes = Float64Array.from(run.byDone, (i) => r.completed[i]);
  const responses = run.byDone.map((i) => r.completed[i] - r.queued[i]);
  run.longest = responses.reduce((a, b) => Math.max(a, b), 0);
  run.waiting = steps(r.queued, r.issued.slice().sort());
  const c = run.cache, dirtied = [], cleaned = [], was = new Uint8Array(run.places);
  run.frames = [];
  const since = new Float64Array(run.places);
  run.oldest = 0; // the longest time that a block was dirty
  for (let i = 0; i < c.time.length; i++) {
    if (i % KEYFRAME === 0) run.frames.push({was: was.slice(), since: since.slice()});
    const place = c.place[i];
    if (was[place] === DIRTY) run.oldest = Math.max(run.oldest, c.time[i] - since[place]);
    const before = was[place] === DIRTY, after = c.state[i] === DIRTY;
    if (before !== after) (after ? dirtied : cleaned).push(c.time[i]);
    was[place] = c.state[i];
    since[place] = c.time[i];
  }
  run.dirty = steps(dirtied, cleaned);
  const wrote = run.processes.map(() => []);
  run.writes.time.forEach((t, k) => wrote[run.writes.process[k] - 1].push(t));
  run.wrote = wrote.map((times) => Float64Array.from(times));
}

/* The requests that wait for the drive, in the order in which they will be dispatched. */
function waitingAt(run, t) {
  const r = run.requests, found = [];
  for (let i = upTo(r.queued, t) - 1; i >= 0 && run.lastIssued[i] > t; i--)
    if (r.issued[i] > t) found.push(i);
  return found.sort((a, b) => r.issued[a] - r.issued[b] || r.sector[a] - r.sector[b]);
}

/* How many requests the drive has: those that it is at, and those that it holds. */
function withDriveAt(run, t) {
  const r = run.requests;
  let n = 0;
  for (let i = upTo(r.queued, t) - 1; i >= 0 && run.lastCompleted[i] > t; i--)
    n += r.issued[i] <= t && r.completed[i] > t;
  return n;
}

/* What each process does that reads the disk or writes: for which request it waits, or -1, and how
 * long ago it made a block dirty, or NaN. Several may have one name, as the readers of one job. */
function processesAt(run, t) {
  const r = run.requests;
  const found = run.wrote.map((times) => ({request: -1, wrote: t - times[upTo(times, t) - 1]}));
  for (let i = upTo(r.queued, t) - 1; i >= 0 && run.lastCompleted[i] > t; i--)
    if (r.process[i] && r.completed[i] > t) found[r.process[i] - 1].request = i;
  return found;
}

/* The state of each place in the cache, and since when. */
function cacheAt(run, t) {
  const c = run.cache, end = upTo(c.time, t);
  const frame = Math.min(Math.floor(end / KEYFRAME), run.frames.length - 1);
  if (frame < 0) return {was: new Uint8Array(0), since: new Float64Array(0)};
  const was = run.frames[frame].was.slice(), since = run.frames[frame].since.slice();
  for (let i = frame * KEYFRAME; i < end; i++) {
    was[c.place[i]] = c.state[i];
    since[c.place[i]] = c.time[i];
  }
  return {was, since};
}

/* Where the arm is: its command, its cylinder, and what it does. */
function armAt(run, t) {
  const c = run.commands, i = upTo(c.begin, t) - 1;
  if (i < 0) return {command: -1, cylinder: 0, doing: "idle"};
  const passed = t - c.begin[i];
  if (passed >= c.done[i])
    return {command: passed < c.free[i] ? i : -1, cylinder: c.to[i], doing: "idle"};
  let from = 0;
  for (const name of PARTS) {
    const part = c[name][i];
    if (passed < from + part) {
      // The arm moves evenly during the seek; before it is at `from`, and afterwards at `to`.
      const share = name === "seek" ? (passed - from) / part : PARTS.indexOf(name) > 2 ? 1 : 0;
      const cylinder = c.from[i] + (c.to[i] - c.from[i]) * share;
      return {command: i, cylinder, doing: name};
    }
    from += part;
  }
  return {command: i, cylinder: c.to[i], doing: "transfer"};
}

/* ---- why a read took so long: as sluice/debug/chain.py ---- */

/* The links of request i's response time, one after the other: each has its length in ns, its cause
 * in words, and its kind: "wait" for other commands, "service" by the drive, or "other". */
function explain(run, i) {
  const r = run.requests, c = run.commands, own = r.command[i], links = [];
  const link = (kind, end, words, more = {}) => { // from `time` to `end`
    if (end > time) links.push({kind, ns: end - time, words, begin: time, ...more});
    time = Math.max(time, end);
  };
  const idle = (end) => {
    if (end <= time) return;
    link("other", Math.min(Math.max(r.issued[i], time), end), "the drive is idle until the kernel dispatches");
    link("other", end, "on its way to the drive");
  };
  let time = r.queued[i];
  for (let k = Math.max(0, upTo(c.begin, time) - 1); k < own; k++) {
    const free = c.begin[k] + c.free[k];
    if (free <= time) continue;
    idle(c.begin[k]);
    link("wait", Math.min(free, c.begin[own]), "the drive is at another command", {command: k});
  }
  idle(c.begin[own]);
  const kind = KINDS[c.kind[own]];
  if (kind) {
    for (const name of PARTS) {
      const words = name === "transfer" && KIND_WORDS[kind] ||
        name === "busy" && BUSY_WORDS[kind] || PART_WORDS[name];
      link("service", time + c[name][own], words, {part: name});
    }
  } else {
    link("service", c.begin[own] + c.done[own], "the drive serves it", {part: "transfer"});
  }
  link("other", r.completed[i], "until the kernel has noted that it is done");
  return links;
}

/* The links with one cause together: of waits, one for each origin and direction. A command without
   requests is the disk's own. */
function grouped(run, links) {
  const r = run.requests, groups = new Map(), of = requestsOf(run);
  for (const link of links) {
    let key = link.words, group = {words: link.words, part: link.part, kind: link.kind};
    const requests = of.get(link.command) || [], own = run.own[run.commands.own[link.command]];
    if (link.kind === "wait" && own) {
      key = own;
      group = {kind: "wait", origin: [own, -1, 0], write: 1};
    } else if (link.kind === "wait") {
      const write = r.write[requests[0]];
      const found = [...new Set(requests.map((i) => r.origin[i]))].map((o) => run.origins[o]);
      const [, burst, blocks] = found.find((origin) => origin[1] >= 0) || found[0];
      const words = [...new Set(found.map((origin) => origin[0]))].join(" and ");
      key = [words, burst, write].join();
      group = {kind: "wait", origin: [words, burst, blocks], write};
    }
    if (!groups.has(key)) groups.set(key, {...group, ns: 0, requests: [], commands: 0});
    const found = groups.get(key);
    found.ns += link.ns;
    found.commands++;
    found.requests.push(...requests);
  }
  return [...groups.values()];
}

/* The requests of each command, as a Map. It is made once. */
function requestsOf(run) {
  if (!run.ofCommand) {
    run.ofCommand = new Map();
    run.requests.command.forEach((command, i) => {
      if (!run.ofCommand.has(command)) run.ofCommand.set(command, []);
      run.ofCommand.get(command).push(i);
    });
  }
  return run.ofCommand;
}

const exactMs = (ns) => {
  const whole = Math.floor(ns / MS);
  return whole.toLocaleString("en") + "." + String(Math.round(ns - whole * MS)).padStart(6, "0");
};
const seconds = (ns, digits = 3) => (ns / S).toFixed(digits) + " s";
const many = (n, word) => n.toLocaleString("en") + " " + word + (n === 1 ? "" : "s");

function groupWords(run, group) {
  if (group.kind !== "wait") return group.words;
  const [who, burst, blocks] = group.origin, r = run.requests;
  if (!group.requests.length) return "behind " + many(group.commands, "command") + " of " + who;
  const queued = group.requests.map((i) => r.queued[i]);
  const first = queued.reduce((a, b) => Math.min(a, b)), last = queued.reduce((a, b) => Math.max(a, b));
  return "behind " + many(group.requests.length, group.write ? "write" : "read") + " of " + who +
    (burst >= 0 ? ", in a burst of " + many(blocks, "block") : "") + ", queued at " + seconds(first) +
    (last > first ? " to " + seconds(last) : "");
}

function groupColour(run, group) {
  if (group.kind === "wait") return css(group.write ? "--write" : "--reading");
  return group.part ? PART_COLOURS[PARTS.indexOf(group.part)] : css("--rule");
}

/* A command line about the run; and the one that makes the run again and stops it in gdb, at an instant as --at has
 * it. */
const commandOf = (what, run) => "sluice " + what + " " + run.experiment +
  (run.size === "full" ? "" : " --size=" + run.size) + " --run=" + run.run;
const replayCommand = (run, instant) => commandOf("debug", run) + " --at=" + instant;

/* Show what request i waited for: a bar and a table with a row for each group of links. */
function showChain(run, i) {
  chosen = {run, i};
  const r = run.requests, box = at("chain"), groups = grouped(run, explain(run, i));
  const make = (tag, text, parent) => {
    const made = document.createElement(tag);
    made.textContent = text;
    parent.append(made);
    return made;
  };
  box.replaceChildren();
  box.hidden = false;
  const place = slowReads.findIndex((one) => one.run === run && one.i === i);
  make("h2", "Read " + r.number[i] + " of " + run.name + ": " + seconds(r.completed[i] - r.queued[i]) + ", from " +
    seconds(r.queued[i]) + " to " + seconds(r.completed[i]) +
    (place < 0 ? "" : " (slow read " + (place + 1) + " of " + slowReads.length + ")"), box);
  const bar = make("div", "", box), table = make("table", "", box);
  bar.className = "bar";
  for (const group of groups) {
    const piece = make("span", "", bar), row = make("tr", "", table);
    piece.style.flex = group.ns + " 0 1px";
    piece.style.background = groupColour(run, group);
    piece.title = groupWords(run, group);
    make("td", exactMs(group.ns) + " ms", row);
    const cell = make("td", "", row), swatch = make("i", "", cell);
    swatch.style.background = groupColour(run, group);
    cell.append(groupWords(run, group));
  }
  const sum = make("tr", "", table);
  make("td", exactMs(groups.reduce((ns, group) => ns + group.ns, 0)) + " ms", sum);
  make("td", "in all", sum);
  const about = make("p", "", box);
  if (run.experiment) {
    make("code", commandOf("why", run) + " --read=" + r.number[i], about);
    make("span", " tells the same as text. ", about);
    make("code", replayCommand(run, "event:" + r.event[i]), about);
    make("span", " stops the machine in gdb when this read is queued. ", about);
  }
  make("button", "Close", about).onclick = () => { box.hidden = true; chosen = null; drawAll(); };
}

/* ---- drawing ---- */

let runs = [], slowReads = [], now = 0, from = 0, to = 1, length = 1, playing = false, chosen = null;
let mostWaited = S, mostDirty = S; // where the bars end
let colours = {}, differ = null; // when two runs begin to differ
const css = (name) => colours[name] ||
  (colours[name] = getComputedStyle(document.documentElement).getPropertyValue(name).trim());

/* A canvas as large as it is shown: its context, in CSS pixels, and its size. */
function surface(canvas) {
  const width = canvas.clientWidth, height = canvas.clientHeight, scale = devicePixelRatio || 1;
  if (canvas.width !== Math.round(width * scale) || canvas.height !== Math.round(height * scale)) {
    canvas.width = Math.round(width * scale);
    canvas.height = Math.round(height * scale);
  }
  const context = canvas.getContext("2d");
  context.setTransform(scale, 0, 0, scale, 0, 0);
  context.clearRect(0, 0, width, height);
  context.font = "12px Liberation Sans, Arial, sans-serif";
  return [context, width, height];
}

/* The name of the style variable with a run's colour: that of its number, unless the page has set run.colour. */
const ownColour = (run) => "--run" + (run.colour ?? runs.indexOf(run));

const LEFT = 58; // pixels for the words to the left of lanes
/* The height of a response time on its logarithmic axis, from 0 to 1. */
const heightOf = (ms) => Math.min(1, Math.max(0, Math.log(ms / LEAST_MS) / Math.log(MOST_MS / LEAST_MS)));

/* A canvas that is not shown, of this size in CSS pixels, and its context. */
function behind(width, height) {
  const scale = devicePixelRatio || 1, canvas = document.createElement("canvas");
  canvas.width = Math.max(1, Math.round(width * scale));
  canvas.height = Math.max(1, Math.round(height * scale));
  const g = canvas.getContext("2d");
  g.scale(scale, scale);
  g.font = "12px Liberation Sans, Arial, sans-serif";
  return [canvas, g];
}

/* Draw what a picture shows at every moment; it is made again when its key changes. */
let pictures = {};
function drawKept(name, g, width, height, key, make) {
  const whole = [...key, width, height, devicePixelRatio, css("--ink")].join();
  if (!pictures[name] || pictures[name].whole !== whole) pictures[name] = {whole, canvas: make(width, height)};
  g.drawImage(pictures[name].canvas, 0, 0, width, height);
}

/* The whole run on a strip: at each pixel the longest read that is on its way then. */
function drawOverviewBehind(width, height) {
  const [canvas, g] = behind(width, height), inner = width - LEFT;
  const part = height / runs.length;
  g.fillStyle = css("--shade");
  g.fillRect(LEFT, 0, inner, height);
  runs.forEach((run, n) => {
    const tops = new Float64Array(Math.max(1, Math.ceil(inner))); // by pixel: the height
    for (const i of run.byDone) {
      const ms = (run.requests.completed[i] - run.requests.queued[i]) / MS;
      const end = Math.floor(run.requests.completed[i] / length * inner);
      for (let x = Math.max(0, Math.floor(run.requests.queued[i] / length * inner)); x <= end; x++)
        tops[x] = Math.max(tops[x], heightOf(ms));
    }
    g.fillStyle = css(ownColour(run));
    tops.forEach((top, x) => g.fillRect(LEFT + x, (n + 1) * part - top * part, 1, top * part));
  });
  g.fillStyle = css("--soft");
  g.fillText("whole run", 0, height / 2 + 4);
  return canvas;
}

function drawOverview() {
  const [g, width, height] = surface(at("overview")), inner = width - LEFT;
  drawKept("overview", g, width, height, [], drawOverviewBehind);
  g.strokeStyle = css("--ink");
  g.lineWidth = 2;
  g.strokeRect(LEFT + from / length * inner, 1, Math.max(3, (to - from) / length * inner), height - 2);
}

/* The lanes of a run: where each begins and ends. Between two runs is the band "differ". */
const BETWEEN = 18;
function lanesOf(n, height) {
  const each = (height - 20) / runs.length, top = n * each;
  return {responses: [top + 14, top + each * .53], waiting: [top + each * .57, top + each * .73],
    dirty: [top + each * .77, top + each - (n < runs.length - 1 ? BETWEEN : 3)]};
}

/* The place of a time on a canvas of this width, in pixels from the left. */
const xOf = (t, width) => LEFT + (t - from) / (to - from) * (width - LEFT);

/* The least step of 1, 2, 5 times a power of ten that divides a span into `most` parts or fewer. */
function niceStep(span, most) {
  let step = Math.pow(10, Math.floor(Math.log10(span / most)));
  for (const by of [1, 2, 5, 10]) if (span / (step * by) <= most) return step * by;
  return step * 10;
}

/* The next of 1, 2, 5 times a power of ten. */
const niceEnd = (x) => niceStep(x, 1);

function drawAxis(g, width, height) {
  const step = niceStep(to - from, width / 90);
  const digits = Math.max(0, Math.ceil(-Math.log10(step / S)));
  g.textAlign = "center";
  for (let t = Math.ceil(from / step) * step; t <= to; t += step) {
    const x = xOf(t, width);
    g.fillStyle = css("--rule");
    g.fillRect(x, 0, 1, height - 18);
    g.fillStyle = css("--soft");
    if (x < width - 20) g.fillText(seconds(t, digits), x, height - 5);
  }
  g.textAlign = "left";
}

/* Draw a number over time (steps()): at each pixel its highest value during that pixel's time. */
function drawSteps(g, width, series, [top, bottom], most, colour) {
  g.fillStyle = colour;
  let i = Math.max(0, upTo(series.times, from) - 1);
  const value = (k) => (k >= 0 && k < series.counts.length ? series.counts[k] : 0);
  const perPixel = (to - from) / (width - LEFT);
  let last = series.times.length && series.times[i] <= from ? value(i) : 0;
  for (let x = LEFT, t = from; x < width; x++, t += perPixel) {
    let high = last;
    while (i < series.times.length && series.times[i] <= t + perPixel) {
      last = value(i++);
      high = Math.max(high, last);
    }
    const tall = high / most * (bottom - top);
    g.fillRect(x, bottom - tall, 1, tall);
  }
}

/* The highest value of a series during the time of each pixel. */
function tops(series, width) {
  const found = new Float64Array(Math.max(0, Math.ceil(width - LEFT))), perPixel = (to - from) / (width - LEFT);
  let i = upTo(series.times, from), value = i ? series.counts[i - 1] : 0;
  for (let x = 0; x < found.length; x++) {
    found[x] = value;
    for (; i < series.times.length && series.times[i] <= from + (x + 1) * perPixel; i++) {
      value = series.counts[i];
      found[x] = Math.max(found[x], value);
    }
  }
  return found;
}

/* A band between two runs: the stronger, the more requests wait or blocks are dirty in one of them
 * than in the other. */
function drawDifferences(g, width, height) {
  const y = lanesOf(0, height).dirty[1] + 6, end = Math.min(...runs.map((run) => run.length_ns));
  g.fillStyle = css("--soft");
  g.fillText("differ", 0, y + 7);
  g.fillStyle = css("--bad");
  const shares = ["waiting", "dirty"].map((name) => {
    const [one, other] = runs.map((run) => tops(run[name], width)), most = Math.max(...runs.map((run) => run[name].most));
    return one.map((value, x) => Math.abs(value - other[x]) / most);
  });
  for (let x = 0; x < shares[0].length && from + x / (width - LEFT) * (to - from) < end; x++) {
    const share = Math.max(shares[0][x], shares[1][x]);
    g.globalAlpha = share > .01 ? .25 + .75 * share : 0;
    g.fillRect(LEFT + x, y, 1, 6);
  }
  g.globalAlpha = 1;
}

/* The lanes without what moves with the time: reads as dots at their ends, waiting requests, dirty blocks. */
function drawLanesBehind(width, height) {
  const [canvas, g] = behind(width, height);
  drawAxis(g, width, height);
  const mostWaiting = Math.max(...runs.map((run) => run.waiting.most));
  const mostBlocks = Math.max(...runs.map((run) => run.dirty.most));
  runs.forEach((run, n) => {
    const lanes = lanesOf(n, height), [top, bottom] = lanes.responses;
    g.fillStyle = css("--soft");
    for (const [ms, words] of [[1, "1 ms"], [10, "10 ms"], [100, "0.1 s"], [1000, "1 s"], [10000, "10 s"]]) {
      const y = bottom - heightOf(ms) * (bottom - top);
      g.fillStyle = css("--rule");
      g.fillRect(LEFT, y, width - LEFT, 1);
      g.fillStyle = css("--soft");
      g.fillText(words, 0, y + 4);
    }
    const lowLine = (words, most, [high, low]) => {
      g.fillStyle = css("--soft");
      g.fillText(words, 0, low - (low - high < 25 ? 0 : 12));
      if (low - high >= 25) g.fillText("up to " + most, 0, low);
      g.fillStyle = css("--line");
      g.fillRect(LEFT, low, width - LEFT, 1);
    };
    lowLine("waiting", mostWaiting, lanes.waiting);
    lowLine("dirty", mostBlocks, lanes.dirty);
    drawSteps(g, width, run.waiting, lanes.waiting, mostWaiting, css(ownColour(run)));
    drawSteps(g, width, run.dirty, lanes.dirty, mostBlocks, css("--dirty"));
    const first = upTo(run.doneTimes, from), end = upTo(run.doneTimes, to);
    const dot = end - first > 4000 ? 1.5 : end - first > 400 ? 2.5 : 4;
    g.fillStyle = css(ownColour(run));
    const late = upTo(run.doneTimes, to + run.longest); // reads that are on their way at the end
    for (let k = first; k < late; k++) {
      const i = run.byDone[k], ms = (run.requests.completed[i] - run.requests.queued[i]) / MS;
      const x = xOf(run.doneTimes[k], width), y = bottom - heightOf(ms) * (bottom - top);
      const begin = Math.max(LEFT, xOf(run.requests.queued[i], width));
      if (x - begin > 6 && begin < width) { // its whole wait
        g.globalAlpha = .25;
        g.fillRect(begin, y, x - begin, bottom - y);
        g.globalAlpha = 1;
      }
      if (k < end) g.fillRect(x - dot / 2, y - dot / 2, dot, dot);
    }
    if (run.length_ns < to) {
      const x = Math.max(LEFT, xOf(run.length_ns, width));
      g.fillStyle = css("--shade");
      g.fillRect(x, top - 12, width - x, lanes.dirty[1] - top + 12);
      g.fillStyle = css("--soft");
      if (width - x > 120) g.fillText("this run has ended", x + 8, top + 14);
    }
    g.fillStyle = css(ownColour(run));
    g.font = "bold 13px Liberation Sans, Arial, sans-serif";
    g.fillText(run.name + ": responses of reads", LEFT + 4, top - 2);
    g.font = "12px Liberation Sans, Arial, sans-serif";
  });
  if (runs.length > 1) drawDifferences(g, width, height);
  if (differ !== null && differ >= from && differ <= to) {
    const x = xOf(differ, width);
    g.strokeStyle = g.fillStyle = css("--bad");
    g.setLineDash([5, 4]);
    g.beginPath();
    g.moveTo(x, 0);
    g.lineTo(x, height - 18);
    g.stroke();
    g.textAlign = "right"; // at the end of the second run's title
    if (width > 620) g.fillText("the runs differ from the dashed line on", width - 6, lanesOf(1, height).responses[0] - 2);
  }
  return canvas;
}

function drawLanes() {
  const [g, width, height] = surface(at("lanes"));
  drawKept("lanes", g, width, height, [from, to], drawLanesBehind);
  if (chosen) {
    const {run, i} = chosen, n = runs.indexOf(run), [top, bottom] = lanesOf(n, height).responses;
    const ms = (run.requests.completed[i] - run.requests.queued[i]) / MS;
    const y = bottom - heightOf(ms) * (bottom - top), x = xOf(run.requests.completed[i], width);
    g.strokeStyle = css("--ink");
    g.lineWidth = 2;
    g.beginPath();
    g.moveTo(Math.max(LEFT, xOf(run.requests.queued[i], width)), y);
    g.lineTo(x, y);
    g.stroke();
    g.strokeRect(x - 5, y - 5, 10, 10);
  }
  const x = xOf(now, width);
  if (x >= LEFT) {
    g.fillStyle = css("--ink");
    g.fillRect(x - .75, 0, 1.5, height - 18);
  }
}

/* The angle at which a request's sector begins to pass, as a share of a turn; -1 if not known. */
function angleOf(run, i) {
  const c = run.commands, k = run.requests.command[i], turn = run.platter.rotation_ns;
  if (KINDS[c.kind[k]] !== "miss" && KINDS[c.kind[k]] !== "write") return -1;
  const there = run.start_ns + c.begin[k] + c.command[k] + c.busy[k] + c.seek[k] + c.rotation[k];
  return there % turn / turn;
}

/* Draw the platter with the waiting requests at their angles and cylinders, and the arm. Returns where the arm is. */
function drawPlatter(stage, waiting) {
  const {run, n} = stage, [g, width, height] = surface(stage.platter);
  const arm = armAt(run, now), {rotation_ns: turn, cylinders} = run.platter;
  const middle = width / 2, outer = Math.min(width, height) / 2 - 4, inner = outer * .35;
  const radius = (cylinder) => outer - (outer - inner) * cylinder / Math.max(1, cylinders - 1);
  if (!turn) {
    g.fillStyle = css("--soft");
    g.fillText("this model has no platter", 4, height / 2);
    return arm;
  }
  g.fillStyle = css("--shade");
  g.strokeStyle = css("--line");
  g.lineWidth = 1;
  g.beginPath();
  g.arc(middle, height / 2, outer, 0, 2 * Math.PI);
  g.closePath();
  g.moveTo(middle + inner, height / 2);
  g.arc(middle, height / 2, inner, 0, 2 * Math.PI);
  g.fill("evenodd");
  g.stroke();
  const turned = (run.start_ns + now) % turn / turn;
  const spot = (share, r) => { // the head is at the right; the platter turns against the clock
    const angle = 2 * Math.PI * (share - turned);
    return [middle + r * Math.cos(angle), height / 2 + r * Math.sin(angle)];
  };
  g.strokeStyle = css("--soft"); // a mark on the platter
  g.beginPath();
  g.moveTo(...spot(0, inner));
  g.lineTo(...spot(0, outer));
  g.stroke();
  for (const i of waiting) {
    const share = angleOf(run, i);
    if (share < 0) continue;
    const [x, y] = spot(share, radius(run.commands.to[run.requests.command[i]]));
    g.fillStyle = run.requests.write[i] ? css("--write") : css(ownColour(run));
    const size = run.requests.write[i] ? 3 : 5;
    g.fillRect(x - size / 2, y - size / 2, size, size);
  }
  const head = middle + radius(arm.cylinder), busy = arm.command >= 0 && arm.doing !== "idle";
  g.strokeStyle = css("--ink");
  g.lineWidth = 2;
  g.beginPath();
  g.moveTo(middle + outer + 4, height / 2);
  g.lineTo(head, height / 2);
  g.stroke();
  g.fillStyle = busy ? css("--writing") : css("--ink");
  g.beginPath();
  g.arc(head, height / 2, 5, 0, 7);
  g.fill();
  return arm;
}

/* Draw bars from the left to the right, each at most 10 pixels wide. */
function drawBars(canvas, values, most, colourOf, word) {
  const [g, width, height] = surface(canvas), low = height - 2, each = Math.min(10, (width - 2) / values.length);
  g.fillStyle = css("--shade");
  g.fillRect(0, 0, width, height);
  values.forEach((value, i) => {
    const tall = Math.max(2, Math.min(1, value / most) * (low - 16));
    g.fillStyle = colourOf(i);
    g.fillRect(i * each, low - tall, Math.max(1, each - (each > 3 ? 1 : 0)), tall);
  });
  g.fillStyle = css("--soft");
  g.fillText(word + ", up to " + (most < S ? most / MS + " ms" : most / S + " s"), 4, 12);
}

/* Draw a square for each place in the cache. A dirty one gets stronger with its age, a clean one fainter. */
function drawCache(stage, cache) {
  const {run} = stage, [g, width, height] = surface(stage.cache), n = Math.max(1, run.places);
  const size = Math.max(2, Math.floor(Math.sqrt(width * height / n)));
  const columns = Math.max(1, Math.floor(width / size)), gap = size > 5 ? 1 : 0;
  for (let i = 0; i < cache.was.length; i++) {
    const age = now - cache.since[i], share = Math.min(1, age / mostDirty);
    g.globalAlpha = cache.was[i] === DIRTY ? .35 + .65 * share : cache.was[i] === CLEAN ? 1 - .65 * share : 1;
    g.fillStyle = css("--" + STATES[cache.was[i]]);
    g.fillRect(i % columns * size, Math.floor(i / columns) * size, size - gap, size - gap);
  }
  g.globalAlpha = 1;
}

function drawStage(stage) {
  const {run, n} = stage, r = run.requests, waiting = waitingAt(run, now), cache = cacheAt(run, now);
  const arm = drawPlatter(stage, waiting), age = waiting.map((i) => now - r.queued[i]);
  const oldest = age.reduce((a, b) => Math.max(a, b), 0);
  drawBars(stage.queue, age, mostWaited, (k) => r.write[waiting[k]] ? css("--write") : css(ownColour(run)), "waited");
  drawCache(stage, cache);
  const ages = [];
  for (let i = 0; i < cache.was.length; i++) if (cache.was[i] === DIRTY) ages.push(now - cache.since[i]);
  ages.sort((a, b) => b - a);
  drawBars(stage.dirty, ages, mostDirty, () => css("--dirty"), "dirty");
  const reads = waiting.filter((i) => !r.write[i]).length;
  stage.said.platter = "The drive: " + (run.platter.rotation_ns ? "cylinder " + Math.round(arm.cylinder) + " of " +
    run.platter.cylinders + ", " : "") + arm.doing + "; " + many(withDriveAt(run, now), "request") + " with the drive";
  stage.said.queue = "The queue: " + many(waiting.length, "request") + " queued" + (waiting.length ? " (" + many(reads, "read") +
    "), the oldest for " + seconds(oldest, 3) : "") + ", in the order of dispatch";
  stage.said.dirty = "Delayed writes: " + many(ages.length, "dirty block") + (ages.length ? ", the oldest for " + seconds(ages[0], 1) : "");
  const all = processesAt(run, now).map(({request, wrote}, p) => ({who: run.processes[p], request, wrote}));
  const readers = all.filter(({request}) => request >= 0).map(({who, request}) =>
    who + " waits for a read, for " + seconds(now - r.queued[request]) + " so far");
  const writers = all.filter(({request, wrote}) => request < 0 && wrote < WROTE_NS).map(({who, wrote}) =>
    who + " made a block dirty " + seconds(wrote) + " ago");
  const doing = [...(readers.length ? readers : ["no process waits for a read"]), ...writers];
  stage.said.processes = doing.slice(0, MOST_PROCESSES).join("; ") +
    (doing.length > MOST_PROCESSES ? "; and " + many(doing.length - MOST_PROCESSES, "other") : "");
  for (const [name, words] of Object.entries(stage.said)) {
    stage.captions[name].textContent = words;
    if (stage[name]) stage[name].setAttribute("aria-label", words);
  }
  if (run.experiment) stage.command.textContent = replayCommand(run, seconds(run.start_ns + now, 9).replace(" ", ""));
}

/* Mark what the captions of two runs do not say alike. */
function markDifferences() {
  const [one, other] = stages;
  for (const name of Object.keys(one.captions)) {
    const differs = Boolean(other) && one.said[name] !== other.said[name];
    for (const stage of other ? stages : [one]) stage.captions[name].classList.toggle("differs", differs);
  }
}

let stages = [], told = 0;
function drawAll() {
  if (!runs.length) return;
  drawOverview();
  drawLanes();
  stages.forEach(drawStage);
  markDifferences();
  const starts = new Set(runs.map((run) => run.start_ns));
  at("now").textContent = seconds(now, 6) + " of " + seconds(length, 0);
  at("now").title = starts.size === 1 && runs[0].experiment
    ? "the machine's clock, as in the terminal: " + seconds(runs[0].start_ns + now, 6) : "";
  const lanes = at("lanes");
  lanes.setAttribute("aria-valuenow", (now / S).toFixed(6));
  lanes.setAttribute("aria-valuetext", seconds(now));
  if (!playing || performance.now() - told > 2000) {
    told = performance.now();
    at("told").textContent = (differ === null ? "" : "The runs differ from " + seconds(differ, 6) +
      " on. ") + stages.map(({run, said}) =>
      run.name + " at " + seconds(now) + ": " + Object.values(said).join("; ") + ".").join(" ");
  }
}

/* ---- moving in time ---- */

let asked = false;
function ask() {
  if (asked) return;
  asked = true;
  requestAnimationFrame(() => { asked = false; drawAll(); });
}

function goTo(t) {
  now = Math.min(length, Math.max(0, t));
  if (now < from || now > to) {
    const span = to - from;
    from = Math.max(0, Math.min(length - span, now - span * .1));
    to = from + span;
  }
  remember();
  ask();
}

function zoom(by, around = now) {
  const span = Math.min(length, Math.max(2000, (to - from) * by));
  const share = Math.min(1, Math.max(0, (around - from) / (to - from)));
  from = Math.max(0, Math.min(length - span, around - share * span));
  to = from + span;
  remember();
  ask();
}

let last = 0;
function frame(at_ms) {
  if (!playing) return;
  const passed = Math.min(100, at_ms - last);
  last = at_ms;
  now += passed * MS * Number(at("speed").value);
  if (now >= length) play(false);
  goTo(now);
  requestAnimationFrame(frame);
}

function play(on) {
  playing = on;
  at("play").textContent = on ? "Stop" : "Play";
  if (!on) return ask();
  if (now >= length) goTo(0);
  last = performance.now();
  requestAnimationFrame(frame);
}

/* The reads of each run that took at least half as long as its longest, MOST_SLOW of them at most; the longest of
 * all first. */
function slowest() {
  const found = runs.flatMap((run) => {
    const own = run.byDone.map((i) => ({run, i, ns: run.requests.completed[i] - run.requests.queued[i]}));
    return own.filter(({ns}) => ns >= run.longest / 2).sort((a, b) => b.ns - a.ns).slice(0, MOST_SLOW);
  });
  return found.sort((a, b) => b.ns - a.ns);
}

/* The next slow read (by: 1), or the one before (-1). */
function slow(by) {
  const place = chosen ? slowReads.findIndex(({run, i}) => run === chosen.run && i === chosen.i) : -1;
  const next = slowReads[(Math.max(place + by, place < 0 ? 0 : -1) + slowReads.length) % slowReads.length];
  if (!next) return;
  goTo(next.run.requests.queued[next.i]);
  showChain(next.run, next.i);
  ask();
}

function nextEvent(by) {
  let best = by > 0 ? Infinity : -Infinity;
  for (const {requests} of runs)
    for (const column of [requests.queued, requests.issued, requests.completed])
      for (const t of column)
        if ((t - now) * by > 0 && (t - best) * by < 0) best = t;
  if (Number.isFinite(best)) goTo(best);
}

/* The state is in the page's address, so that it can be shared. A page may have more to say there. */
let writing = 0, alsoInAddress = () => [];
function remember() {
  clearTimeout(writing);
  writing = setTimeout(() => {
    const words = [...alsoInAddress(), "t=" + Math.round(now), "from=" + Math.round(from), "to=" + Math.round(to)];
    if (chosen) words.push("read=" + runs.indexOf(chosen.run) + ":" + chosen.run.requests.number[chosen.i]);
    history.replaceState(null, "", "#" + words.join("&"));
  }, 300);
}

function recall() {
  const said = new URLSearchParams(location.hash.slice(1)), number = (name, other) =>
    said.has(name) && Number.isFinite(Number(said.get(name))) ? Number(said.get(name)) : other;
  from = Math.min(Math.max(0, number("from", 0)), length - 2000);
  to = Math.min(length, Math.max(from + 2000, number("to", length)));
  now = Math.min(length, Math.max(0, number("t", 0)));
  const [n, which] = (said.get("read") || "").split(":").map(Number), run = runs[n];
  const i = run ? run.requests.number.indexOf(which) : -1;
  if (i >= 0 && which) showChain(run, i);
}

/* ---- pointer and keys ---- */

function nearest(x, y, width, height) {
  let best = null, least = 15 * 15;
  runs.forEach((run, n) => {
    const [top, bottom] = lanesOf(n, height).responses;
    const perPixel = (to - from) / (width - LEFT), t = from + (x - LEFT) * perPixel;
    for (let k = upTo(run.doneTimes, t - 15 * perPixel); k < run.doneTimes.length; k++) {
      if (run.doneTimes[k] > t + 15 * perPixel) break;
      const i = run.byDone[k], ms = (run.requests.completed[i] - run.requests.queued[i]) / MS;
      const dx = xOf(run.doneTimes[k], width) - x, dy = bottom - heightOf(ms) * (bottom - top) - y;
      if (dx * dx + dy * dy < least) {
        least = dx * dx + dy * dy;
        best = {run, i};
      }
    }
  });
  return best;
}

/* The longest of the reads that wait at a place, in what is drawn of their waits. */
function waitAt(x, y, width, height) {
  const perPixel = (to - from) / (width - LEFT), t = from + (x - LEFT) * perPixel;
  let best = null;
  runs.forEach((run, n) => {
    const [top, bottom] = lanesOf(n, height).responses, {queued, completed} = run.requests;
    for (let k = upTo(run.doneTimes, t); k < run.doneTimes.length && run.doneTimes[k] <= t + run.longest; k++) {
      const i = run.byDone[k], ns = completed[i] - queued[i];
      const high = bottom - heightOf(ns / MS) * (bottom - top);
      if (queued[i] <= t && ns > 6 * perPixel && y >= high && y <= bottom && !(best && best.ns >= ns)) best = {run, i, ns};
    }
  });
  return best;
}

function listen() {
  const lanes = at("lanes"), overview = at("overview");
  const timeAt = (e) => from + (e.offsetX - LEFT) / (lanes.clientWidth - LEFT) * (to - from);
  let down = false;
  const fingers = new Map(); // two of them zoom
  const apart = () => {
    const [one, other] = [...fingers.values()];
    return Math.max(10, Math.abs(one.offsetX - other.offsetX));
  };
  lanes.onpointerdown = (e) => {
    fingers.set(e.pointerId, e);
    if (fingers.size > 1) {
      down = false;
      return;
    }
    const found = nearest(e.offsetX, e.offsetY, lanes.clientWidth, lanes.clientHeight);
    lanes.setPointerCapture(e.pointerId);
    if (found) {
      showChain(found.run, found.i);
      goTo(found.run.requests.queued[found.i]);
    } else {
      const wait = waitAt(e.offsetX, e.offsetY, lanes.clientWidth, lanes.clientHeight);
      down = true;
      if (wait) showChain(wait.run, wait.i);
      goTo(timeAt(e));
    }
  };
  lanes.onpointermove = (e) => {
    if (fingers.size === 2 && fingers.has(e.pointerId)) {
      const before = apart();
      fingers.set(e.pointerId, e);
      const [one, other] = [...fingers.values()];
      zoom(before / apart(), (timeAt(one) + timeAt(other)) / 2);
    } else if (down) {
      goTo(Math.min(to, Math.max(from, timeAt(e))));
    }
  };
  lanes.onpointerup = lanes.onpointercancel = (e) => {
    fingers.delete(e.pointerId);
    down = false;
  };
  lanes.onwheel = (e) => {
    e.preventDefault();
    zoom(Math.exp(e.deltaY / 400), timeAt(e));
  };
  const move = (e) => {
    const span = to - from, middle = (e.offsetX - LEFT) / (overview.clientWidth - LEFT) * length;
    from = Math.max(0, Math.min(length - span, middle - span / 2));
    to = from + span;
    goTo(Math.min(length, Math.max(0, middle)));
  };
  overview.onpointerdown = (e) => { overview.setPointerCapture(e.pointerId); move(e); };
  overview.onpointermove = (e) => { if (e.buttons) move(e); };
  at("play").onclick = () => play(!playing);
  at("in").onclick = () => zoom(.5);
  at("out").onclick = () => zoom(2);
  at("all").onclick = () => zoom(length / (to - from) + 1);
  at("worst").onclick = () => slow(1);
  const keys = {" ": () => play(!playing), "+": () => zoom(.5), "=": () => zoom(.5), "-": () => zoom(2),
    "0": () => zoom(length / (to - from) + 1), "n": () => slow(1), "p": () => slow(-1),
    "d": () => differ !== null && goTo(differ), "e": () => nextEvent(1), "b": () => nextEvent(-1), "Home": () => goTo(0), "End": () => goTo(length)};
  document.onkeydown = (e) => {
    if (e.ctrlKey || e.metaKey || e.altKey || ["SELECT", "INPUT"].includes(e.target.tagName)) return;
    if (e.key === " " && ["BUTTON", "SUMMARY"].includes(e.target.tagName)) return;
    const by = (to - from) / (e.shiftKey ? 10 : 100);
    if (e.key === "ArrowLeft" || e.key === "ArrowRight") goTo(now + (e.key === "ArrowLeft" ? -by : by));
    else if (keys[e.key.length === 1 ? e.key.toLowerCase() : e.key]) keys[e.key.length === 1 ? e.key.toLowerCase() : e.key]();
    else return;
    e.preventDefault();
  };
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
    colours = {};
    ask();
  });
  new ResizeObserver(ask).observe(document.body);
}

/* ---- the beginning ---- */

function stageOf(run, n) {
  const box = document.createElement("section"), stage = {run, n, said: {}, captions: {}};
  box.className = "stage";
  box.style.setProperty("--own", "var(" + ownColour(run) + ")");
  const title = document.createElement("h2"), parts = document.createElement("div");
  const {update, write, sched, prefetch} = run.policies;
  title.append(run.name + ": ");
  const all = Object.entries({update, write, sched, prefetch, drive: run.drive});
  all.filter(([kind, word]) => !run.name.split(", ").includes(kind + " " + word)).forEach(([kind, word], k) => {
    const other = runs.find((one) => (kind === "drive" ? one.drive : one.policies[kind]) !== word);
    const made = document.createElement(other ? "mark" : "span");
    made.textContent = kind + " " + word;
    title.append(k ? ", " : "", made);
  });
  parts.className = "parts";
  const figure = (name, heading) => {
    const made = document.createElement("figure"), canvas = document.createElement("canvas");
    const caption = document.createElement("figcaption");
    made.className = name;
    canvas.setAttribute("role", "img");
    made.append(caption, canvas);
    stage[name] = canvas;
    stage.captions[name] = caption;
    if (heading) caption.append(heading);
    return made;
  };
  const right = document.createElement("div");
  right.append(figure("queue"), figure("dirty"));
  const key = document.createElement("span");
  key.className = "key";
  for (const state of [READING, CLEAN, AHEAD, DIRTY, WRITING]) {
    const item = document.createElement("span"), mark = document.createElement("i");
    mark.style.background = "var(--" + STATES[state] + ")";
    item.append(mark, STATE_WORDS[state]);
    key.append(item);
  }
  const doing = document.createElement("p");
  doing.className = "processes about";
  stage.captions.processes = doing;
  stage.command = document.createElement("code");
  const replay = document.createElement("p");
  replay.className = "replay about";
  replay.append(stage.command, " stops the machine here, in gdb.");
  replay.hidden = !run.experiment;
  parts.append(doing, figure("platter"), right, figure("cache", key), replay);
  stage.cache.setAttribute("aria-label", "The cache: a square for each buffer, coloured by its state.");
  box.append(title, parts);
  at("stages").append(box);
  return stage;
}

/* Show these runs, which have been prepared, in place of others. */
function show(prepared) {
  runs = prepared;
  chosen = null;
  pictures = {};
  at("chain").hidden = true;
  slowReads = slowest();
  differ = runs.length > 1 ? firstDifference(runs[0], runs[1]) : null;
  mostWaited = niceEnd(Math.max(10 * MS, ...runs.map((run) => run.longest)));
  mostDirty = niceEnd(Math.max(S, ...runs.map((run) => run.oldest)));
  length = Math.max(...runs.map((run) => run.length_ns));
  at("lanes").className = runs.length === 1 ? "one" : "two";
  for (const id of ["controls", "time", "stages"]) at(id).hidden = false;
  at("lanes").setAttribute("aria-valuemax", (length / S).toFixed(6));
  at("stages").replaceChildren();
  stages = runs.map(stageOf);
}

async function begin(scenes) {
  for (const scene of scenes) {
    await unpackedRun(scene);
    prepare(scene);
  }
  show(scenes);
  at("loading").remove();
  recall();
  listen();
  if (!location.hash) slow(1);
  drawAll();
  document.documentElement.dataset.ready = "yes";
}
