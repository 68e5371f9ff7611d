"use strict";
/* What the theatre shows of a run, from its console and its trace: as sluice/theatre/scene.py makes it
 * of a run on the host, and step by step as the modules that this uses. A test compares the two.
 *
 * Times are in ns since power-on, as in the trace, until sceneOf() counts them from the start of the
 * measured part. */

const SHOWN = new RegExp("@start\\n([^]*)\\n@stat\\n([^]*)@hist\\n([^]*)@workload\\n([^]*)" +
  "@end\\n([^]*)\\n@stat\\n([^]*)@hist\\n([^]*)@done\\n");
const UPTIME = /^up (?:(\d+) days?, )?(\d\d):(\d\d):(\d\d)\.(\d{3})$/;
const JOB = /^(\w+) (\{".*\})$/gm;
const DAEMON = "updated", TOPMOST = 0x80000000, HIGH = 2 ** 32;
const LATE_NS = 2000000; // so much later the kernel may note that a command is done
const SCENE_KINDS = ["", "miss", "hit", "ahead", "write", "behind", "fixed", "flash"];
const SCENE_PARTS = ["command", "busy", "seek", "rotation", "transfer"];
const [ST_EMPTY, ST_READING, ST_CLEAN, ST_AHEAD, ST_DIRTY, ST_WRITING] = [0, 1, 2, 3, 4, 5];

/* ---- the trace: sluice/system/trace.py, sluice/export/ ---- */

/* names: the events' by number. */
function eventsOf(records, names) {
  const view = new DataView(records.buffer, records.byteOffset, records.byteLength), found = [];
  const number = (at, high = view.getUint32(at + 4, true)) => view.getUint32(at, true) + high * HIGH;
  for (let at = 0; at < records.length; at += 32) {
    const high = view.getUint32(at + 20, true);
    found.push({time: number(at), name: names[view.getUint16(at + 28, true)],
      disk: view.getUint16(at + 30, true), block: number(at + 8), pid: view.getUint32(at + 24, true),
      argument: number(at + 16, high & ~TOPMOST), write: high >= TOPMOST,
      words: records.subarray(at + 8, at + 24)});
  }
  return found;
}

/* The first place in a sorted list whose value is not before x. */
function notBefore(list, x) {
  const at = list.findIndex((value) => value >= x);
  return at < 0 ? list.length : at;
}

/* A key for requests by where they begin. */
const placeOf = (disk, write, sector) => disk + " " + write + " " + sector;

/* The requests that were completed, in that order. */
function pairOf(events) {
  const waiting = new Map(), issued = new Map(), done = [];
  const queue = (of, place) => of.get(place) || of.set(place, []).get(place);
  let requests = 0, commands = 0;
  for (const e of events) {
    if (e.name === "queued") {
      queue(waiting, placeOf(e.disk, e.write, e.block)).push({number: requests++, disk: e.disk,
        write: e.write, sector: e.block, sectors: e.argument, pid: e.pid, queued: e.time});
    } else if (e.name === "issued") {
      commands++;
      for (let at = e.block; at < e.block + e.argument;) {
        const place = placeOf(e.disk, e.write, at);
        const request = queue(waiting, place).shift() || queue(issued, place).shift();
        if (!request) break; // queued before the trace begins
        request.issued = e.time;
        request.command = commands;
        queue(issued, place).push(request);
        at += request.sectors;
      }
    } else if (e.name === "completed") {
      const request = queue(issued, placeOf(e.disk, e.write, e.block)).shift();
      if (!request) continue;
      request.completed = e.time;
      done.push(request);
    }
  }
  return done;
}

/* A function that returns a process's name: of its job, else as the trace names it, else its pid. */
function processNames(events, jobs) {
  const names = new Map();
  for (const e of events)
    if (e.name === "named") names.set(e.pid, new TextDecoder().decode(e.words).split("\0")[0]);
  for (const job of jobs) if ("pid" in job) names.set(job.pid, job.program + " " + job.job);
  return (pid) => names.get(pid) || (pid ? "pid " + pid : "kernel");
}

/* The lines that jobs print: the program, and its JSON. */
const jobsOf = (said) => [...said.matchAll(JOB)].map((m) => ({program: m[1], ...JSON.parse(m[2])}));

/* The time that a line of uptime says, in ns. */
function uptimeNs(text) {
  const [days, hours, minutes, seconds, ms] = UPTIME.exec(text).slice(1).map((word) => Number(word || 0));
  return ((((days * 24 + hours) * 60 + minutes) * 60 + seconds) * 1000 + ms) * 1e6;
}

/* The rows of /dev/stat. */
function countersOf(text) {
  return Object.fromEntries(text.trim().split("\n").map((line) => line.split(" "))
    .map(([name, value]) => [name, Number(value)]));
}

/* A run as its console and its trace show it; throws words if the console lacks a part. */
function recordingOf(said, written, records, names) {
  const shown = SHOWN.exec(said);
  if (!shown) throw new Error("the run did not end as it should; its console ends: " +
    said.trim().split("\n").slice(-3).join(" / "));
  const all = eventsOf(records, names), jobs = jobsOf(shown[4]);
  const lost = written - all.length, read = all.filter((e) => e.name === "counted").map((e) => e.time);
  const [first, last] = [shown[1], shown[5]].map((text) => notBefore(read, uptimeNs(text)));
  const start = first < last ? read[first] : all[0].time, end = read[last];
  const done = pairOf(all).filter((r) => start <= r.completed && r.completed <= end);
  return {start, end, lost, jobs, counters: [countersOf(shown[2]), countersOf(shown[6])],
    requests: done.sort((a, b) => a.number - b.number), events: all.filter((e) => e.time <= end),
    process: processNames(all, jobs)};
}

/* ---- who queued a request: sluice/debug/chain.py ---- */

/* By the index of an event `writing`: the number of the flush that started this write, and how many
 * writes that flush started. */
function burstsOf(recording) {
  const writing = new Map(), found = new Map();
  recording.events.forEach((e, i) => {
    if (e.name === "writing") {
      if (!writing.has(e.pid)) writing.set(e.pid, []);
      writing.get(e.pid).push(i);
    } else if (e.name === "flush") {
      for (const n of (writing.get(e.pid) || []).slice(e.argument ? -e.argument : Infinity))
        found.set(n, [recording.lost + i, e.argument]);
      writing.delete(e.pid);
    }
  });
  return found;
}

const grouped3 = (text) => text.replace(/\B(?=(\d{3})+\.)/g, ",");

/* What a reader calls a process. */
const called = (who) => (who === DAEMON ? "the update daemon" : who);

/* Who queued a write, in words; its burst or -1; and the burst's blocks. number: of its event `writing`. */
function writeOrigin(recording, policies, number, pid, burst) {
  const e = recording.events[number], who = recording.process(e.pid);
  if (!pid) return ["written early by the scheduler (" + policies.sched + ")", -1, 0];
  if (burst) {
    const by = who === DAEMON ? "update policy " + policies.update : "a sync or fsync";
    return [called(who) + " (" + by + ")", ...burst];
  }
  if (who === DAEMON) return [called(who) + " (update policy " + policies.update + ")", -1, 0];
  if (!e.argument) return [who + ", at once (write policy " + policies.write + ")", -1, 0];
  return [who + ", to make room or order (dirty for " + grouped3((e.argument / 1e9).toFixed(1)) + " s)", -1, 0];
}

/* A key for one request: where it begins, and when it was queued. */
const keyOf = (r) => placeOf(r.disk, r.write, r.sector) + " " + r.queued;

/* Of each request, by its key: words, the number of its burst or -1, and its blocks. */
function originsOf(recording, policies, sectors) {
  const found = new Map(), bursts = burstsOf(recording), writing = new Map(), ahead = new Map();
  recording.events.forEach((e, i) => {
    const block = e.disk + " " + Math.floor(e.block / sectors), own = e.disk + " " + e.block;
    if (e.name === "writing") writing.set(own, i);
    else if (e.name === "ahead") ahead.set(own, e.argument);
    else if (e.name === "queued") {
      const who = recording.process(e.pid);
      let origin = [who, -1, 0];
      if (e.write && writing.has(block)) {
        const number = writing.get(block);
        writing.delete(block);
        origin = writeOrigin(recording, policies, number, e.pid, bursts.get(number));
      } else if (!e.write && ahead.has(block)) {
        if (!ahead.get(block)) origin[0] += ", prefetched (policy " + policies.prefetch + ")";
        ahead.delete(block);
      }
      found.set(keyOf({disk: e.disk, write: e.write, sector: e.block, queued: e.time}), origin);
    }
  });
  return (request) => found.get(keyOf(request)) || ["queued before the trace begins", -1, 0];
}

/* ---- what the drive did: sluice/debug/served.py ---- */

/* The commands of a disk, in the order of their completion, each with its requests. */
function commandsOf(events, disk) {
  const places = new Map(), groups = new Map();
  for (const e of events)
    if (e.name === "placed") places.set(placeOf(e.disk, e.write, e.block) + " " + e.time, e.argument);
  for (const r of pairOf(events)) {
    if (r.disk !== disk) continue;
    if (!groups.has(r.command)) groups.set(r.command, []);
    groups.get(r.command).push(r);
  }
  const commands = [...groups.values()].map((group) => {
    group.sort((a, b) => a.sector - b.sector);
    const [first] = group, place = placeOf(first.disk, first.write, first.sector) + " " + first.issued;
    return {requests: group, write: first.write, physical: places.has(place) ? places.get(place) : first.sector,
      sectors: group.reduce((sum, r) => sum + r.sectors, 0), issued: first.issued,
      completed: group.reduce((least, r) => Math.min(least, r.completed), Infinity),
      parts: {}, kind: "", cylinders: [0, 0]};
  });
  return commands.sort((a, b) => a.completed - b.completed || a.issued - b.issued);
}

/* The input of drive_parts_tool: a line for each move of the arm by itself and for each command. */
function askedOf(commands, sought, wayNs) {
  let text = "", move = 0, before = 0;
  for (const c of commands) {
    for (; move < sought.length && sought[move].argument <= c.issued; move++)
      text += sought[move].argument + " 0 S " + sought[move].block + " 0 0\n";
    const there = c.issued + wayNs;
    text += [there, Math.max(there, before), c.write ? "W" : "R", c.physical, c.sectors, c.completed].join(" ") + "\n";
    before = c.completed;
  }
  return text;
}

/* Run a program that was made with wasi-libc: its output and exit status. */
function runWasi(module, words, input) {
  const encode = (text) => new TextEncoder().encode(text), given = encode(input), out = [];
  const list = words.map((word) => encode(word + "\0"));
  let memory, read = 0, status = 0;
  const view = () => new DataView(memory.buffer), bytes = () => new Uint8Array(memory.buffer);
  const pieces = (at, n) => Array.from({length: n}, (_, i) =>
    [view().getUint32(at + 8 * i, true), view().getUint32(at + 8 * i + 4, true)]);
  const wasi = {
    args_sizes_get: (n, size) => {
      view().setUint32(n, list.length, true);
      view().setUint32(size, list.reduce((sum, word) => sum + word.length, 0), true);
      return 0;
    },
    args_get: (pointers, at) => {
      list.forEach((word, i) => {
        view().setUint32(pointers + 4 * i, at, true);
        bytes().set(word, at);
        at += word.length;
      });
      return 0;
    },
    fd_read: (fd, at, n, done) => {
      let moved = 0;
      for (const [to, size] of pieces(at, n)) {
        const part = given.subarray(read, read + size);
        bytes().set(part, to);
        read += part.length;
        moved += part.length;
      }
      view().setUint32(done, moved, true);
      return 0;
    },
    fd_write: (fd, at, n, done) => {
      let moved = 0;
      for (const [from, size] of pieces(at, n)) {
        if (fd === 1) out.push(bytes().slice(from, from + size));
        moved += size;
      }
      view().setUint32(done, moved, true);
      return 0;
    },
    fd_fdstat_get: () => 0,
    fd_close: () => 0,
    fd_seek: () => 70, // ESPIPE of WASI: it is no file
    proc_exit: (code) => { status = code; throw wasi; },
  };
  const {exports} = new WebAssembly.Instance(module, {wasi_snapshot_preview1: wasi});
  memory = exports.memory;
  try {
    exports._start();
  } catch (reason) {
    if (reason !== wasi) throw reason;
  }
  return {status, text: out.map((part) => new TextDecoder().decode(part)).join("")};
}

/* Store a row of the model's times in a command, if the row agrees with the trace. */
function fillIn(c, row) {
  const words = row.split(" "), [begin, done, ...parts] = words.slice(0, 7).map(Number);
  if (!(done <= c.completed && c.completed <= done + LATE_NS) || begin < c.issued) return;
  Object.assign(c, {begin, done, kind: words[7], cylinders: [Number(words[8]), Number(words[9])]});
  SCENE_PARTS.forEach((name, i) => { c.parts[name] = parts[i]; });
}

/* tool: drive_parts_tool; words: its arguments. */
function serve(commands, sought, wayNs, tool, words) {
  const {status, text} = runWasi(tool, ["drive_parts_tool", ...words], askedOf(commands, sought, wayNs));
  const rows = text.trim().split("\n");
  let before = 0;
  commands.forEach((c, i) => {
    if (status === 0 && rows[i]) fillIn(c, rows[i]);
    if (!c.kind) {
      c.begin = Math.max(c.issued, before);
      c.done = c.completed;
    }
    before = c.done;
  });
  commands.forEach((c, i) => {
    const after = commands[i + 1];
    c.free = after ? Math.max(c.begin, Math.min(c.completed, after.begin)) : c.completed;
  });
}

/* ---- the cache: class Cache in sluice/theatre/scene.py ---- */

/* The changes of the cache's places, [time, place, state], and how many places there are. */
function cacheOf(events, sectors) {
  const place = new Map(), state = new Map(), free = [], changes = [];
  let places = 0;
  const put = (at, block, to) => {
    if (!place.has(block)) place.set(block, free.length ? free.pop() : places++);
    else if (state.get(block) === to) return;
    state.set(block, to);
    changes.push([at, place.get(block), to]);
  };
  const take = (at, block) => {
    if (!place.has(block)) return;
    const spot = place.get(block);
    place.delete(block);
    state.delete(block);
    free.push(spot);
    changes.push([at, spot, ST_EMPTY]);
  };
  for (const e of events) {
    const n = Math.floor(e.block / sectors), own = e.disk + " " + e.block, asked = e.disk + " " + n;
    if (e.name === "miss" || (e.name === "hit" && state.get(own) === ST_AHEAD)) put(e.time, own, ST_CLEAN);
    else if (e.name === "dirtied") put(e.time, own, ST_DIRTY);
    else if (e.name === "cancelled") put(e.time, own, ST_CLEAN);
    else if (e.name === "writing") put(e.time, own, ST_WRITING);
    else if (e.name === "ahead") put(e.time, own, ST_AHEAD);
    else if (e.name === "evicted") take(e.time, own);
    else if (e.name === "queued" && !e.write && state.get(asked) === ST_CLEAN) put(e.time, asked, ST_READING);
    else if (e.name === "completed" && [ST_READING, ST_WRITING].includes(state.get(asked)))
      put(e.time, asked, ST_CLEAN);
  }
  return {changes, places};
}

/* ---- the whole ---- */

function measuredDisk(requests) {
  const counts = new Map();
  for (const r of requests) counts.set(r.disk, (counts.get(r.disk) || 0) + 1);
  return [...counts].reduce((best, one) => (one[1] > best[1] ? one : best), [0, 0])[0];
}

/* A run for theatre.js. about: {name, policies, sectors (of a block), drives (by disk: the drive's name,
 * rotation_ns, cylinders, and the words of drive_parts_tool), way_ns}; tool: that program's module. */
function sceneOf(recording, about, tool) {
  const {start, events} = recording, disk = measuredDisk(recording.requests), drive = about.drives[disk];
  const commands = commandsOf(events, disk);
  serve(commands, events.filter((e) => e.name === "sought" && e.disk === disk), about.way_ns, tool, drive.words);
  const rows = commands.flatMap((c, i) => c.requests.map((r) => ({r, command: i})))
    .sort((a, b) => a.r.queued - b.r.queued || a.r.number - b.r.number);
  const origin = originsOf(recording, about.policies, about.sectors), origins = new Map();
  for (const {r} of rows) {
    const found = origin(r), key = JSON.stringify(found);
    if (!origins.has(key)) origins.set(key, found);
  }
  const originNumbers = new Map([...origins.keys()].map((key, i) => [key, i]));
  const numbers = new Map(recording.requests.filter((r) => !r.write).map((r, i) => [keyOf(r), i + 1]));
  const waits = rows.map(({r}) => !r.write && !origin(r)[0].includes("prefetched"));
  const wrote = events.filter((e) => e.name === "dirtied" && e.pid && e.time >= start);
  const readers = rows.filter((_, i) => waits[i]).map(({r}) => r.pid);
  const pids = [...new Set([...readers, ...wrote.map((e) => e.pid)])].sort((a, b) => a - b);
  const queuedEvents = new Map();
  events.forEach((e, i) => {
    if (e.name === "queued")
      queuedEvents.set(keyOf({disk: e.disk, write: e.write, sector: e.block, queued: e.time}), recording.lost + i);
  });
  const flushes = events.filter((e) => e.name === "flush"), {changes, places} = cacheOf(events, about.sectors);
  const column = (list, of) => Float64Array.from(list, of);
  const requests = {
    queued: column(rows, ({r}) => r.queued - start), issued: column(rows, ({r}) => r.issued - r.queued),
    completed: column(rows, ({r}) => r.completed - r.queued), write: column(rows, ({r}) => r.write),
    sector: column(rows, ({r}) => r.sector), sectors: column(rows, ({r}) => r.sectors),
    command: column(rows, ({command}) => command),
    origin: column(rows, ({r}) => originNumbers.get(JSON.stringify(origin(r)))),
    number: column(rows, ({r}) => numbers.get(keyOf(r)) || 0),
    process: column(rows, ({r}, i) => (waits[i] ? pids.indexOf(r.pid) + 1 : 0)),
    event: column(rows, ({r}) => queuedEvents.get(keyOf(r))),
  };
  const served = {
    begin: column(commands, (c) => c.begin - start), done: column(commands, (c) => c.done - c.begin),
    free: column(commands, (c) => c.free - c.begin), from: column(commands, (c) => c.cylinders[0]),
    to: column(commands, (c) => c.cylinders[1]), kind: column(commands, (c) => SCENE_KINDS.indexOf(c.kind)),
    own: column(commands, () => 0), // none is a virtual log's
  };
  for (const name of SCENE_PARTS) served[name] = column(commands, (c) => c.parts[name] || 0);
  return {
    name: about.name, policies: about.policies, drive: drive.name, disk, start_ns: start,
    length_ns: recording.end - start, lost: recording.lost, places, daemon: DAEMON,
    processes: pids.map(recording.process),
    platter: {rotation_ns: drive.rotation_ns, cylinders: drive.cylinders},
    own: [""],
    origins: [...origins.values()],
    flushes: {time: column(flushes, (e) => e.time - start), blocks: column(flushes, (e) => e.argument)},
    requests, commands: served,
    cache: {time: column(changes, (c) => c[0] - start), place: column(changes, (c) => c[1]),
      state: column(changes, (c) => c[2])},
    writes: {time: column(wrote, (e) => e.time - start), process: column(wrote, (e) => pids.indexOf(e.pid) + 1)},
  };
}
