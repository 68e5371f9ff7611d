/*
 * The boundary between the kernel's mechanism and the policies: everything that
 * a policy may know.
 *
 * - Mechanism owns the set, policy owns the order. The kernel keeps all
 *   buffers, requests and locks; a policy only answers questions. It takes no
 *   lock, touches no kernel list and gets the time as an argument.
 *   So a policy can be swapped under load.
 * - A wrong answer is caught, printed and counted (`policy fault: sched/mine:
 *   next returned a request that is not queued`). Then the kind's default takes
 *   over; under check=1 the kernel panics; under faults=answer it answers this
 *   one question itself. A pointer that leads nowhere is not caught.
 * - A policy needs this header and, if it wants what policies share, those of
 *   policies/lib. It compiles natively, too.
 *
 * A policy's file has, in this order: the algorithm and its source, as a
 * comment; enum { INTERVAL_MS, ... }, which names the rows of tunables[] that
 * follow; the same for counters[]; state; hooks; a table of hooks, and POLICY.
 * A row is reached by its name, as tunables[INTERVAL_MS].value.
 *
 * Above each table of hooks stands which lock the kernel holds when it calls
 * them. A hook that does not say so may not sleep.
 */
#ifndef SLUICE_POLICY_H
#define SLUICE_POLICY_H

#include "kernel/base/list.h"
#include "kernel/base/tree.h"
#include "kernel/base/types.h"
#include "kernel/base/units.h"
#include "kernel/policy/approach.h"

/* The kinds of policies. Each has a section below, headed by its question. */
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
#define NO_SECTOR UINT64_MAX

/* A number that the user may change: `set pu.interval_ms 1000`. */
struct tunable {
    const char *name, *unit;
    u64 def, min, max; /* default and range, both ends included */
    const char *about; /* one sentence */
    u64 value;         /* now; the registry sets it to def */
};

/* Memory of a policy, of a size that follows the cache's. It is there from
 * start to stop, contiguous, page aligned and not cleared; another policy of
 * the kind may have it afterwards. So a sched or place policy has none: the old
 * and the new one are in use at once during a swap. */
struct policy_memory {
    /* How many bytes it takes for a cache of so many buffers, at most, whatever
     * the tunables are. If there is not that much, the policy is not put to
     * use. */
    u64 (*bytes)(u64 buffers);
    /* Set before each start. */
    void *start;
    u64 buffers;
};

/* A number that the policy counts up; shown in /dev/stat as `name.counter`. A
 * sched or place policy counts all disks in one number, each under its own
 * lock: with several disks and harts a step may be missed. With one hart, as
 * all experiments have, none is. */
struct policy_counter {
    const char *name, *unit, *about;
    u64 value;
};

/* ---- what several kinds see ---- */

/* A buffer as a policy sees it. */
struct block {
    u32 disk;
    bool held_back; /* dirty, and WRITE_HELD_BACK */
    bool meta;      /* last written as structure of the file system, not data */
    bool first;     /* in insert: now used, after an insert without a use */
    u64 blkno;
    u64 owner;      /* equal for blocks of one file; 0: of none */
    u64 dirtied_ns; /* when it became dirty; 0: clean */
    u64 used;       /* grows from block to block with each use by a process */
    /* The replace policy's: link or node from insert to remove; word until the
     * buffer loses its block, 0 at first. */
    union {
        struct list link;
        struct tree_node node;
    };
    u64 word[2];
    /* The update policy's, while the block is dirty; mark is 0 at first. */
    struct list owing;
    u64 mark;
};

/* The cache now, and counts since power-on. */
struct cache_state {
    u64 buffers, writing, dirty, held_back; /* now; the last are dirty, too */
    u64 dirtied, written, hits, misses;
};

/* The requests at one disk now. */
struct disk_state {
    bool modelled; /* by a drive model, so queue_approach knows */
    u64 queued_reads, queued_writes, in_flight;
    u64 queued_ns; /* the number queued, summed over time since power-on */
};

/* These may be called in any hook but those of sched and place. */
void cache_state(struct cache_state *);
bool disk_state(u32 disk, struct disk_state *); /* false: no such disk */

/* ---- update: when do dirty blocks go to the disk? ---- */

