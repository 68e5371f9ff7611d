/*
 * Sleeping for an event, wait queues, and sleep locks.
 *
 * - A sleep lock is held by a process, may be held across disk transfers, and
 *   is never taken by an interrupt handler. Processes get it in the order in
 *   which they came. So if each holds it for a bounded time, each waits for a
 *   bounded time.
 * - Sleep locks are ordered as ext2.h says; taking one with a spin lock held
 *   panics.
 */
#pragma once

#include "kernel/base/abi.h"
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
 * The wait queue of a resource that one process at a time may have. The lock
 * that guards the resource guards its queue, and must be held for all calls.
 *
 * A process that releases the resource hands it to the first in the queue,
 * which has it from then on, before it runs. (If the resource were only set
 * free, the process that released it could take it again and again, before a
 * woken process runs.)
 */
struct wait_queue {
    struct list waiters;
};

void wait_queue_init(struct wait_queue *);

/* Join the queue. When this returns, the caller has the resource. */
void wait_queue_join(struct wait_queue *, struct spinlock *lk);

/* Hand the resource to the first in the queue. Returns that process, or NULL if
 * none waits. */
struct proc *wait_queue_wake_first(struct wait_queue *);
/* Give what is waited for to the first waiter, and return it; NULL if there is
 * none. */
static inline struct proc *wait_queue_hand_off(struct wait_queue *q)
{
    return list_empty(&q->waiters) ? NULL : wait_queue_wake_first(q);
}

struct sleeplock {
    struct spinlock guard;
    const char *name;
    struct proc *holder;       /* guard */
    struct wait_queue waiters; /* guard */
};

void sleep_lock_init(struct sleeplock *, const char *name);
void sleep_lock(struct sleeplock *);
void sleep_unlock(struct sleeplock *);
bool sleep_held(const struct sleeplock *); /* by this process */

/* HOLD(sleep, &lock) */
HOLDER(sleep, struct sleeplock, sleep_lock, sleep_unlock)
