/*
 * The C stack pointer of a WebAssembly module, and binaryen's asyncify: it
 * makes functions that can be left in the middle and entered again, which is
 * what WebAssembly has in place of switching stacks.
 *
 * - start_unwind(room): every call in progress keeps its locals in the room and
 *   returns, up to the first function that is not one of the transformed.
 * - That one calls stop_unwind. To go on it calls start_rewind and then the
 *   same function again; the calls enter each other as they were, down to the
 *   one that began, which now calls stop_rewind.
 * - What the calls have on the C stack stays where it is, so each needs a stack
 *   of its own, and stack_set before it goes on.
 */
#ifndef SLUICE_LIVE_STACK_H
#define SLUICE_LIVE_STACK_H

#include "kernel/base/types.h"

#define ROOM_BYTES 32768 /* of a room, for calls of the kernel or a program */

struct room {
    u32 at, end; /* addresses: what asyncify has filled, and may */
    char bytes[ROOM_BYTES - 8];
};

#define ASYNCIFY(name) \
    __attribute__((import_module("asyncify"), import_name(#name)))

ASYNCIFY(start_unwind) void start_unwind(u32 room);
ASYNCIFY(stop_unwind) void stop_unwind(void);
ASYNCIFY(start_rewind) void start_rewind(u32 room);
ASYNCIFY(stop_rewind) void stop_rewind(void);

/* stack.S */
u64 stack_get(void);
void stack_set(u64 sp);

#endif
