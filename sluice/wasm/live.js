"use strict";
/* The page with the kernel in it: what is chosen, the worker that makes the runs, and the figures.
 * theatre.js, before this, draws the runs: the last one, and the one before. */

const SLOW_MS = 20000; // a run that takes longer is given up
const MOST_POSITIONS = 200; // of a slider
const KEPT = ["t", "from", "to", "read"]; // words of the address that are the theatre's
const loads = LIVE.loads, kinds = Object.keys(LIVE.policies);
let chosenNow = null; // {load, drive, policies, tunables: those that are not as the load has them}
let shown = []; // the last run, and the one before, which is on its left: {settings, scene, took, ...}
let worker = null, code = null, running = null, wanted = null, runs_made = 0, whenRun = () => {};

/* ---- what is chosen ---- */

const loadNamed = (name) => loads.find((load) => load.name === name);
const policyOf = (tunable) => tunable.split(".")[0];

/* A load as its experiment has it. */
const settingsOf = (load) => ({load: load.name, drive: load.drive, policies: {...load.policies}, tunables: {}});

/* Those of the policies in use, by name: what is said of each, and its value without a choice. */
function tunablesOf(settings) {
  const used = new Set(Object.values(settings.policies)), load = loadNamed(settings.load);
  return Object.entries(LIVE.tunables).filter(([name]) => used.has(policyOf(name)))
    .map(([name, row]) => ({name, ...row, own: Number(load.tunables[name] ?? row.default)}));
}

const valueOf = (settings, tunable) => settings.tunables[tunable.name] ?? tunable.own;

/* The boot arguments of a run. */
function argumentsOf(settings) {
  const load = loadNamed(settings.load), words = new Map(load.args.map((word) => {
    const at = word.indexOf("=");
    return [word.slice(0, at), word.slice(at + 1)];
  }));
  words.set("disk" + (load.disks.length - 1) + ".drive", settings.drive);
  for (const kind of kinds) words.set(kind, settings.policies[kind]);
  for (const [name, value] of Object.entries(settings.tunables))
    if (Object.values(settings.policies).includes(policyOf(name))) words.set(name, value);
  return [...words].map(([name, value]) => name + "=" + value).join(" ");
}

/* ---- the address ---- */

function wordsOf(settings) {
  const own = settingsOf(loadNamed(settings.load)), words = ["load=" + settings.load];
  if (settings.drive !== own.drive) words.push("drive=" + settings.drive);
  for (const kind of kinds)
    if (settings.policies[kind] !== own.policies[kind]) words.push(kind + "=" + settings.policies[kind]);
  for (const [name, value] of Object.entries(settings.tunables)) words.push(name + "=" + value);
  return words;
}

/* One word of the address: put it into the settings, or say what is wrong with it. */
function take(settings, name, value) {
  const among = (list) => (list.includes(value) ? "" : name + "=" + value + ": want one of " + list.join(", "));
  if (name === "load" || KEPT.includes(name)) return "";
  if (name === "drive") {
    const wrong = among(loadNamed(settings.load).drives.map((drive) => drive.name));
    if (!wrong) settings.drive = value;
    return wrong;
  }
  if (kinds.includes(name)) {
    const wrong = among(LIVE.policies[name]);
    if (!wrong) settings.policies[name] = value;
    return wrong;
  }
  const row = LIVE.tunables[name];
  if (!row) return name + ": there is no such policy's kind or tunable";
  if (!/^\d+$/.test(value) || value < row.low || value > row.high)
    return name + "=" + value + ": want a whole number from " + row.low + " to " + row.high;
  settings.tunables[name] = Number(value);
  return "";
}

/* The settings that the address names. What is wrong in it is said, and left out. */
function fromAddress() {
  const said = [...new URLSearchParams(location.hash.slice(1))], wrong = [];
  const [, name] = said.find(([word]) => word === "load") || [];
  if (name !== undefined && !loadNamed(name))
    wrong.push("load=" + name + ": want one of " + loads.map((load) => load.name).join(", "));
  const settings = settingsOf(loadNamed(name) || loads[0]);
  for (const [word, value] of said) wrong.push(take(settings, word, value));
  complain(wrong.filter((words) => words).map((words) => "The address has " + words + ".").join(" "));
  return settings;
}

