/*
 * The boundary between the kernel's mechanism and the policies: everything that
 * a policy may know.
 *
 * - Mechanism owns the set, policy owns the order. The kernel keeps all
 *   buffers, requests and locks; a policy only answers questions. It takes no
 *   lock, touches no kernel list and reads no clock: the time is an argument.
 *   So a policy can be swapped under load.
 * - A wrong answer is caught, named and counted (`policy fault: sched/mine:
 *   next returned a request that is not queued`). The kernel goes on with the
 *   kind's default, or panics under check=1.
 * - Compiles natively. A policy needs this header, and those of policies/lib
 *   if it wants what policies share.
 *
 * A policy's file has, in this order: the algorithm and its source, as a
 * comment; enum { INTERVAL_MS, ... }, which names the rows of tunables[] that
 * follow; the same of counters[]; state; hooks; a table of hooks, and POLICY.
 * A row is reached by its name, as tunables[INTERVAL_MS].value.
 *
 * Each hook says whether it is required, which locks the kernel holds when it
 * calls, and what the return means. None may sleep unless it says so.
 */
#ifndef SLUICE_POLICY_H
#define SLUICE_POLICY_H

#include "kernel/base/list.h"
#include "kernel/base/tree.h"
#include "kernel/base/types.h"
#include "kernel/base/units.h"
#include "kernel/policy/approach.h"

/* The kinds of policies; below, each has a section, headed by its question. */
enum policy_kind {
    POLICY_UPDATE,
    POLICY_WRITE,
    POLICY_SCHED,
    POLICY_REPLACE,
    POLICY_PREFETCH,
    POLICY_PLACE,
    POLICY_KINDS
};

#define MAX_DISKS 8 /* they are numbered from 0 */

/* A number the user may change: `set pu.interval_ms 1000`. */
struct tunable {
    const char *name, *unit;
    u64 def, min, max; /* default and range, both ends included */
    const char *about; /* one sentence */
    u64 value;         /* now; the registry sets it to def */
};

/* A number the policy counts up; shown in /dev/stat as `name.counter`. */
struct policy_counter {
    const char *name, *unit;
    const char *about; /* one sentence */
    u64 value;
};

/* ---- what several kinds see ---- */

/* A buffer as a policy sees it. */
struct block {
    u32 disk;
    bool held_back; /* dirty by WRITE_HELD_BACK */
    bool meta; /* last written as structure of the file system, not as data */
    u64 blkno;
    u64 owner;      /* equal for blocks of one file; 0: of none */
    u64 dirtied_ns; /* when it became dirty; 0: clean */
    u64 used;       /* grows from block to block with each use by a process */
    /* The replace policy's own: while it has the block; while the buffer holds
     * this block. */
    union {
        struct list link;
        struct tree_node node; /* for an order by number */
    };
    u64 word[2];
    /* The update policy's own while the block is dirty; mark is 0 at first. */
    struct list owing;
    u64 mark;
};

/* The cache now, and what it counted since power-on. */
struct cache_state {
    u64 buffers, dirty, writing; /* now */
    u64 held_back;               /* of the dirty ones */
    u64 dirtied, absorbed, written, hits, misses;
    /* Blocks read ahead; of them asked for; of those still under way; never
     * asked for. */
    u64 ahead, ahead_used, ahead_late, ahead_wasted;
};

/* The requests at one disk now. */
struct disk_state {
    bool modelled; /* by a drive model: queue_approach knows */
    u64 queued_reads, queued_writes, in_flight;
    u64 queued_ns; /* the number queued, summed over time since power-on */
};

/* Both may be asked in any hook but sched's. */
void cache_state(struct cache_state *);
bool disk_state(u32 disk, struct disk_state *); /* false: no such disk */

/* ---- update: when do dirty blocks go to the disk ---- */

