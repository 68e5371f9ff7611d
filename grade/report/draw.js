/* Draws each of the figures of a page, `specs`, where its name is an id. */
const drawn = {};
for (const [name, spec] of Object.entries(specs)) {
  const at = "#" + CSS.escape(name);
  drawn[name] = vegaEmbed(at, spec, {
    mode: "vega-lite", renderer: "canvas", logLevel: 1, downloadFileName: name, bind: at + "-choice",
    actions: {export: true, source: false, compiled: false, editor: false},
  });
}
