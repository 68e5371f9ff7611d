/*
 * Which buffer a block has: the hash that finds it, and how a block without
 * one gets a buffer that was never used, or that of the victim (evict,
 * buf_allocate, assign).
 *
 * Caller holds bcache.lock. Nothing here waits: when buf_allocate finds no
 * buffer, its caller makes room and tries again.
 */
#include "kernel/cache/bcache.h"

COUNTER(evictions, "bio.evictions", "blocks", "clean blocks that gave way");

struct buf *buf_lookup(const struct disk *d, u64 blkno)
{
    struct buf *b = *buf_bucket(d->id, blkno);
    while (b && (b->block.blkno != blkno || b->disk != d))
        b = b->hash;
    return b;
}

static void hash_insert(struct buf *b)
{
    struct buf **head = buf_bucket(b->block.disk, b->block.blkno);
    debug_assert(!buf_lookup(b->disk, b->block.blkno)); /* 1 */
    b->hash = *head;
    b->hashed = head;
    if (b->hash)
        b->hash->hashed = &b->hash;
    *head = b;
}

/* It only writes to its neighbours, for which the processor need not wait. */
static void hash_remove(struct buf *b)
{
    *b->hashed = b->hash;
    if (b->hash)
        b->hash->hashed = b->hashed;
}

/* A buffer that is evictable loses its block, and is free. */
struct buf *buf_evict(struct buf *b)
{
    make_not_evictable(b);
    assert(!(b->flags & (B_BUSY | B_DELWRI | B_EVICTABLE))); /* 5 */
    count(&evictions, 1);
    trace_block(TRACE_evicted, b, b->flags & B_AHEAD ? 1 : 0);
    settle_ahead(b, false);
    replace_evicted(b);
    hash_remove(b);
    return b;
}

/* A buffer for a block that is not cached: never used, or a victim; NULL if
 * there is none, or it is *dirty. Caller holds the lock. */
struct buf *buf_allocate(const struct disk *d, u64 blkno, struct buf **dirty)
{
    *dirty = NULL;
    if (bcache.used < bcache.nbufs) {
        struct buf *b = &bcache.bufs[bcache.used];
        memset(b, 0, sizeof *b);
        b->data = bcache.data + bcache.used * bcache.block_bytes;
        bcache.used++;
        return b;
    }
    struct buf *b = replace_victim(d->id, blkno);
    if (b && b->flags & B_DELWRI)
        *dirty = b;
    return b && !*dirty ? buf_evict(b) : NULL;
}

/* Give an allocated buffer its block, busy. Caller holds the lock. */
void buf_assign(struct buf *b, struct disk *d, u64 blkno)
{
    b->block =
        (struct block){.disk = d->id, .blkno = blkno, .used = ++bcache.uses};
    b->disk = d;
    b->flags = B_BUSY;
    b->failed_ns = 0;
    wait_queue_init(&b->waiters);
    bcache.nbusy++;
    hash_insert(b);
}