/* But for the first two, the cache's lock is held. */
struct update_hooks {
    /* (required) When must the update daemon look again? last_ns is when it
     * last looked (power-on: 0). A time in the past means at once; NEVER_NS,
     * not before the policy or a tunable changes. No lock. */
    u64 (*next_ns)(u64 last_ns);
    /* (required) The time has come: start what is due, with the flush_ calls.
     * No lock; may sleep. */
    void (*look)(u64 now_ns);
    /* (optional) b has become dirty, or is dirty when the policy starts (the
     * oldest comes first). It may be put on a list of the policy's by owing. */
    void (*dirtied)(struct block *b, u64 now_ns);
    /* (optional) b, dirty, is about to be written or dropped: unlist it. */
    void (*leaves)(struct block *b);
    /* (optional) A program reads a file's block b, whose contents are cached
     * (hit; then they may be dirty) or not. */
    void (*wanted)(const struct block *b, bool hit);
};

/* For update policies in look(), and write policies in each_second(): start
 * writes. Each returns how many. No block is tried twice in one look, so that
 * one which cannot be written does not hold it up. */
u64 flush_all(void);               /* every dirty block */
u64 flush_older(u64 age_ns);       /* those dirty for at least so long */
u64 flush_oldest(u64 n);           /* the oldest, up to n */
u64 flush_files(struct list *due); /* those on a list of the policy's, by owing,
                                      and the rest of their files */

/* What to do with a block that is shown. */
enum visit {
    PASS,       /* nothing */
    FLUSH,      /* write it, if it is dirty */
    FLUSH_LAST, /* write it, if it is dirty, and then show no more */
    STOP,       /* nothing, and show no more */
};

/* Show the policy every dirty block, the oldest first; or buffers first to
 * first + n - 1 of the cache, clean or dirty. Start the writes that it says.
 * A visit is made with the cache's lock held. */
typedef enum visit visit_fn(struct block *, u64 now_ns);
u64 flush_by_age(visit_fn *);
u64 flush_in_cache(u64 first, u64 n, visit_fn *);

/* When the oldest dirty block became dirty; NEVER_NS if none is. */
u64 oldest_dirty_ns(void);

/* Have the update daemon look once, before its time too, as soon as n blocks
 * are dirty. UNLIMITED takes that back. */
void look_at_dirty(u64 n);

/* ---- write: what does a write do now ---- */

enum write_mode {
    WRITE_THROUGH,   /* write, and wait for the disk */
    WRITE_ASYNC,     /* start the write now, do not wait */
    WRITE_DELAYED,   /* only make the block dirty */
    WRITE_HELD_BACK, /* make it dirty, and mark it held_back */
};

/* A write of file data that has just changed one block. */
struct write_info {
    u32 disk;
    u64 blkno;
    bool filled;        /* the write reached the end of the block */
    u64 dirty, buffers; /* blocks dirty now; buffers in the cache */
    u64 queued;         /* requests queued at the disk now */
    u64 now_ns;
};

/* But for the last, the lock of the kind is held. */
struct write_hooks {
    /* (required) What to do with it. */
    enum write_mode (*decide)(const struct write_info *);
    /* (optional; without it: one in 16 of the cache, at least one) No clean
     * buffer is left and a process waits for one: how many of the oldest of
     * `dirty` dirty blocks to write now, 1 to dirty. */
    u64 (*no_clean)(u64 dirty, u64 buffers);
    /* (optional) The most blocks that may be dirty or being written, from 1. A
     * writer that makes it more waits, and the oldest are written, meanwhile.
     */
    u64 (*most_dirty)(u64 buffers);
    /* (optional) Called about once a second, by the update daemon: start
     * writes with the flush_ calls. No lock; may sleep. */
    void (*each_second)(u64 now_ns);
};

/* ---- sched: which request next ---- */

struct request {
    u64 sector; /* first, 512 bytes each; logical, see place */
    u32 nsectors;
    bool write;
    bool raw;      /* its sector is physical */
    bool waited;   /* a process waits for this one */
    bool offer;    /* a dirty block: it may be written, and need not */
    bool again;    /* the offer's block was modified again; the policy clears */
    u32 pid;       /* on whose behalf; 0: the kernel's own */
    u64 queued_ns; /* when it entered the queue; an offer: became dirty */
    u64 arrival;   /* its number among all that entered this queue */
    u64 physical;  /* first sector on the platters; set at dispatch */
    u64 word[2];   /* the policy's own while queued; 0 at first */
    const struct queue *queue; /* it is queued here; NULL: not queued */

    /* The queue's orders of its set: a policy asks by the queue_ calls. */
    struct tree_node by_sector;
    struct list by_age;
};

