/*
 * The inside of the buffer cache, which bio.c and flush.c share; others see
 * bio.h. bio.c says what the states and the invariants are.
 */
#ifndef SLUICE_BCACHE_H
#define SLUICE_BCACHE_H

#include "kernel/cache/bio.h"

#define OWNER_LISTS 1024 /* of dirty buffers, by owner; a power of two */

/* Somebody who waits for a set of writes. */
struct flush {
    u64 started, outstanding;
    int error;
};

extern struct bcache {
    struct spinlock lock; /* of all of it, but for a busy buffer's data */
    u32 block_bytes;
    u64 nbufs, used; /* buffers; of them, that have ever held a block */
    struct buf *bufs;
    u8 *data;             /* nbufs * block_bytes */
    struct buf **buckets; /* nbuckets, a power of two */
    u64 nbuckets;
    struct list delayed, pending, writing;
    struct list ahead; /* prefetched, not asked for yet: the oldest first */
    struct list owned[OWNER_LISTS];
    u64 ndirty, nheld_back, nwriting, nbusy;
    u64 nevictable;         /* and clean */
    u64 uses;               /* of buffers, by processes, ever */
    u64 nahead, ahead_most; /* on that list; may be */
    u64 write_number;       /* of the last write started */
    u64 look_started;       /* blocks that the policy's look found due */
    u64 look_number;        /* what that was when the policy began to look */
    bool looking;           /* now; of write_lock, too */
    u64 look_at_dirty; /* with so many dirty blocks the policy looks at once */
    u32 holders;       /* processes that hold buffers */
    struct turns may_hold; /* who waits to become one */
    u32 waiting;           /* processes that wait for an evictable buffer */
} bcache;

static inline struct buf *buf_of(struct block *b)
{
    return CONTAINER(b, struct buf, block);
}

/* Is b one of this disk's (NULL: any) and this owner's (0: any)? */
static inline bool concerns(const struct buf *b, const struct disk *d,
                            u64 owner)
{
    return (!d || b->disk == d) && (!owner || b->block.owner == owner);
}

/* For all of these the caller holds bcache.lock. */

struct list *owner_list(u64 owner); /* where its dirty buffers are, by owned */

/* Make a buffer that nobody has busy, or any, waiting for a turn: it holds the
 * same block then. */
void buf_take(struct buf *b);
void buf_get(struct buf *b);

/* Let go of it: the first in line has it then, or nobody. */
void buf_let_go(struct buf *b);

/* Make the write of a busy buffer ready; the caller submits b->io without the
 * lock. */
void buf_prepare_write(struct buf *b, bool waited);

#endif
