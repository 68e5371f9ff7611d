/*
 * Spin locks, and keeping interrupts off. Locks that a process may hold while
 * it sleeps are in proc/sleep.h.
 *
 * - A spin lock is held with interrupts off and never across a sleep.
 * - Lock order: a lock may be taken only while every spin lock held has a
 *   smaller rank (enum lock_rank, outermost first). Debug builds check each
 *   acquisition and panic with both names.
 */
#pragma once

#include "kernel/machine/panic.h"

/* The order of spin locks, outermost first. */
enum lock_rank {
    RANK_PIPE,      /* a pipe */
    RANK_FILE,      /* the open-file table */
    RANK_ICACHE,    /* ext2's table of inodes, its mounts */
    RANK_CONSOLE,   /* the console's line */
    RANK_BIO,       /* the buffer cache */
    RANK_POLICY,    /* a kind's answers and swaps */
    RANK_DISK,      /* one disk's queue */
    RANK_NET,       /* what the protocols keep */
    RANK_CHANGE,    /* which scheduler and place policy are in use */
    RANK_VIRTIO,    /* one device's ring */
    RANK_SLEEPLOCK, /* inside a sleep lock */
    RANK_TIMER,     /* one hart's timers */
    RANK_RUNQUEUE,  /* processes, run queue, sleep queues */
    RANK_HIST,      /* the histograms of processes */
    RANK_MEM,       /* free pages */
    RANK_PRINT,     /* kprintf's line */
    RANK_COUNT,
};

struct cpu;

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

HOLDER(spin, struct spinlock, spin_lock, spin_unlock) /* HOLD(spin, &lock) */

/* Interrupts off and on again, nesting. */
void irq_push_off(void);
void irq_pop_off(void);
