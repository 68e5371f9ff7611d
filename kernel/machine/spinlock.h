/*
 * A spin lock, and the order of all of them. lock.h has the functions; this
 * header alone is for what is part of a hart (cpu.h).
 */
#pragma once

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
