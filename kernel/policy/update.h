/*
 * The update kind answers: when do dirty blocks go to the disk?
 *
 * The update daemon calls scan() at the times that next_ns() names. scan()
 * starts writes with the flush_ calls below.
 */
#pragma once

#include "kernel/policy/common.h"

/* The cache's lock is held, but not for the first two. */
struct update_hooks {
    /* (required) Return when the update daemon must scan again. It last scanned
     * at last_ns (0: never). A time in the past means at once; NEVER_NS, not
     * before the policy or a tunable changes. */
    u64 (*next_ns)(u64 last_ns);
    /* (required) The time has come: start the writes that are due, with the
     * flush_ calls. May sleep. */
    void (*scan)(u64 now_ns);
    /* (optional) b has become dirty, or is dirty when the policy starts (the
     * oldest comes first). The policy may list it by `owing`. */
    void (*dirtied)(struct block *b, u64 now_ns);
    /* (optional) b, dirty, is about to be written or dropped: unlist it. */
    void (*leaves)(struct block *b);
    /* (optional) A program reads block b of a file. Its contents are cached
     * (hit; they may be dirty) or not. */
    void (*wanted)(const struct block *b, bool hit);
};

/* Start writes, in scan() or each_second(); each returns how many. A block is
 * tried once in one scan, so one that cannot be written holds nothing up. */
u64 flush_all(void);            /* every dirty block */
u64 flush_older(u64 age_ns);    /* blocks that have been dirty for age_ns */
u64 flush_oldest(u64 n);        /* the oldest, up to n */
u64 flush_files(struct list *); /* those on it by owing, with all their files */

/* A scan's answer about a block. */
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

/* Have the update daemon scan, once, as soon as n blocks are dirty; UNLIMITED
 * takes that back. */
void scan_at_dirty(u64 n);

#include "kernel/policy/policy.h" /* the table, and POLICY() */