function complain(words) {
  at("problem").textContent = words;
  at("problem").hidden = !words;
}

/* ---- the form ---- */

function element(tag, parent, facts = {}) {
  const made = Object.assign(document.createElement(tag), facts);
  if (parent) parent.append(made);
  return made;
}

function selector(parent, id, words, options, value, change, about = "") {
  const label = element("label", parent, {textContent: words}), select = element("select", label, {id});
  for (const [name, text] of options) element("option", select, {value: name, textContent: text});
  select.value = value;
  select.onchange = () => change(select.value);
  if (about) element("small", label, {textContent: about});
}

/* Sliders go by ratios where a range is wide. */
const wide = (row) => row.high > 1000 * Math.max(1, row.low);
/* A slider has whole positions from 0 to this number. */
const positionsOf = (row) => Math.min(MOST_POSITIONS, row.high - row.low);

/* The value of a tunable at a slider's position; of a wide range it has two digits. */
function valueAt(row, position) {
  const low = Math.max(1, row.low), share = position / positionsOf(row);
  if (share === 0 || share === 1) return share ? row.high : row.low;
  if (!wide(row)) return Math.round(row.low + (row.high - row.low) * share);
  return Math.round(Number((low * (row.high / low) ** share).toPrecision(2)));
}

/* The slider's position that is nearest to a value. */
function positionOf(row, value) {
  const low = Math.max(1, row.low);
  if (value <= row.low) return 0;
  const share = wide(row) ? Math.log(value / low) / Math.log(row.high / low) : (value - row.low) / (row.high - row.low);
  return Math.max(1, Math.round(share * positionsOf(row)));
}

/* Add a tunable's slider and its field for a number, which follow each other. */
function slider(parent, tunable) {
  const {name, unit, low, high, about} = tunable, box = element("fieldset", parent, {className: "tunable"});
  element("legend", box, {textContent: name + ", " + unit});
  const line = element("div", box);
  const range = element("input", line, {type: "range", min: 0, max: positionsOf(tunable), id: "slide-" + name});
  const number = element("input", line, {type: "number", min: low, max: high, id: "set-" + name});
  range.setAttribute("aria-label", name);
  number.setAttribute("aria-label", name + " as a number, " + unit);
  element("small", box, {textContent: about + " (" + low.toLocaleString("en") + " to " + high.toLocaleString("en") + ")"});
  const say = (value) => {
    number.value = value;
    range.setAttribute("aria-valuetext", value.toLocaleString("en") + " " + unit);
  };
  const choose = (value) => {
    const wrong = take(chosenNow, name, String(value));
    if (wrong) complain(wrong + ".");
    else changed(false);
  };
  range.value = positionOf(tunable, valueOf(chosenNow, tunable));
  say(valueOf(chosenNow, tunable));
  range.oninput = () => say(valueAt(tunable, Number(range.value)));
  range.onchange = () => choose(valueAt(tunable, Number(range.value)));
  number.onchange = () => {
    choose(number.value);
    range.value = positionOf(tunable, valueOf(chosenNow, tunable)); // stays if the number is wrong
  };
}

function fillForm() {
  const load = loadNamed(chosenNow.load);
  for (const id of ["machine", "policies", "tunables"]) at(id).replaceChildren();
  selector(at("machine"), "choose-load", "load", loads.map((one) => [one.name, one.words]), load.name, (name) => {
    chosenNow = settingsOf(loadNamed(name));
    changed(true);
  });
  selector(at("machine"), "choose-drive", "drive", load.drives.map(({name}) => [name, name]), chosenNow.drive, (name) => {
    chosenNow.drive = name;
    changed(false);
  });
  element("button", at("machine"), {type: "button", textContent: "As the experiment has it", id: "reset"}).onclick = () => {
    chosenNow = settingsOf(load);
    changed(true);
  };
  for (const kind of kinds)
    selector(at("policies"), "choose-" + kind, kind, LIVE.policies[kind].map((name) => [name, name]),
      chosenNow.policies[kind], (name) => {
        chosenNow.policies[kind] = name;
        changed(true);
      }, LIVE.abouts[kind + "/" + chosenNow.policies[kind]]);
  for (const tunable of tunablesOf(chosenNow)) slider(at("tunables"), tunable);
}

