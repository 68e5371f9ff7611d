/*
 * Fibers, in place of kernel/proc: stacks that requests wait on. A request that
 * finds its blocks in the cache needs no switch; one that waits for a transfer
 * gives the processor to another fiber.
 *
 * One fiber at a time has the turn: it takes the next request of the trace and
 * waits until that is due. Idle fibers get the turn in the order in which they
 * became idle, as the processes of ioplay get it from their pipe.
 */
#ifndef SLUICE_BLOCKS_FIBERS_H
#define SLUICE_BLOCKS_FIBERS_H

#include "kernel/base/types.h"

void fibers_init(void); /* before the kernel's rooms are made */

/* Make n fibers that begin in fn, and the update daemon before them. */
void fibers_start(u32 n, void (*fn)(void *));
void fibers_run(void) __attribute__((noreturn));

/* Get the turn; let it go. */
void turn_take(void);
void turn_pass(void);

/* Let virtual time come to when_ns. The caller has the turn. */
void fiber_wait_until(u64 when_ns);

/* How often nothing could run since the last call. */
u64 fibers_idle_times(void);

#endif