/* The cache's lock is held, but not for the first two. */
struct update_hooks {
    /* (required) When must the update daemon look again? It last looked at
     * last_ns (0: never). A time in the past means at once; NEVER_NS, not
     * before the policy or a tunable changes. */
    u64 (*next_ns)(u64 last_ns);
    /* (required) The time has come: start the writes that are due, with the
     * flush_ calls. May sleep. */
    void (*look)(u64 now_ns);
    /* (optional) b has become dirty, or is dirty when the policy starts (the
     * oldest comes first). The policy may list it by `owing`. */
    void (*dirtied)(struct block *b, u64 now_ns);
    /* (optional) b, dirty, is about to be written or dropped: unlist it. */
    void (*leaves)(struct block *b);
    /* (optional) A program reads block b of a file. Its contents are cached
     * (hit; they may be dirty) or not. */
    void (*wanted)(const struct block *b, bool hit);
};

/* Start writes, in look() or each_second(); each returns how many. A block is
 * tried once in one look, so one that cannot be written holds nothing up. */
u64 flush_all(void);            /* every dirty block */
u64 flush_older(u64 age_ns);    /* those dirty for at least so long */
u64 flush_oldest(u64 n);        /* the oldest, up to n */
u64 flush_files(struct list *); /* those on it by owing, with all their files */

/* What to do with a block that is shown. */
enum visit {
    PASS,       /* nothing */
    FLUSH,      /* write it, if it is dirty */
    FLUSH_LAST, /* write it, if it is dirty, and then show no more */
    STOP,       /* nothing, and show no more */
};

/* Show the policy, with the cache's lock held, every dirty block, the oldest
 * first; or buffers first to first + n - 1 of the cache, clean or dirty. */
typedef enum visit visit_fn(struct block *, u64 now_ns);
u64 flush_by_age(visit_fn *);
u64 flush_in_cache(u64 first, u64 n, visit_fn *);

u64 oldest_dirty_ns(void); /* since when; NEVER_NS: no block is dirty */

/* Have the update daemon look, once, as soon as n blocks are dirty; UNLIMITED
 * takes that back. */
void look_at_dirty(u64 n);

/* ---- write: what does a write do now? ---- */

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

/* The lock of the kind is held, but not for the last. */
struct write_hooks {
    /* (required) What to do with it. */
    enum write_mode (*decide)(const struct write_info *);
    /* (optional; without it: a 16th of the cache) A process waits, for no clean
     * buffer is left: how many of the oldest dirty blocks to write, from 1. */
    u64 (*no_clean)(u64 dirty, u64 buffers);
    /* (optional) The most blocks that may be dirty or being written, from 1. A
     * writer that makes it more waits while the oldest are written. */
    u64 (*most_dirty)(u64 buffers);
    /* (optional) About a second has passed: start writes. May sleep. */
    void (*each_second)(u64 now_ns);
    /* Ask decide, with `filled`, also about writes that the update policy
     * starts or that make room. Held back, they wait for each_second. */
    bool every_origin;
    /* The cache counts as memory that keeps its contents without power: a write
     * that would be waited for, and an fsync, is done when the block is dirty.
     */
    bool keeps;
};

/* ---- sched: which request goes next? ---- */

/* Every dirty block is a candidate write (an offer): the scheduler may dispatch
 * it and need not, for the update policy has it queued when it is due. If a
 * chosen one turns out to be in use, the scheduler is asked again. */
struct request {
    u64 sector; /* the first, of 512 bytes each, as the file system knows it */
    u32 nsectors;
    bool write;
    bool waited;   /* a process waits for this one */
    bool offer;    /* it is a candidate write */
    bool again;    /* its block was modified again; the policy may clear it */
    bool raw;      /* past the cache and the place policy */
    bool moved;    /* the kernel's, for a place policy that cleans */
    u32 pid;       /* on whose behalf; 0: the kernel's own */
    u64 queued_ns; /* when it was queued; of an offer: became dirty */
    u64 arrival;   /* its number among all that entered this queue */
    u64 physical;  /* the first sector on the disk, set at dispatch */
    u64 word[2];   /* the policy's, while it is queued; 0 at first */

    /* The kernel's: the queue that it is in, or NULL, and the orders there. */
    const struct queue *queue;
    struct tree_node by_sector;
    struct list by_age;
};

/* The sets that a queue keeps its requests in, and as bits for questions. */
enum queue_set { SET_READS, SET_WRITES, SET_OFFERS, QUEUE_SETS };
enum direction { READS = 1, WRITES = 2, BOTH = READS | WRITES, OFFERS = 4 };

/* One disk's queue. */
struct queue {
    u32 disk;
    u64 nsectors;         /* of the disk */
    u64 turn_ns;          /* of the modelled platter; 0: there is none */
    struct tracks tracks; /* under the disk */
    bool logged;          /* blocks go where a place is free (kind place) */
    u64 head_sector;      /* where the last command ended, on the disk */
    /* The last command: the scheduler's choice for it, when it was dispatched,
     * and when the modelled drive has done it. How many there were. */
    const struct request *last;
    u64 last_ns, done_ns, commands;
    u64 length[QUEUE_SETS]; /* requests in each set */
    u64 word[4];            /* the policy's, per disk; 0 when it starts */

