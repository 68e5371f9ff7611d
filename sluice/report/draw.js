/* Makes the pictures of a page answer the pointer: each of the figures in `specs` is drawn
 * over its still picture, whose id is its name, once it comes near the screen. On a screen too
 * narrow for that the still pictures stay, but where the page offers a choice (data-live).
 * `drawn` holds a promise for each; the event "drawn" tells that one is there. */
const WIDE = matchMedia("(min-width: 1080px)");
const DARK = matchMedia("(prefers-color-scheme: dark)");
const DARK_COLOURS = {"#222222": "#e8e6e3", "#E3E3E3": "#3a3d41", "#FFFFFF": "#17191c"};
const drawn = {};

function coloured(spec) {
  let text = JSON.stringify(spec);
  for (const [light, dark] of Object.entries(DARK.matches ? DARK_COLOURS : {}))
    text = text.replaceAll('"' + light + '"', '"' + dark + '"');
  return JSON.parse(text);
}

function draw(name) {
  const at = "#" + CSS.escape(name);
  document.querySelector(at + "-choice").replaceChildren();
  drawn[name] = vegaEmbed(at, coloured(specs[name]), {
    mode: "vega-lite", renderer: "canvas", logLevel: 1, downloadFileName: name, bind: at + "-choice",
    actions: {export: true, source: false, compiled: false, editor: false},
  });
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