/* form: other things can be chosen now. The field in use keeps the focus. */
function changed(form) {
  const focus = document.activeElement && document.activeElement.id;
  complain("");
  if (form) fillForm();
  if (form && focus && at(focus)) at(focus).focus();
  remember();
  want();
}

/* ---- runs ---- */

async function unpackedParts() {
  const bytes = {events: LIVE.events, programs: {}};
  for (const name of ["kernel", "tool", "pages"]) bytes[name] = await inflated(LIVE[name]);
  for (const [name, text] of Object.entries(LIVE.programs)) bytes.programs[name] = await inflated(text);
  for (const load of loads)
    for (const disk of load.disks) Object.assign(disk, {places: await unpack(disk.places), pages: await unpack(disk.pages)});
  return bytes;
}

/* Start the worker that makes runs, and give it the machine's code. */
function startWorker() {
  worker = new Worker(URL.createObjectURL(new Blob([at("worker").textContent], {type: "text/javascript"})));
  worker.onmessage = ({data}) => ended(data);
  worker.onerror = (e) => ended({problem: e.message});
  worker.postMessage({parts: code});
}

/* Make the run that is chosen, when the worker is free. */
function want() {
  wanted = structuredClone(chosenNow);
  if (!running) next();
}

/* Have the worker make the wanted run. A worker that takes too long is replaced. */
function next() {
  const settings = wanted, load = loadNamed(settings.load), drive = load.drives.find((one) => one.name === settings.drive);
  const root = {...load.root, rotation_ns: 0, cylinders: 0}, drives = load.disks.length > 1 ? [root, drive] : [drive];
  wanted = null;
  running = {settings, timer: setTimeout(() => {
    worker.terminate();
    startWorker();
    ended({problem: "this run takes longer than " + SLOW_MS / 1000 + " s, and was given up"});
  }, SLOW_MS)};
  at("loading").textContent = "The machine runs ...";
  worker.postMessage({id: ++runs_made, load: {disks: load.disks}, args: argumentsOf(settings),
    about: {name: "", policies: settings.policies, drives, sectors: load.sectors, way_ns: load.way_ns}});
}

/* The worker has made a run, or says why not: show it, and go on with the run wanted by now. */
function ended({run, problem}) {
  if (!running) return complain(problem || "");
  const {settings, timer} = running;
  clearTimeout(timer);
  running = null;
  if (problem) {
    complain("This run was not made: " + problem);
    at("loading").textContent = "";
  } else {
    if (at("problem").textContent.startsWith("This run")) complain("");
    prepare(run.scene);
    present({...run, settings});
  }
  document.documentElement.dataset.ready = "yes";
  whenRun();
  if (wanted) next();
}

/* Ask for a run and wait for its end: for tests and for the browser's console. */
function runOf(settings) {
  chosenNow = settings;
  fillForm();
  want();
  return new Promise((done) => { whenRun = () => { if (!wanted) done(shown[0]); }; });
}

/* ---- what is shown ---- */

/* What makes these settings others than those, in words. */
function difference(settings, other) {
  const [mine, its] = [settings, other].map((one) => {
    const words = {drive: one.drive, ...one.policies};
    for (const tunable of tunablesOf(one)) words[tunable.name] = valueOf(one, tunable);
    return words;
  });
  const policies = new Set(Object.entries(mine).filter(([name, value]) => kinds.includes(name) && value !== its[name])
    .map(([, value]) => value));
  return Object.keys(mine).filter((name) => mine[name] !== its[name] &&
    !(policies.has(policyOf(name)) && settings.tunables[name] === undefined))
    .map((name) => name + " " + mine[name]).join(", ");
}

