"use strict";
/* A machine in a page: the kernel as one instance of WebAssembly, each process as another
 * (sluice/wasm/page.h). A program that makes a call runs the kernel at once, on top of its own calls.
 * If the kernel then goes back to another program, or makes a copy of this one, the calls of this one
 * are taken off the stack (stack.h), and put back when it is its turn again. */

const PAGE_BYTES = 65536, LEAST_ADDRESS = 1024; // of WebAssembly; where a program's data begins
const STACK_BYTES = 131072; // of a program: the linker puts it first
const MEMORY_PHYS = 0x80000000, MEMORY_BYTES = 0x4000000, DISKS = 0x40000000; // as host.c
const DISK_PAGE = 4096, SECTOR = 512, RAMDISKS = 8, RING_WORDS = 4, RECORD = 32;
const CALL_WORDS = 7, FORK = 1; // sluice/twin/call.h, kernel/base/abi.h

class Ended {
  constructor(status) { this.status = status; }
}

/* Bytes of a memory, which a growing memory replaces. */
function bytesOf(owner) {
  if (!owner.view || !owner.view.length) owner.view = new Uint8Array(owner.memory.buffer);
  return owner.view;
}

/* Make a memory at least `end` bytes long. */
function reach(owner, end) {
  const lack = end - owner.memory.buffer.byteLength;
  if (lack > 0) owner.memory.grow(Math.ceil(lack / PAGE_BYTES));
  if (lack > 0) owner.view = null;
}

class Machine {
  /* parts: the modules `kernel` and `programs` (by name). */
  constructor(parts) {
    this.parts = parts;
    this.programs = [null]; // by the kernel's number
    this.text = [];
    const page = {};
    for (const name of ["write", "end", "grow", "load", "fork", "unload", "stack_top", "heap", "put", "get",
      "reach", "zero", "length", "has"]) page[name] = this["on_" + name].bind(this);
    this.exports = new WebAssembly.Instance(parts.kernel, {page}).exports;
    this.kernel = {memory: this.exports.memory, view: null};
    this.user = this.exports.user() >> 2;
  }

  /* ---- what the kernel asks for (page.h) ---- */

  on_write(at, n) { this.text.push(bytesOf(this.kernel).slice(at, at + n)); }
  on_end(status) { throw new Ended(status); }
  on_grow(end) { reach(this.kernel, end); }

  on_load(name, length) {
    const text = String.fromCharCode(...bytesOf(this.kernel).subarray(name, name + length));
    if (!this.parts.programs[text]) throw new Error("there is no program " + text + " in this page");
    return this.add(this.parts.programs[text]);
  }

  on_fork(number, end) {
    const parent = this.programs[number], child = this.programs[this.add(parent.module)];
    reach(child, end);
    bytesOf(child).set(bytesOf(parent).subarray(LEAST_ADDRESS, end), LEAST_ADDRESS);
    child.sp = parent.sp;
    child.call = parent.call;
    return child.number;
  }

  on_unload(number) { this.programs[number] = null; }
  on_stack_top() { return STACK_BYTES; }
  on_heap(number) { return this.programs[number].heap; }
  on_reach(number, end) { reach(this.programs[number], end); }

  on_put(number, to, from, n) {
    bytesOf(this.programs[number]).set(bytesOf(this.kernel).subarray(from, from + n), to);
  }

  on_get(number, to, from, n) {
    bytesOf(this.kernel).set(bytesOf(this.programs[number]).subarray(from, from + n), to);
  }

  on_zero(number, from, n) {
    reach(this.programs[number], from + n);
    bytesOf(this.programs[number]).fill(0, from, from + n);
  }

  on_length(number, text, n) {
    const bytes = bytesOf(this.programs[number]), end = bytes.indexOf(0, text);
    return end < 0 ? n : Math.min(n, end - text);
  }

  on_has(number, at, n) {
    const size = BigInt(this.programs[number].memory.buffer.byteLength);
    at = BigInt.asUintN(64, at);
    n = BigInt.asUintN(64, n);
    return Number(at >= LEAST_ADDRESS && at < size && n <= size - at);
  }

  /* ---- programs ---- */

  add(module) {
    const p = {module, number: this.programs.length, rewinding: false, view: null};
    p.exports = new WebAssembly.Instance(module, {page: {gate: (call) => this.gate(p, call)}}).exports;
    p.memory = p.exports.memory;
    p.heap = Math.ceil(Number(p.exports.__heap_base.value) / DISK_PAGE) * DISK_PAGE;
    reach(p, p.heap);
    this.programs.push(p);
    return p.number;
  }

