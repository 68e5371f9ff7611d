/*
 * Everything a policy may know: the one boundary between the kernel's
 * mechanism and the policies under policies/.
 *
 * - Mechanism owns the set, policy owns the order. The kernel keeps every
 *   buffer and every request and all locks; a policy only answers questions.
 *   It takes no lock, touches no kernel list and reads no clock: the time
 *   comes as an argument. So a policy can be swapped under load.
 * - A policy is one file that ends in one table:
 *
 *       static const struct policy clook = {.kind = POLICY_SCHED, ...};
 *       POLICY(clook);
 *
 * - A wrong answer is caught, named and counted (`policy fault: sched/mine:
 *   next returned a request that is not queued`); the kernel goes on with the
 *   kind's default, or panics under check=1.
 * - Compiles natively: a policy needs this header and nothing else.
 *
 * Each hook below says required or optional, the locks the kernel holds when
 * it calls, whether it may sleep, and what its return means.
 */
#ifndef SLUICE_POLICY_H
#define SLUICE_POLICY_H

#include "kernel/list.h"
#include "kernel/tree.h"
#include "kernel/types.h"

enum policy_kind {
    POLICY_UPDATE,   /* when do dirty blocks go to the disk */
    POLICY_WRITE,    /* what does a write do now */
    POLICY_SCHED,    /* which request next */
    POLICY_REPLACE,  /* which clean buffer is the victim */
    POLICY_PREFETCH, /* what to read before it is asked for */
    POLICY_PLACE,    /* where on the disk a logical block lives */
    POLICY_KINDS,
};

#define NEVER_NS (~0UL) /* a time that does not come */

/* A number the user may change: `set pu.interval_ms 1000`. */
struct tunable {
    const char *name, *unit;
    u64 def, min, max; /* default and range, both ends included */
    const char *about; /* one sentence */
    u64 value;         /* in force; the registry sets it to def */
};

/* A number the policy counts up; shown in /dev/stat as `name.counter`. */
struct policy_counter {
    const char *name, *unit;
    const char *about; /* one sentence */
    u64 value;
};

/* ---- update: when do dirty blocks go to the disk ---- */

struct update_hooks {
    /* (required) When must the update daemon look again? last_ns is when it
     * last looked (power-on: 0). A time in the past means at once; NEVER_NS,
     * not before the policy or a tunable changes. No lock; may not sleep. */
    u64 (*next_ns)(u64 last_ns);
    /* (required) The time has come: start what is due with flush_all and
     * flush_older. No lock; may sleep. */
    void (*look)(u64 now_ns);
};

/* For update policies, in look(): start the writes of every dirty block, or
 * of those dirty for at least age_ns, oldest first. Return how many. */
u64 flush_all(void);
u64 flush_older(u64 age_ns);

/* ---- write: what does a write do now ---- */

enum write_mode {
    WRITE_THROUGH, /* write, and wait for the disk */
    WRITE_ASYNC,   /* start the write now, do not wait */
    WRITE_DELAYED, /* only make the block dirty */
};

/* A write of file data that has just changed one block. */
struct write_info {
    u32 disk;
    u64 blkno;
    bool filled; /* the write reached the end of the block */
    u64 dirty;   /* blocks dirty now */
    u64 buffers; /* in the cache */
    u64 now_ns;
};

struct write_hooks {
    /* (required) What to do with it. Lock of the kind held; may not sleep. */
    enum write_mode (*decide)(const struct write_info *);
    /* (optional; without it: one in 16 of the cache, at least one) No clean
     * buffer is left and somebody waits for one: of `dirty` dirty blocks,
     * how many of the oldest to write now. 1 to dirty, else a fault.
     * Lock of the kind held; may not sleep. */
    u64 (*no_clean)(u64 dirty, u64 buffers);
};

/* ---- sched: which request next ---- */

struct request {
    u64 sector; /* first, 512 bytes each */
    u32 nsectors;
    bool write;
    bool waited;   /* a process waits for this one */
    u32 pid;       /* on whose behalf; 0: the kernel's own */
    u64 queued_ns; /* when it entered the queue */
    u64 arrival;   /* its number among all that entered this queue */
    u64 word[2];   /* the policy's own while queued; 0 at first */
    const struct queue *queue; /* it is queued here; NULL: not queued */

    /* The queue's: a policy reaches other requests by the queue_ calls. */
    struct tree_node by_sector; /* among those of its direction */
    struct list by_age;         /* likewise */
};

/* One disk's queue. The kernel keeps it by sector and by age. */
struct queue {
    u32 disk;
    u64 head_sector; /* where the last dispatched request ended */
    u64 length[2];   /* queued reads, queued writes */
    u64 arrivals;    /* requests that ever entered */
    u64 word[4];     /* the policy's own, per disk; 0 when it starts */