    /* The kernel's: how many ever entered; each set by sector and by age. */
    u64 arrivals;
    struct tree sorted[QUEUE_SETS];
    struct list arrived[QUEUE_SETS];
};

/* A request of the sets asked about, or NULL if there is none. O(log n). */
/* The one that starts first at or after the sector. */
struct request *queue_at_or_after(const struct queue *, enum direction,
                                  u64 sector);
/* The same, or if there is none, the one that starts first of all. */
struct request *queue_circular(const struct queue *, enum direction,
                               u64 sector);
/* The one that starts last before the sector. */
struct request *queue_before(const struct queue *, enum direction, u64 sector);
/* The one that was queued first. */
struct request *queue_oldest(const struct queue *, enum direction);

u64 clock_ns(void); /* the time now: it goes on while a policy thinks */

/* How would the arm come to r, if the drive were given `first` (NULL: nothing)
 * at start_ns, and r gap_ns after that is done? Without a drive model both
 * times of the answer are NEVER_NS. */
struct approach queue_approach(const struct queue *, u64 start_ns,
                               const struct request *first, u64 gap_ns,
                               const struct request *r);

/* How would the arm come to these sectors for a write, if the drive were given
 * that at start_ns? With a model only. */
struct approach queue_arrival(const struct queue *, u64 start_ns, u64 sector,
                              u32 nsectors);

/* Move the arm to the drive's first cylinder or its last, with nothing to
 * transfer. Returns when it is there, until which a command waits; 0 if no arm
 * can be moved: there is no model of one, or the drive has a command. */
u64 queue_seek_edge(struct queue *, bool last);

/* The disk's lock is held. */
struct sched_hooks {
    /* (required) Choose the next request to dispatch. The queue is not empty,
     * or it has offers alone and the policy takes_offers. NULL: none until a
     * request arrives or completes, which is a fault if nothing is in flight
     * and there is no again_ns. */
    struct request *(*next)(struct queue *, u64 now_ns);
    /* (optional) next has chosen none, and nothing is in flight: when to ask
     * again. It is asked earlier if a request is queued that is no offer. */
    u64 (*again_ns)(const struct queue *, u64 now_ns);
    /* (optional) A request has entered the queue. */
    void (*queued)(struct queue *, struct request *, u64 now_ns);
    /* (optional) It is chosen, merged with a neighbour, or withdrawn. */
    void (*leaves)(struct queue *, struct request *, u64 now_ns);
    /* (optional) As check of struct policy, but of what is kept of this queue:
     * that of another disk may be changing. */
    const char *(*check)(const struct queue *);
    bool takes_offers; /* ask also when there are none but offers */
    bool joins_offers; /* merge offers with one that ends where they begin */
};

/* ---- place: where on the disk does a request go? ---- */

/* On a disk with a virtual log (q->logged), the kernel knows where each block
 * is and which places are free, and the policy says only where the next write
 * goes. r is a block's, or of 1 sector: that of the map, which follows it. */

/* The first sector of a free place that begins in [from, end); NO_SECTOR: there
 * is none, or the disk has no virtual log. */
u64 queue_free_from(const struct queue *, u64 from, u64 end);

/* How many places that begin in [from, end) hold something that can be moved.
 */
u64 queue_used(const struct queue *, u64 from, u64 end);

/* Places to be emptied: the sectors [first, end), at most CLEAN_SECTORS; first
 * == end: none now. Both are multiples of a place's eight sectors, whatever a
 * track has: the places that begin on a track may end on the next one. */
struct clean {
    u64 first, end;
    u64 again_ns; /* none: ask again then, if nothing comes; NEVER_NS at first
                   */
};
#define CLEAN_SECTORS 1024UL

/* The disk's lock is held. The order of the queue is by `sector`, wherever that
 * is on the disk. The hooks are not called for a raw request. */
struct place_hooks {
    /* (optional; without it: r->sector, and no virtual log) Where on the disk
     * would r begin, if it were dispatched at now_ns? For a read, where its
     * data are; not asked on a disk with a virtual log, where any free place is
     * right for a write. Called when r is dispatched, when a merge is
     * considered, and by queue_approach; so it must change nothing. Off the
     * disk, or a place that is not free, is a fault. */
    u64 (*place)(const struct queue *, const struct request *r, u64 now_ns);
    /* (optional) r is dispatched to r->physical, the last answer for it. */
    void (*placed)(const struct queue *, const struct request *r);
    /* (optional) No command is under way on a disk with a virtual log. Which
     * places are to be emptied? What they hold is read at once and moves to
     * where `place` says (r->moved). idle: nothing is queued either, and the
     * move gives way to what comes; else it comes before what is queued. While
     * one has given way, an answer has that one ended first. */
    void (*clean)(const struct queue *, u64 now_ns, bool idle, struct clean *);
    /* (optional) As a scheduler's. */
    const char *(*check)(const struct queue *);
    /* On a disk with a virtual log, any writes join in one command while the
     * place of the next one follows. */
    bool appends;
};