/* Show a run, beside the run before if that had the same load. The window of time stays as it was. */
function present(run) {
  const before = shown[0];
  run.scene.colour = before ? before.scene.colour : 0;
  if (before && JSON.stringify(before.settings) === JSON.stringify(run.settings)) shown[0] = run;
  else if (before && before.settings.load === run.settings.load) {
    run.scene.colour = 1 - before.scene.colour; // a run keeps its own when it moves to the left
    shown = [run, before];
  } else shown = [run];
  const [one, other] = shown;
  one.scene.name = (other && difference(one.settings, other.settings)) || "this run";
  if (other) other.scene.name = difference(other.settings, one.settings) || "the run before";
  const first = !runs.length, window_ns = first ? null : [now, from, to, length];
  show(shown.map((each) => each.scene).reverse());
  if (first) {
    from = 0;
    to = length;
    recall();
    if (!location.hash.includes("t=")) now = worst(one.scene);
    listen();
  } else if (length === window_ns[3]) {
    [now, from, to] = window_ns;
  } else {
    [now, from, to] = [Math.min(window_ns[0], length), 0, length];
  }
  remember();
  drawAll();
  tell();
  at("loading").textContent = "The machine ran for " + seconds(one.scene.length_ns, 1) +
    " of its time, in " + Math.round(one.took) + " ms of yours.";
}

/* A moment at which the slowest read waits. */
function worst({requests: r, byDone, longest}) {
  const i = byDone.find((k) => r.completed[k] - r.queued[k] === longest);
  return i === undefined ? 0 : r.queued[i] + longest / 4;
}

const FIGURES = [
  ["reads", ({ms}) => ms.length.toLocaleString("en")],
  ["mean response", ({ms}) => figure(ms.reduce((sum, x) => sum + x, 0) / ms.length)],
  ["95th percentile", ({ms}) => figure(ms[Math.min(ms.length - 1, Math.ceil(ms.length * .95) - 1)])],
  ["longest", ({ms}) => figure(ms[ms.length - 1])],
  ["disk writes", ({run}) => run.writes.toLocaleString("en")],
  ["elapsed", ({run}) => seconds(run.scene.length_ns, 1)],
];
const figure = (ms) => (Number.isFinite(ms) ? ms.toLocaleString("en", {maximumSignificantDigits: 4}) + " ms" : "none");

/* The response times of a run, in ms, the shortest first. */
const responsesOf = ({scene: {requests: r, byDone}}) =>
  byDone.map((i) => (r.completed[i] - r.queued[i]) / MS).sort((a, b) => a - b);

/* Fill the table of figures, with a column for each shown run. */
function tell() {
  const table = at("figures"), head = element("tr"), rows = [];
  element("th", head);
  const inOrder = shown.slice().reverse();
  inOrder.forEach((run) => {
    const cell = element("th", head, {className: "run", scope: "col", textContent: run.scene.name});
    cell.style.setProperty("--own", "var(" + ownColour(run.scene) + ")");
  });
  const all = inOrder.map((run) => ({run, ms: responsesOf(run)}));
  for (const [words, of] of FIGURES) {
    const row = element("tr");
    element("th", row, {scope: "row", textContent: words});
    for (const one of all) element("td", row, {textContent: of(one)});
    rows.push(row);
  }
  table.tHead.replaceChildren(head);
  table.tBodies[0].replaceChildren(...rows);
  table.hidden = false;
}

/* ---- the beginning ---- */

async function live() {
  code = await unpackedParts();
  startWorker();
  chosenNow = fromAddress();
  alsoInAddress = () => wordsOf(chosenNow);
  fillForm();
  want();
}

window.onhashchange = () => {
  chosenNow = fromAddress();
  fillForm();
  want();
};

live();
