/*
 * Spin locks, sleep locks, turns, and sleeping for an event.
 *
 * - A spin lock is held with interrupts off and never across a sleep.
 * - A sleep lock is held by a process, may be held across disk transfers, and
 *   is never taken by an interrupt handler. Those who wait for it get it in
 *   the order they came: so long as each holds it for a bounded time, each
 *   waits for a bounded time.
 * - Lock order: a lock may be taken only while every spin lock held has a
 *   smaller rank (enum lock_rank, outermost first). Debug builds check each
 *   acquisition and panic with both names. Sleep locks are ordered as
 *   ext2.h says; taking one with a spin lock held panics.
 */
#ifndef SLUICE_LOCK_H
#define SLUICE_LOCK_H

#include "kernel/base/list.h"
#include "kernel/base/types.h"

/* The order of spin locks, outermost first. */
enum lock_rank {
    RANK_PIPE,      /* a pipe */
    RANK_FILE,      /* the open-file table */
    RANK_ICACHE,    /* ext2's table of inodes, its mounts */
    RANK_CONSOLE,   /* the console's line */
    RANK_BIO,       /* the buffer cache */
    RANK_POLICY,    /* a kind's answers and swaps */
    RANK_DISK,      /* one disk's queue */
    RANK_VIRTIO,    /* one device's ring */
    RANK_SLEEPLOCK, /* inside a sleep lock */
    RANK_TIMER,     /* one hart's timers */
    RANK_SCHED,     /* processes, run queue, sleep queues */
    RANK_HIST,      /* the histograms of processes */
    RANK_MEM,       /* free pages */
    RANK_PRINT,     /* kprintf's line */
    RANK_COUNT,
};

struct cpu;
struct proc;

struct spinlock {
    u32 locked;
    enum lock_rank rank;
    const char *name;
    struct cpu *holder;     /* while locked */
    struct spinlock *outer; /* debug: the lock this hart took before */
};

#define SPINLOCK(lock_name, lock_rank)           \
    (struct spinlock)                            \
    {                                            \
        .rank = (lock_rank), .name = (lock_name) \
    }

void spin_lock(struct spinlock *);
void spin_unlock(struct spinlock *);
bool spin_held(const struct spinlock *); /* by this hart */

/* Interrupts off and on again, nesting. */
void irq_push_off(void);
void irq_pop_off(void);

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

/*
 * Sleep until wakeup(chan). Releases lk while asleep and holds it again on
 * return; no wakeup between the two is lost. Sleeps may end for no reason:
 * callers test their condition in a loop. lk may have any rank below SCHED.
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

#define assert(cond)                                            \
    do {                                                        \
        if (!(cond))                                            \
            panic("%s: assertion failed: %s", __func__, #cond); \
    } while (0)

/* Checks worth their cost only while looking for a mistake. */
#ifdef DEBUG
#define debug_assert(cond) assert(cond)
#else
#define debug_assert(cond) ((void)sizeof(!!(cond)))
#endif

/* Is this hart panicking? Does not return if another one is: whoever spins
 * for a lock or takes an ipi asks, so that a panic stops all harts. */
bool panicking(void);

void panic(const char *fmt, ...)
    __attribute__((noreturn, format(printf, 1, 2)));

#endif