/* ---- replace: which clean buffer is the victim? ---- */

/* The cache's lock is held. A buffer is evictable while it is clean and neither
 * referenced nor in transfer; if the policy takes_dirty, also while it is dirty
 * (dirtied_ns tells) and can be written. */
struct replace_hooks {
    /* (required) b is evictable now: it was used, or read ahead of its first
     * use. !reuse: no program will want it again. All uses of a dirty block
     * show as one, when it is clean. */
    void (*insert)(struct block *b, bool reuse);
    /* (required) b is evictable no more: used again, or the chosen victim. */
    void (*remove)(struct block *b);
    /* (required) Choose an evictable buffer; NULL only if there is none. The
     * kernel removes it; a dirty one is written, and then it asks again. */
    struct block *(*victim)(void);
    /* (optional) A victim will be asked for, to make room for this block. */
    void (*coming)(u32 disk, u64 blkno);
    /* (optional) b, as the victim, loses its block; word is cleared after. */
    void (*evicted)(const struct block *b);
    bool takes_dirty;
};

/* ---- prefetch: what to read before it is asked for? ---- */

/* One of the sequences in which an open file is read, told apart by `follows`.
 * All zero when it begins, and when the policy is put to use. */
struct stream {
    u64 next_block; /* after the last block read; 0: this read begins it */
    u64 used;       /* the number of its last read; 0: none */
    u64 word[4];    /* the policy's */
};

/* What had become of a block when it was asked for. */
enum found {
    MISSING, /* it must be read */
    COMING,  /* its read is under way */
    CACHED,
};

/* What the program has said about an open file (abi.h, advise). */
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

/* Blocks of a file: n from `first` on, n from first + step on, and so on, in
 * all `times` times. The hook is given n = 0 (none) and times = 1. */
struct wish {
    u64 first, n, times;
    i64 step;
};

/* The lock of the kind is held. */
struct prefetch_hooks {
    /* (required) Which blocks to start reading, beside what is asked for. Those
     * that are cached, or beyond the share of the cache that prefetching may
     * fill, are left out. Blocks off the file are a fault. */
    void (*ahead)(struct stream *, const struct access *, struct wish *);
    /* (optional; without it: goes_on) Does this read belong to the stream,
     * which has had one at least? If it belongs to none, it begins one. */
    bool (*follows)(const struct stream *, const struct access *);
    /* Do not ask while the hint is HINT_RANDOM; start to read what a program
     * says it will need, and evict next what it says it will not. */
    bool takes_hints;
    /* (optional) Is each block of a call a read of its own, asked about and
     * waited for before the next, by a command that nothing joins? */
    bool (*by_block)(void);
};

/* ---- the table ---- */

struct policy {
    enum policy_kind kind;
    const char *name, *about;        /* a word, a line */
    struct tunable *tunables;        /* NULL, or ends with a row of zeros */
    struct policy_counter *counters; /* NULL, or ends with a row of zeros */
    struct policy_memory *memory;    /* NULL, or what it needs while in use */
    /* (optional) Before the first question and after the last. After start, the
     * hooks dirtied, insert and queued are called for all that there is. */
    void (*start)(void);
    void (*stop)(void);
    /* (optional) Why it cannot do its work on this machine with its tunables
     * as they are, or NULL. For a reason the policy is not put to use or, if it
     * is in use, the tunable not set. Asked before start, too. No lock. */
    const char *(*refuses)(void);
    /* (optional) Under check=1: what is wrong with what the policy keeps, which
     * is a panic, or NULL. Called after each answer, under the same lock; of an
     * update policy after dirtied and look, under the cache's lock. During a
     * look, update and write policies are not checked. A sched or place
     * policy, which is asked about one disk at a time, has the hook check
     * instead. */
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

/* Register a policy: the linker gathers these, and the files they are from. */
#define POLICY(p)                                        \
    static const struct policy *const p##_registered     \
        __attribute__((used, section("policies"))) = &p; \
    static const char *const p##_file                    \
        __attribute__((used, section("policy_files"))) = __FILE__

#endif
