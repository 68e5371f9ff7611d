/* The page's worker: it gets the parts once, and then a run at a time. */
"use strict";
let parts = null;

/* A module that is compiled when it is first asked for. */
function lazily(bytes) {
  const programs = {};
  for (const [name, code] of Object.entries(bytes)) {
    let module = null;
    Object.defineProperty(programs, name, {get: () => module || (module = new WebAssembly.Module(code))});
  }
  return programs;
}

/* The disks of a load: their pages, out of those of all loads. */
const disksOf = (load) => load.disks.map(({size, places, pages}) => ({size,
  pieces: Array.from(places, (place, i) =>
    [place * DISK_PAGE, parts.pages.subarray(pages[i] * DISK_PAGE, (pages[i] + 1) * DISK_PAGE)])}));

/* Make a run. Returns its scene and its figures; throws words if the machine failed. */
function made({load, args, about}) {
  const began = performance.now(), machine = new Machine(parts);
  const ended = machine.run(args, disksOf(load));
  const took = performance.now() - began;
  if (ended.status !== 0)
    throw new Error("the machine ended with status " + ended.status + ": " +
      (ended.console.trim().split("\n").pop() || "it printed nothing"));
  const recording = recordingOf(ended.console, ended.written, ended.records, parts.events);
  const [before, after] = recording.counters;
  return {took, args, console: ended.console, written: ended.written, records: ended.records,
    writes: after["disk.writes"] - before["disk.writes"], scene: sceneOf(recording, about, parts.tool)};
}

onmessage = ({data}) => {
  if (data.parts) {
    parts = {...data.parts, kernel: new WebAssembly.Module(data.parts.kernel),
      tool: new WebAssembly.Module(data.parts.tool), programs: lazily(data.parts.programs)};
    return;
  }
  try {
    postMessage({id: data.id, run: made(data)});
  } catch (reason) {
    postMessage({id: data.id, problem: String(reason.message || reason)});
  }
};