    struct tree sorted[2];  /* the kernel's: reads, writes, by sector */
    struct list arrived[2]; /* the kernel's: by age */
};

/* Which requests a question is about. */
enum direction { READS = 1, WRITES = 2, BOTH = 3 };

/* The queued request of those directions that starts first at or after the
 * sector; that starts last before it; that has been queued longest. NULL if
 * there is none. O(log n), O(log n), O(1). */
struct request *queue_at_or_after(const struct queue *, enum direction,
                                  u64 sector);
struct request *queue_before(const struct queue *, enum direction, u64 sector);
struct request *queue_oldest(const struct queue *, enum direction);

struct sched_hooks {
    /* (required) Choose the next request to dispatch. The queue is not
     * empty. NULL: none yet; asked again when one arrives or completes, and
     * a fault if nothing is in flight. Disk lock held; may not sleep. */
    struct request *(*next)(struct queue *, u64 now_ns);
    /* (optional) A request has been queued. Disk lock held; may not sleep. */
    void (*queued)(struct queue *, struct request *, u64 now_ns);
    /* (optional) A request leaves the queue: dispatched, by next's choice or
     * joined to a neighbour. Disk lock held; may not sleep. */
    void (*leaves)(struct queue *, struct request *, u64 now_ns);
};

/* ---- replace: which clean buffer is the victim ---- */

/* A buffer as a policy sees it. */
struct block {
    u32 disk;
    bool meta; /* last written as structure of the file system, not as data */
    u64 blkno;
    u64 owner;      /* equal for blocks of one file; 0: of none */
    u64 dirtied_ns; /* when it became dirty; 0: clean */
    union {         /* the replace policy's own while it is evictable */
        struct list link;
        struct tree_node node; /* for an order by number */
    };
    u64 word[2]; /* the replace policy's own while it holds this block */
};

/* A buffer is evictable while it is clean, unreferenced, not in transfer. */
struct replace_hooks {
    /* (required) b has become evictable; `reuse` is false when nobody will
     * want its contents again. Cache lock held; may not sleep. */
    void (*insert)(struct block *b, bool reuse);
    /* (required) b is evictable no more: it is used again, or is the victim
     * just chosen. Cache lock held; may not sleep. */
    void (*remove)(struct block *b);
    /* (required) Choose a victim among the evictable ones, and do not remove
     * it: the kernel calls remove. NULL only if there is none. Cache lock
     * held; may not sleep. */
    struct block *(*victim)(void);
    /* (optional) b, as the victim, loses its block, to ghost lists say; word
     * is cleared after. Cache lock held; may not sleep. */
    void (*evicted)(const struct block *b);
};

/* ---- prefetch: what to read before it is asked for ---- */

/* What a policy remembers of one open file. All zero when it is opened. */
struct stream {
    u64 next_block; /* the kernel's: the block after the last one read */
    u64 word[4];    /* the policy's own */
};

/* A read of file blocks, about to be done. */
struct access {
    u64 block, nblocks; /* what is asked for */
    u64 file_blocks;    /* length of the file */
    u32 block_bytes;
};

struct prefetch_hooks {
    /* (required) How many blocks to start reading from *first on (which the
     * hook sets), after what was asked for; 0: none. Past the end of the
     * file is a fault. Lock of the kind held; may not sleep. */
    u64 (*ahead)(struct stream *, const struct access *, u64 *first);
};

/* ---- place: where a logical block lives ---- */

struct place_hooks {
    /* (required) The physical block a transfer of this logical block goes
     * to. Outside the disk is a fault. Lock of the kind held; may not
     * sleep. */
    u64 (*physical)(u32 disk, u64 blkno, bool write);
};

/* ---- the table ---- */

struct policy {
    enum policy_kind kind;
    const char *name;                /* a word */
    const char *about;               /* one line */
    struct tunable *tunables;        /* NULL, or ends with a row of zeros */
    struct policy_counter *counters; /* likewise */
    /* (optional) Before the first question and after the last. start sees no
     * buffers or requests yet: those there are follow by insert and queued.
     * May not sleep. */
    void (*start)(void);
    void (*stop)(void);
    union {
        struct update_hooks update;
        struct write_hooks write;
        struct sched_hooks sched;
        struct replace_hooks replace;
        struct prefetch_hooks prefetch;
        struct place_hooks place;
    };
};

/* Register a policy: the linker gathers these. */
#define POLICY(p)                                    \
    static const struct policy *const p##_registered \
        __attribute__((used, section("policies"))) = &p

#endif
