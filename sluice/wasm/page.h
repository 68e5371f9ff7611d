/*
 * Between the machine in WebAssembly and the page around it (machine.js).
 *
 * - The kernel is one instance of a module. Each process is an instance of its
 *   program's module, with a memory of its own; the page knows it by a number.
 * - Addresses go to the page and come from it as numbers of 32 bits.
 */
#ifndef SLUICE_LIVE_PAGE_H
#define SLUICE_LIVE_PAGE_H

#include "sluice/twin/call.h"
#include "kernel/base/types.h"

#define PAGE(name) __attribute__((import_module("page"), import_name(#name)))

/* Console output. */
PAGE(write) void page_write(u32 text, u32 n);
/* The machine has ended. The page does not return from this. */
PAGE(end) void page_end(i32 status) __attribute__((noreturn));
/* Make the kernel's memory larger, to at least so many bytes. */
PAGE(grow) void page_grow(u32 bytes);

/* Make a new instance of a program and return its number. load: of the program
 * of this name. fork: of a running instance's program, with a copy of that
 * instance's memory up to `end`. */
PAGE(load) u32 page_load(u32 name, u32 length);
PAGE(fork) u32 page_fork(u32 program, u32 end);
PAGE(unload) void page_unload(u32 program);

/* Where a program's stack begins, and its heap. */
PAGE(stack_top) u32 page_stack_top(u32 program);
PAGE(heap) u32 page_heap(u32 program);

/* A program's memory: copy n bytes to or from the kernel's; make it reach to
 * `end`; make bytes zero; the length of a string, at most n. */
PAGE(put) void page_put(u32 program, u32 to, u32 from, u32 n);
PAGE(get) void page_get(u32 program, u32 to, u32 from, u32 n);
PAGE(reach) void page_reach(u32 program, u32 end);
PAGE(zero) void page_zero(u32 program, u32 from, u32 n);
PAGE(length) u32 page_length(u32 program, u32 text, u32 n);

/* True if [at, at + n) is in the program's memory. */
PAGE(has) bool page_has(u32 program, u64 at, u64 n);

/* The program in user mode, and how it goes on there. The page reads this, and
 * writes `call` before called(). */
extern struct user {
    u32 program;
    u32 begins;         /* or its call returns: */
    u64 result;         /* this */
    u32 sp, argc, argv; /* with which it begins */
    u32 unused;
    u64 call[1 + CALL_ARGUMENTS]; /* what it calls */
} user;

#endif
