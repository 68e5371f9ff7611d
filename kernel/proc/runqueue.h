/*
 * Between runqueue.c, which gives the harts to processes, and proc.c, which
 * makes and ends them. Callers hold runqueue.lock.
 */
#pragma once

#include "kernel/proc/proc.h"

#define SLEEP_BUCKETS 64

struct runqueue {
    struct spinlock lock;
    struct list runnable;                /* waiting for a hart, in turn */
    struct list sleepers[SLEEP_BUCKETS]; /* by channel */
};

extern struct runqueue runqueue;

void runqueue_init(void);

/* Make p, which is on no queue, runnable. */
void run_later(struct proc *p);

/* Make a new child runnable, to run before its parent goes on. */
void run_next(struct proc *p);

/* Give the hart to the next process. Returns when this process, whose state the
 * caller has set, gets a hart again. No other spin lock may be held. */
void run_other(void);

void run_sleep(const void *chan); /* kill ends it */
void run_wakeup(const void *chan);

/* p has been killed: end its sleep, or its run in user mode. */
void run_interrupt(struct proc *p);
