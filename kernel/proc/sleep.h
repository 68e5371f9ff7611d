/*
 * Sleeping for an event, turns, and sleep locks.
 *
 * - A sleep lock is held by a process, may be held across disk transfers, and
 *   is never taken by an interrupt handler. Those who wait for it get it in
 *   the order they came: so long as each holds it for a bounded time, each
 *   waits for a bounded time.
 * - Sleep locks are ordered as ext2.h says; taking one with a spin lock held
 *   panics.
 */
#ifndef SLUICE_SLEEP_H
#define SLUICE_SLEEP_H

#include "kernel/base/list.h"
#include "kernel/machine/lock.h"

struct proc;

/*
 * Sleep until wakeup(chan). Releases lk while asleep and holds it again on
 * return; no wakeup between the two is lost. Sleeps may end for no reason:
 * callers test their condition in a loop. lk may have any rank below
 * RANK_RUNQUEUE.
 */
void sleep_on(const void *chan, struct spinlock *lk);

/*
 * As sleep_on, but ends early: returns 0, -EINTR when the process has been
 * killed (then at once, without sleeping), or -ETIMEDOUT when the clock has
 * reached deadline_ns (0: no deadline).
 */
int sleep_until(const void *chan, struct spinlock *lk, u64 deadline_ns);

/* Make everything that sleeps on chan runnable. From any context. */
void wakeup(const void *chan);

/*
 * Processes in line for a thing that one at a time may have. The lock that
 * guards the thing guards its turns; all of these want it held.
 *
 * Who lets go of the thing gives it to the first in line, which has it from
 * then on, before it runs. (Were the thing only set free, who let go of it
 * could have it again at once, and again, while those woken never find it
 * free.)
 */
struct turns {
    struct list line;
};

void turns_init(struct turns *);

/* Join the line; on return the caller has been given the thing. */
void turns_wait(struct turns *, struct spinlock *lk);

/* Give the thing to the first in line: who that is, NULL if nobody waits. */
struct proc *turns_give(struct turns *);

struct sleeplock {
    struct spinlock guard;
    const char *name;
    struct proc *holder; /* guard */
    struct turns turns;  /* guard */
};

void sleep_lock_init(struct sleeplock *, const char *name);
void sleep_lock(struct sleeplock *);
void sleep_unlock(struct sleeplock *);
bool sleep_held(const struct sleeplock *); /* by this process */

#endif