/* The sets that a queue keeps its requests in. */
enum queue_set { SET_READS, SET_WRITES, SET_OFFERS, QUEUE_SETS };

/* The sets that a question is about, as bits. */
enum direction { READS = 1, WRITES = 2, BOTH = READS | WRITES, OFFERS = 4 };

/* One disk's queue. The kernel keeps it by sector and by age. */
struct queue {
    u32 disk;
    u64 turn_ns;     /* of the modelled platter; 0: there is none */
    u64 head_sector; /* where the last command ended; physical */
    /* The last command: the scheduler's choice for it, when it was dispatched,
     * and when the modelled drive has done it. How many there were. */
    const struct request *last;
    u64 last_ns, done_ns, commands;
    u64 length[QUEUE_SETS]; /* requests in each set */
    u64 arrivals;           /* requests that ever entered */
    u64 word[4];            /* the policy's own, per disk; 0 when it starts */

    struct tree sorted[QUEUE_SETS];  /* the kernel's, by sector */
    struct list arrived[QUEUE_SETS]; /* the kernel's, by age */
};

/* Every dirty block is an offer: a write that the scheduler may dispatch, and
 * need not, for the update policy has it queued when it is due. A chosen offer
 * that turns out to be in use is withdrawn, and the scheduler is asked again.
 *
 * Of those sets, the request that starts first at or after the sector; the
 * same in circular order: if there is none, the first of all; that starts last
 * before it; that has been queued longest. NULL if there is none. O(log n) but
 * for the last, O(1). */
struct request *queue_at_or_after(const struct queue *, enum direction,
                                  u64 sector);
struct request *queue_circular(const struct queue *, enum direction,
                               u64 sector);
struct request *queue_before(const struct queue *, enum direction, u64 sector);
struct request *queue_oldest(const struct queue *, enum direction);

/* The time now: it goes on while a policy thinks. */
u64 clock_ns(void);

/* How would the arm come to r, if the drive were given `first` (NULL: nothing)
 * at start_ns, and r gap_ns after that is done? Without a model both times are
 * NEVER_NS. */
struct approach queue_approach(const struct queue *, u64 start_ns,
                               const struct request *first, u64 gap_ns,
                               const struct request *r);

/* Move the arm of the drive to its first cylinder or its last, with nothing to
 * transfer. Returns when it is there, which a command waits for; 0 where no arm
 * can be moved: without a model, with a model that is one service time, and
 * while the drive has a command. */
u64 queue_seek_edge(struct queue *, bool last);

/* The disk's lock is held. */
struct sched_hooks {
    /* (required) Choose the next request to dispatch. The queue is not empty,
     * or it has offers alone and the policy takes_offers. NULL: none yet; then
     * it is asked again when a request arrives or completes. NULL is a fault
     * if nothing is in flight, and there is no again_ns. */
    struct request *(*next)(struct queue *, u64 now_ns);
    /* (optional) next has chosen none, and nothing is in flight: when to ask
     * again, if no request is queued before (an offer does not count);
     * NEVER_NS: not before one is. */
    u64 (*again_ns)(const struct queue *, u64 now_ns);
    /* (optional) A request has been queued. It leaves the queue: dispatched, by
     * next's choice or merged with a neighbour, or withdrawn. */
    void (*queued)(struct queue *, struct request *, u64 now_ns);
    void (*leaves)(struct queue *, struct request *, u64 now_ns);
    bool takes_offers; /* ask also when there are none but offers */
    bool joins_offers; /* merge offers with one that ends where they begin */
};

/* ---- replace: which clean buffer is the victim ---- */

/* A buffer is evictable while it is clean, unreferenced, not in transfer. If
 * the policy takes_dirty, also while it is dirty (dirtied_ns tells) and can be
 * written. The cache's lock is held. */
struct replace_hooks {
    /* (required) b has become evictable; `reuse` is false when nobody will
     * want its contents again. */
    void (*insert)(struct block *b, bool reuse);
    /* (required) b is evictable no more: used again, or the chosen victim. */
    void (*remove)(struct block *b);
    /* (required) Choose a victim among the evictable ones, and do not remove
     * it: the kernel calls remove. NULL only if there is none. If it is dirty,
     * it is written, and the question asked again. */
    struct block *(*victim)(void);
    /* (optional) A victim will be asked for, to make room for this block, which
     * is not cached. */
    void (*coming)(u32 disk, u64 blkno);
    /* (optional) b, as the victim, loses its block; word is cleared after. */
    void (*evicted)(const struct block *b);
    bool takes_dirty; /* have the dirty ones, too */
};

