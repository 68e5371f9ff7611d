/*
 * Between runqueue.c, which gives the harts to processes, and proc.c, which
 * makes and ends them. Callers hold sched.lock.
 */
#ifndef SLUICE_SCHED_H
#define SLUICE_SCHED_H

#include "kernel/proc/proc.h"

#define SLEEP_BUCKETS 64

struct sched {
    struct spinlock lock;
    struct list runnable;                /* waiting for a hart, in turn */
    struct list sleepers[SLEEP_BUCKETS]; /* by channel */
};

extern struct sched sched;

void sched_init(void);

/* Make p, which is on no queue, runnable. */
void sched_ready(struct proc *p);

/* The same for a new child, which goes before its parent. */
void sched_ready_next(struct proc *p);

/* Give the hart to the next; returns when this process, whose state the
 * caller has set, gets one again. No other spin lock may be held. */
void sched_switch(void);

void sched_sleep(const void *chan, bool interruptible);
void sched_wakeup(const void *chan);

/* p has been killed: end its sleep, or its stay in user mode. */
void sched_interrupt(struct proc *p);

#endif
