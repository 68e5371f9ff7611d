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

/* Multiplicative hashing (Knuth, volume 3, section 6.4). The disk's number is
 * above every block's, and the factor is odd, so equal blocks of two disks are
 * never in one bucket. */
static struct buf **bucket(u32 disk, u64 blkno)
{
    u64 mixed = (blkno ^ (u64)disk << 32) * 0x9e3779b97f4a7c15UL;
    return &bcache.buckets[(mixed >> 32) & (bcache.nbuckets - 1)];
}

struct buf *buf_lookup(const struct disk *d, u64 blkno)
{
    struct buf *b = *bucket(d->id, blkno);
    while (b && (b->block.blkno != blkno || b->disk != d))
        b = b->hash;
    return b;
}

static void hash_insert(struct buf *b)
{
    struct buf **head = bucket(b->block.disk, b->block.blkno);
    debug_assert(!buf_lookup(b->disk, b->block.blkno)); /* 1 */
    b->hash = *head;
    *head = b;
}

static void hash_remove(struct buf *b)
{
    struct buf **at = bucket(b->block.disk, b->block.blkno);
    while (*at != b)
        at = &(*at)->hash;
    *at = b->hash;
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
