// Draws a cut, step by step. The last step is the cut itself.
"use strict";
const SVG = "http://www.w3.org/2000/svg";
const WORDS = { pending: "in the drive's cache", durable: "on the platters, flushed", kept: "on the platters, by chance",
  torn: "torn", lost: "lost with the cache" };
const find = (id) => document.getElementById(id);

function add(parent, tag, attributes, text = "") {
  const made = tag === "svg" || parent.namespaceURI === SVG ? document.createElementNS(SVG, tag) : document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  made.textContent = text;
  parent.append(made);
  return made;
}

// Returns what a write is at a step, or "" before it has come.
function stateOf(write, number, step, cut) {
  if (number > step) return "";
  if (step === cut) return write.fate;
  return write.flushed <= step ? "durable" : "pending";
}

function describe(write, number, state) {
  const torn = state === "torn" ? `: only sectors ${write.sectors.join(", ")} are there` : "";
  return `${number}: ${write.text} (${WORDS[state]}${torn})`;
}

function show(stage) {
  const { steps, blocks } = stage, cut = steps.length;
  const writes = steps.map((step, number) => ({ ...step, number })).filter((step) => step.kind === "write");
  const line = find("line"), width = 1000, gap = width / (cut + 1), at = (step) => (step + 0.5) * gap;
  const cells = blocks.map((name, block) =>
    add(find("disk"), "i", { title: `block ${block}: ${name}`, class: name.startsWith("free") ? "" : "used" }));
  find("disk").style.setProperty("--cell", cells.length > 512 ? "7px" : "15px");
  const usual = cells.map((cell) => cell.className);

  // Each write gets the first row that is free.
  const rows = [];
  for (const write of writes) {
    write.row = rows.findIndex((end) => end <= write.number);
    if (write.row < 0) write.row = rows.length;
    rows[write.row] = Math.min(write.flushed, cut) + 0.2;
  }
  const height = 60 + 16 * rows.length;
  line.setAttribute("viewBox", `0 0 ${width} ${height}`);

  const open = [];
  let level = 0;
  steps.forEach((step, number) => {
    if (step.kind === "began") open.push([number, step.text]);
    if (step.kind === "flush") add(line, "line", { class: "flush", x1: at(number), x2: at(number), y1: 44, y2: height });
    const ends = step.kind === "returned";
    if (ends || number === cut - 1)
      for (const [from, text] of open.splice(0)) {
        add(line, "rect", { class: "operation", x: at(from), y: 18, width: at(ends ? number : cut) - at(from), height: 8 });
        add(line, "text", { x: Math.min(at(from), width - 7 * text.length), y: level++ % 2 ? 40 : 13 }, text);
      }
  });
  const bars = writes.map((write) => {
    const bar = add(line, "rect", { x: at(write.number), y: 48 + 16 * write.row,
      width: Math.max(at(Math.min(write.flushed, cut)) - at(write.number) - 2, 2), height: 12 });
    add(bar, "title", {}, write.text);
    return bar;
  });
  add(line, "line", { class: "cut", x1: at(cut), x2: at(cut), y1: 0, y2: height });
  const marker = add(line, "line", { class: "now", y1: 0, y2: height });

  add(find("key"), "i", { class: "used" });
  find("key").append("in use at the start");
  for (const state of Object.keys(WORDS)) {
    add(find("key"), "i", { class: state });
    find("key").append(WORDS[state]);
  }
  find("verdict").textContent = stage.wrong.length ? "What was found:" : "All that should be there was found.";
  for (const text of stage.wrong) add(find("wrong"), "li", {}, text);
  find("expected").textContent = `What should be there: ${stage.expected}`;
  find("certain").textContent = stage.certain.join(" ");

  function go(step) {
    find("step").value = step;
    find("now").textContent = step === cut ? "The power goes." : `${step}: ${steps[step].text}`;
    for (const side of ["x1", "x2"]) marker.setAttribute(side, at(step));
    cells.forEach((cell, block) => { cell.className = usual[block]; });
    find("queue").replaceChildren();
    writes.forEach((write, i) => {
      const state = stateOf(write, write.number, step, cut);
      bars[i].setAttribute("class", state);
      bars[i].style.opacity = state ? 1 : 0.15;
      if (!state) return;
      for (let block = write.blocks[0]; block < write.blocks[0] + write.blocks[1]; block++)
        cells[block].className = state + (write.number === step ? " here" : "");
      if (state !== "durable") add(find("queue"), "li", { class: state }, describe(write, write.number, state));
    });
    if (!find("queue").children.length) add(find("queue"), "li", {}, "empty");
    find("end").hidden = step !== cut;
  }
  find("step").max = cut;
  find("step").oninput = (event) => go(Number(event.target.value));
  find("back").onclick = () => go(Math.max(Number(find("step").value) - 1, 0));
  find("on").onclick = () => go(Math.min(Number(find("step").value) + 1, cut));
  line.onclick = (event) => {
    const box = line.getBoundingClientRect();
    go(Math.max(0, Math.min(cut, Math.floor(((event.clientX - box.left) / box.width) * (cut + 1)))));
  };
  go(cut);
}
