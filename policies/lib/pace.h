/*
 * Pace: when to write dirty blocks, so that each is written by its time and
 * those that became dirty in one burst are not written in one burst.
 *
 * Time goes in ticks. Each dirty block is due by the end of a tick. The writes
 * to do in the present tick are the fewest that leave no later tick with more:
 * for each k, the blocks due within k ticks need a k-th part of their number
 * in each tick; the largest of these parts is done now. The writes are spaced
 * evenly over the tick. So a burst is spread over the ticks before it is due,
 * and blocks that become dirty evenly are written as evenly.
 *
 * A scheduler keeps one struct pace for each disk, and calls pace_keep before
 * it reads one. The lock that the kernel holds while it asks the scheduler
 * guards it.
 */
#ifndef SLUICE_LIB_PACE_H
#define SLUICE_LIB_PACE_H

#include "kernel/policy/update.h"

#define PACE_TICK_NS (250 * NS_PER_MS)
#define PACE_SLOTS   256 /* ticks: no block may be due later than these */

/* The blocks that are due at one disk. A block whose tick has passed is in the
 * slot of the present tick. */
struct pace {
    u32 due[PACE_SLOTS]; /* blocks to write in a tick, at tick % PACE_SLOTS */
    u64 dirty;           /* sum of all slots */
    u64 tick;            /* the present one */
    u64 todo;            /* writes to do within it */
    u64 next_ns;         /* time of the next of them; NEVER_NS: none */
};

/* Start with no dirty block. */
void pace_start(struct pace *);

/* Go on to the tick of now_ns: blocks that were due in earlier ticks are due in
 * it now, and todo is worked out. Writes are spread over it and `early` more
 * ticks. A time before the present tick changes nothing: at a swap each request
 * comes with its own, and one whose write failed is older than its neighbour.
 */
void pace_keep(struct pace *, u64 now_ns, u64 early);

/* The tick by whose end a block is to be written that must be written at at_ns.
 * There is one tick to spare, for blocks that have to wait. */
u64 pace_due(u64 at_ns);

/* Note that a block due by the end of this tick has become dirty; has become
 * clean. */
void pace_add(struct pace *, u64 due);
void pace_drop(struct pace *, u64 due);

/* Fix the time of the next write, because the write whose time had come is
 * done. */
void pace_owe_next(struct pace *);

/* For check=1: the fault that was found, or NULL. */
const char *pace_check(const struct pace *);

#endif
