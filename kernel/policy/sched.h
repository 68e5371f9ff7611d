/*
 * The sched kind answers: which request does the drive get next? The kernel
 * keeps a disk's requests in a queue, sorted by sector and by age; a scheduler
 * chooses one. Every dirty block is a candidate write: it may be dispatched and
 * need not, as the update policy has it queued when it is due. If a chosen one
 * turns out to be in use, the scheduler is asked again.
 */
#pragma once

#include "kernel/policy/position.h"

struct request {
    u64 sector; /* the first, of 512 bytes each, as the file system knows it */
    u32 nsectors;
    bool write, waited; /* a write; a process waits for this one */
    bool candidate;     /* it is a candidate write */
    bool again; /* its block was modified again; the policy may clear it */
    bool raw;   /* past the cache and the place policy */
    bool moved, inside; /* the kernel's: to empty a place; done by the drive */
    u32 pid;            /* on whose behalf; 0: the kernel's own */
    u64 queued_ns;      /* when it was queued; of a candidate: became dirty */
    u64 arrival;        /* its number among all that entered this queue */
    u64 physical;       /* the first sector on the disk, set at dispatch */
    u64 word[2];        /* the policy's, while it is queued; 0 at first */
    const struct queue *queue;  /* the kernel's: where it is, or NULL, */
    struct tree_node by_sector; /* and the orders there */
    struct list by_age;
};

/* The sets of a queue's requests, and as bits for questions. */
enum queue_set { SET_READS, SET_WRITES, SET_CANDIDATES, QUEUE_SETS };
enum direction { READS = 1, WRITES = 2, BOTH = READS | WRITES, CANDIDATES = 4 };

struct queue { /* of one disk */
    u32 disk;
    u64 nsectors;         /* of the disk */
    u64 turn_ns;          /* of the modelled platter; 0: there is none */
    struct tracks tracks; /* under the disk */
    bool logged;          /* blocks go where a place is free (kind place) */
    u64 head_sector;      /* where the last command ended, on the disk */
    const struct request *last;     /* the choice for the last command */
    u64 last_ns, done_ns, commands; /* dispatched, done (model); how many */
    u64 length[QUEUE_SETS];         /* requests in each set */
    u64 word[4];  /* the policy's, per disk; 0 when it starts */
    u64 arrivals; /* the kernel's, as the next: how many ever entered */
    struct tree sorted[QUEUE_SETS];
    struct list arrived[QUEUE_SETS];
};

/* A request of the sets asked about, or NULL if there is none. O(log n).
 * The one that starts first at or after the sector. */
struct request *queue_at_or_after(const struct queue *, enum direction, u64);
/* Like queue_at_or_after; if there is none, the request that starts first. */
struct request *queue_circular(const struct queue *, enum direction, u64);
/* The request that starts last before the sector. */
struct request *queue_before(const struct queue *, enum direction, u64 sector);
/* The request that was queued first. */
struct request *queue_oldest(const struct queue *, enum direction);

/* The disk's lock is held. */
struct sched_hooks {
    /* (required) Choose the next request to dispatch. The queue is not empty,
     * or has candidates alone and takes_candidates is set. NULL: none until a
     * request arrives or completes, which is a fault if nothing is in flight
     * and there is no again_ns. */
    struct request *(*next)(struct queue *, u64 now_ns);
    /* (optional) Return when to ask `next` again, which chose none with nothing
     * in flight. It is asked earlier if a request is queued (no candidate). */
    u64 (*again_ns)(const struct queue *, u64 now_ns);
    /* (optional) A request has entered the queue. */
    void (*queued)(struct queue *, struct request *, u64 now_ns);
    /* (optional) A request is chosen, merged with a neighbour, or withdrawn. */
    void (*leaves)(struct queue *, struct request *, u64 now_ns);
    /* (optional) As check of struct policy, of what is kept of this queue. */
    const char *(*check)(const struct queue *);
    bool takes_candidates; /* ask also with candidates alone */
    bool joins_candidates; /* merge one with what ends where it begins */
};

#include "kernel/policy/policy.h" /* the table, and POLICY() */