/* ---- prefetch: what to read before it is asked for ---- */

/* One of the sequences in which an open file is read, told apart by `follows`.
 * All zero when it begins, and when the policy is put to use. */
struct stream {
    u64 next_block; /* the kernel's: the block after the last one read; 0: it
                       begins with this read */
    u64 used;       /* the kernel's: the number of its last read; 0: none */
    u64 word[4];    /* the policy's own */
};

/* What had become of a block when it was asked for. */
enum found {
    MISSING, /* it must be read: never was, or was evicted since */
    COMING,  /* its read is under way */
    CACHED,
};

/* What the program has said of an open file (abi.h, advise). */
enum hint { HINT_NONE, HINT_SEQUENTIAL, HINT_RANDOM };

/* A read of file blocks, about to be done. */
struct access {
    u64 block, nblocks; /* what is asked for */
    u64 file_blocks;    /* length of the file */
    u32 block_bytes;
    enum found found; /* the first of them */
    enum hint hint;
};

/* Does a read go on where the stream's last one ended, or in its last block? A
 * stream that begins is at the file's first block. */
static inline bool goes_on(const struct stream *s, const struct access *a)
{
    return a->block <= s->next_block && a->block + 1 >= s->next_block;
}

/* Blocks of the file: first to first + n - 1, and as many again `step` blocks
 * further on, or back, `times` times in all. */
struct wish {
    u64 first, n; /* n = 0: none */
    i64 step;
    u64 times; /* 1 unless the hook sets it */
};

struct prefetch_hooks {
    /* (required) Which blocks to start reading, beside what is asked for. The
     * kernel leaves out what is cached, and what goes beyond the share of the
     * cache that prefetching may fill. Before the file's first block or past
     * its last is a fault. Lock of the kind held. */
    void (*ahead)(struct stream *, const struct access *, struct wish *);
    /* (optional; without it: goes_on) Does this read belong to the stream,
     * which has had one at least? If it belongs to none, it begins one. Lock
     * of the kind held. */
    bool (*follows)(const struct stream *, const struct access *);
    /* Do not ask while the hint is HINT_RANDOM; start to read what a program
     * says it will need, and evict next what it says it will not. */
    bool takes_hints;
};

/* ---- place: where on the disk does a request go ---- */

/* The disk's lock is held. */
struct place_hooks {
    /* (optional; without it: r->sector) The first physical sector of the
     * request, if it were dispatched now: where a read's data are, where a
     * write may go. Not on the disk is a fault. It is asked once of a request
     * that is dispatched, once of a neighbour that may be merged with that, and
     * by queue_approach, but of no raw request. An answer has no effect yet. */
    u64 (*place)(const struct queue *, const struct request *r);
    /* (optional) The request goes to r->physical, the last answer for it. */
    void (*placed)(const struct queue *, const struct request *r);
};

/* ---- the table ---- */

struct policy {
    enum policy_kind kind;
    const char *name;                /* a word */
    const char *about;               /* one line */
    struct tunable *tunables;        /* NULL, or ends with a row of zeros */
    struct policy_counter *counters; /* NULL, or ends with a row of zeros */
    /* (optional) Before the first question and after the last. start sees no
     * buffers or requests yet: insert and queued tell of those there are. */
    void (*start)(void);
    void (*stop)(void);
    /* (optional) Why it cannot do its work on this machine with its tunables
     * as they are, or NULL. If there is a reason, the policy is not put to use,
     * or, in use, the tunable is not set. Asked before start, too. No lock. */
    const char *(*refuses)(void);
    /* (optional) Under check=1, after each answer: what is wrong with what the
     * policy keeps, which is a panic, or NULL. Locks as for the answer. An
     * update policy is checked after it has been told of a block that became
     * dirty and after each look, with the cache's lock; while a policy looks,
     * neither it nor a write policy is checked. */
    const char *(*check)(void);
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
