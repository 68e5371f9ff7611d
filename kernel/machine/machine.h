/* Calls of machine mode (entry.S), which may do things that the kernel may not.
 */
#pragma once

/* Which call it is. Addresses are the kernel's. */
#define TRACE_BEGIN  0 /* from w0 to w1, page-aligned; at most once */
#define TRACE_APPEND 1 /* the record w0 to w3 */
#define NO_TIMER     2 /* this hart's machine timer never fires */
#define CLOCK_JUMP   3 /* the time becomes w0, in ticks, unless it is later */
/* RAM disks are from w0 to w1, page-aligned; at most once. They begin with a
 * table and the log of moves, whose records go from w2 to w3. */
#define DISKS_BEGIN 4
/* Move w2 bytes, a multiple of 64, from a RAM disk, at w1, to w0; or, if w3 is
 * 1, from w0 to the disk. This takes no more than a tick. Returns -1, and does
 * nothing, if the one place is not in a disk or the other not in memory. */
#define DISKS_MOVE 5

#ifndef __ASSEMBLER__
#include "kernel/base/types.h"

/* Returns 0, unless the call says otherwise. */
i64 machine_call(u64 w0, u64 w1, u64 w2, u64 w3, u64 call);
#endif
