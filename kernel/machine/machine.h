/* Calls of machine mode (entry.S), which may do things that the kernel may not.
 */
#pragma once

/* Which call it is. A call that may not be, or with arguments that may not be,
 * changes nothing and returns -1. */

/* The trace is from w0 to w1, kernel addresses, page-aligned. At w0 there is a
 * struct trace_ring with `records`. Or w0 and w1 are 0: there is none. Once,
 * and before other harts start. */
#define TRACE_BEGIN  0
#define TRACE_APPEND 1 /* the record w0 to w3 */
#define NO_TIMER     2 /* this hart's machine timer never fires */
/* The time becomes w0, in ticks, unless it is later. w0 is less than 2^56. */
#define CLOCK_JUMP 3
/* RAM disks are from w0 to w1, physical and page-aligned. They begin with a
 * table and the log of moves, whose records of 16 bytes go from w2 to w3. Or
 * all are 0: there are none. Once, and before other harts start. */
#define DISKS_BEGIN 4
/* Move w2 bytes, whole sectors, from a RAM disk, at physical w1, to the kernel
 * address w0, a multiple of 8; or, if w3 is 1 and not 0, from w0 to the disk.
 * This takes no more than a tick. */
#define DISKS_MOVE 5

/* The machine's exit status after an exception in machine mode. */
#define STATUS_MACHINE 102

#ifndef __ASSEMBLER__
#include "kernel/base/types.h"

i64 machine_call(u64 w0, u64 w1, u64 w2, u64 w3, u64 call);
#endif
