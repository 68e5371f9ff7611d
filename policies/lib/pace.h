/*
 * Pace: when are dirty blocks written, so that each goes by its time and those
 * that became dirty in one burst do not leave in one?
 *
 * Time goes in ticks. Each dirty block is due by the end of a tick. The writes
 * to do within the present tick are the fewest that leave no later tick with
 * more. For each k, what is due within k ticks needs its k-th part of writes a
 * tick; the largest of these parts is done now. The writes are owed one after
 * the other, evenly spaced over the tick. So a burst is spread over the ticks
 * before it is due, and what becomes dirty evenly is written as evenly.
 *
 * A scheduler keeps one struct pace for each disk, and calls pace_keep before
 * it looks at one. The lock that the kernel holds while it asks the scheduler
 * guards it.
 */
#ifndef SLUICE_LIB_PACE_H
#define SLUICE_LIB_PACE_H

#include "kernel/policy/policy.h"

#define PACE_TICK_NS (250 * NS_PER_MS)
#define PACE_SLOTS   256 /* ticks: no block may be due later than these */

/* What is due at one disk. A block whose tick has passed is in the slot of the
 * tick that is now. */
struct pace {
    u32 due[PACE_SLOTS]; /* blocks to write in a tick, at tick % PACE_SLOTS */
    u64 dirty;           /* all of them */
    u64 tick;            /* now */
    u64 todo;            /* writes to do within it */
    u64 owed_ns;         /* when the next of them is owed; NEVER_NS: none is */
};

/* No block is dirty. */
void pace_start(struct pace *);

/* Go on to the tick that is now; what is left of those before is due in it.
 * Writes are spread over this tick and `early` more. */
void pace_keep(struct pace *, u64 now_ns, u64 early);

/* The tick by whose end a block is to be written, for which it is time at
 * at_ns: there is a tick more until then, for blocks that have to wait. */
u64 pace_due(u64 at_ns);

/* A block that is due by then has become dirty; it is dirty no more. */
void pace_add(struct pace *, u64 due);
void pace_drop(struct pace *, u64 due);

/* The write that was owed is done: the next is owed later. */
void pace_owe_next(struct pace *);

/* For check=1: what is wrong with it, or NULL. */
const char *pace_check(const struct pace *);

#endif