  /* A program calls: its words are at `call`, and the result goes there. */
  gate(p, call) {
    if (p.rewinding) {
      p.rewinding = false;
      p.exports.asyncify_stop_rewind();
      this.give(p);
      return;
    }
    p.call = call;
    const words = new Uint32Array(p.memory.buffer, call, 2 * CALL_WORDS);
    new Uint32Array(this.kernel.memory.buffer).set(words, this.user + this.layout.call);
    this.pending = words[0] === FORK; // the copy is made of a program that has been left
    if (!this.pending) this.exports.called();
    if (!this.pending && this.current() === p && !this.begins()) return this.give(p);
    p.sp = p.exports.stack_get();
    p.exports.asyncify_start_unwind(p.exports.room());
  }

  give(p) {
    const u = new Uint32Array(this.kernel.memory.buffer, 4 * this.user);
    new Uint32Array(p.memory.buffer, p.call, 2).set(u.subarray(this.layout.result, this.layout.result + 2));
  }

  /* `struct user` in words of 32 bits. */
  get layout() { return {program: 0, begins: 1, result: 2, sp: 4, argc: 5, argv: 6, call: 8}; }
  word(i) { return new Uint32Array(this.kernel.memory.buffer)[this.user + i]; }
  current() { return this.programs[this.word(this.layout.program)]; }
  begins() { return this.word(this.layout.begins) !== 0; }

  /* Run the program whose turn it is until it is left. */
  turn() {
    const p = this.current(), e = p.exports;
    if (this.begins()) {
      e.stack_set(this.word(this.layout.sp));
    } else {
      p.rewinding = true;
      e.stack_set(p.sp);
      e.asyncify_start_rewind(e.room_at());
    }
    e.begin(this.word(this.layout.argc), this.word(this.layout.argv));
    e.asyncify_stop_unwind();
    if (this.pending) {
      this.pending = false;
      this.exports.called();
    }
  }

  /* ---- the whole ---- */

  put(at, bytes) { bytesOf(this.kernel).set(bytes, at); }

  putText(at, text) { this.put(at, new TextEncoder().encode(text + "\0")); }

  /* disks: of each its size in bytes and `pieces` of [offset, bytes], which begin at whole pages. */
  insert(disks) {
    const words = new BigUint64Array(6 + 2 * RAMDISKS), phys = MEMORY_PHYS + MEMORY_BYTES;
    let at = 0;
    disks.forEach(({size, pieces}, i) => {
      words[6 + 2 * i] = BigInt(MEMORY_PHYS + DISKS + at);
      words[7 + 2 * i] = BigInt(size / SECTOR);
      for (const [offset, bytes] of pieces)
        for (let k = 0; k < bytes.length; k += DISK_PAGE)
          this.put(this.exports.disk(at + offset + k), bytes.subarray(k, k + DISK_PAGE));
      at += Math.ceil(size / DISK_PAGE) * DISK_PAGE;
    });
    new Uint8Array(words.buffer).set(new TextEncoder().encode("ramdisks"));
    words[1] = BigInt(phys); // where the kernel's memory ends
    words[2] = words[3] = BigInt(MEMORY_PHYS + DISKS); // no log
    words[4] = BigInt(MEMORY_PHYS + DISKS + at);
    words[5] = BigInt(disks.length);
    this.put(this.exports.table(), new Uint8Array(words.buffer));
    return "ramdisks=" + phys;
  }

  /* Run it to its end: its exit status, console and trace (the ring's records, the oldest first, and
   * how many have been written). args: the boot arguments. */
  run(args, disks) {
    this.putText(this.exports.arguments(), args + " " + this.insert(disks));
    let status;
    try {
      this.exports.boot();
      for (;;) this.turn();
    } catch (reason) {
      if (!(reason instanceof Ended)) throw reason;
      status = reason.status;
    }
    return {status, console: this.printed(), ...this.trace()};
  }

  printed() {
    return new TextDecoder().decode(new Uint8Array(this.text.flatMap((bytes) => [...bytes])));
  }

  trace() {
    const at = this.exports.ring();
    if (!at) return {written: 0, records: new Uint8Array(0)};
    const [, room, written] = new BigUint64Array(this.kernel.memory.buffer, at, RING_WORDS);
    const start = at + 8 * RING_WORDS, oldest = Number(written < room ? 0n : written % room) * RECORD;
    const n = Number(written < room ? written : room) * RECORD, records = new Uint8Array(n);
    const ring = bytesOf(this.kernel).subarray(start, start + n);
    records.set(ring.subarray(oldest));
    records.set(ring.subarray(0, oldest), n - oldest);
    return {written: Number(written), records};
  }
}
