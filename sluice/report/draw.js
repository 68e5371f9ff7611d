/* Makes the pictures of a page answer the pointer: each of the figures in `specs` is drawn
 * over its still picture, whose id is its name, once it comes near the screen. On a screen too
 * narrow for that the still pictures stay, but where the page offers a choice (data-live).
 * `drawn` holds a promise for each; the event "drawn" tells that one is there.
 * `packed` holds the data of those figures of which the reader chooses the trial: of each table the
 * packed columns of each trial. Only the chosen trial is unpacked. */
const WIDE = matchMedia("(min-width: 1080px)");
const DARK = matchMedia("(prefers-color-scheme: dark)");
const DARK_COLOURS = {"#222222": "#e8e6e3", "#E3E3E3": "#3a3d41", "#FFFFFF": "#17191c"};
const drawn = {};

/* A specification with its colours for a dark screen, if the screen is dark. */
function coloured(spec) {
  let text = JSON.stringify(spec);
  for (const [light, dark] of Object.entries(DARK.matches ? DARK_COLOURS : {}))
    text = text.replaceAll('"' + light + '"', '"' + dark + '"');
  return JSON.parse(text);
}

/* The rows of a table as objects, from its packed columns. */
async function rowsOf(table) {
  const names = Object.keys(table), columns = await Promise.all(Object.values(table).map(unpack));
  const row = (_, i) => Object.fromEntries(names.map((name, k) => [name, columns[k][i]]));
  return Array.from(columns[0], row);
}

/* The rows of a trial, by table. */
async function rowsOfTrial(name, trial) {
  const rows = Object.entries(packed[name]).map(
    async ([table, trials]) => [table, await rowsOf(trials[trial])]);
  return Object.fromEntries(await Promise.all(rows));
}

/* The specification with the rows of the first trial, below the heads of its tables. */
async function filled(name) {
  const spec = coloured(specs[name]);
  if (!(name in packed)) return spec;
  for (const [table, rows] of Object.entries(await rowsOfTrial(name, 0)))
    spec.datasets[table] = [spec.datasets[table], ...rows.map(Object.values)].join("\n");
  return spec;
}

/* Shows the trial that the reader chose, unless another was chosen while its rows were unpacked. */
async function showTrial(view, name, trial) {
  const found = await rowsOfTrial(name, trial);
  if (view.signal("trial") !== trial) return;
  for (const [table, rows] of Object.entries(found)) view.data(table, rows);
  await view.runAsync();
}

/* Draw a figure over its still picture. Its menu of trials, if it has one, stands at `-choice`. */
async function embedded(name, at) {
  const made = await vegaEmbed(at, await filled(name), {
    mode: "vega-lite", renderer: "canvas", logLevel: 1, downloadFileName: name, bind: at + "-choice",
    actions: {export: true, source: false, compiled: false, editor: false},
  });
  if (name in packed)
    made.view.addSignalListener("trial", (_, trial) => showTrial(made.view, name, trial));
  return made;
}

/* Begin to draw a figure, and announce it when it is there. */
function draw(name) {
  const at = "#" + CSS.escape(name);
  document.querySelector(at + "-choice").replaceChildren();
  drawn[name] = embedded(name, at);
  drawn[name].then(() => document.dispatchEvent(new CustomEvent("drawn", {detail: name})));
}

const watch = new IntersectionObserver((seen) => {
  for (const entry of seen.filter((e) => e.isIntersecting)) {
    watch.unobserve(entry.target);
    draw(entry.target.id);
  }
}, {rootMargin: "600px"});

for (const name of Object.keys(specs)) {
  const place = document.getElementById(name);
  if (WIDE.matches || "live" in place.dataset) watch.observe(place);
}
DARK.addEventListener("change", () => Object.keys(drawn).forEach(draw));
