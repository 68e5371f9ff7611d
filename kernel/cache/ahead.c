/*
 * Reading ahead: blocks whose reads are started before they are waited for.
 *
 * - The further blocks of a call (asked) will be used by the same call. Their
 *   buffers are taken like any other; the first use of one is no hit (B_ASKED).
 * - Prefetched blocks (ahead) may never be asked for. Their buffers are
 *   B_AHEAD, and fill at most a share of the cache (ahead_most). They take no
 *   buffer for which a process waits, nor one that must be written first.
 * - A read that finds no room is not started: to read ahead is no promise.
 */
#include "kernel/cache/bcache.h"

COUNTER(ahead, "bio.ahead", "blocks", "prefetched: reads started");
COUNTER(ahead_used, "bio.ahead_used", "blocks", "of them asked for");
COUNTER(ahead_late, "bio.ahead_late", "blocks",
        "of those, while the read was under way");
COUNTER(ahead_wasted, "bio.ahead_wasted", "blocks",
        "prefetched and never asked for");

static u64 gauge_ahead(void)
{
    return bcache.nahead;
}

GAUGE(ahead_gauge, "bio.ahead_unused", "buffers",
      "prefetched and not asked for yet", gauge_ahead);

/* Note that the block is being prefetched, and since when. b holds it
 * already. */
static void mark_ahead(struct buf *b)
{
    assert(!(b->flags & B_AHEAD) && bcache.nahead < bcache.ahead_most); /* 6 */
    b->flags |= B_AHEAD;
    b->ahead_ns = clock_ns();
    list_push_back(&bcache.ahead, &b->ahead);
    bcache.nahead++;
    count(&ahead, 1);
}

/* b was prefetched: count that it is asked for now, or that it never will be.
 */
void end_ahead(struct buf *b, bool asked)
{
    count(asked ? &ahead_used : &ahead_wasted, 1);
    count(&ahead_late, asked && b->flags & B_READ);
    b->flags &= ~B_AHEAD;
    list_remove(&b->ahead);
    bcache.nahead--;
}

/* Return how many buffers prefetched blocks may fill at most. */
u64 bio_ahead_most(void)
{
    return bcache.ahead_most;
}

/* Like buf_allocate, for a block to be prefetched. When prefetched blocks fill
 * their share, only a stale one gives way. A process that waits for a buffer
 * goes first. */
static struct buf *allocate_ahead(const struct disk *d, u64 blkno)
{
    struct buf *dirty;
    if (bcache.waiting)
        return NULL;
    if (bcache.nahead < bcache.ahead_most)
        return buf_allocate(d, blkno, &dirty);
    if (!bcache.nahead)
        return NULL;
    struct buf *b = LIST_ITEM(bcache.ahead.next, struct buf, ahead);
    bool stale = clock_ns() - b->ahead_ns >= AHEAD_STALE_NS;
    return stale && b->flags & B_EVICTABLE ? buf_evict(b) : NULL;
}

/* Return a buffer for reading a block, with its transfer prepared; NULL if the
 * block is cached or being read, or there is no room. */
static struct buf *allocate_to_read(struct disk *d, u64 blkno, bool asked)
{
    HOLD(spin, &bcache.lock);
    struct buf *b = buf_lookup(d, blkno), *dirty;
    bool may = asked || bcache.nahead < bcache.ahead_most;
    if (b) { /* it may have lost its contents */
        if (!may || b->flags & B_VALID || !(b->flags & B_EVICTABLE))
            return NULL;
        settle_ahead(b, asked);
        buf_take(b);
    } else {
        b = asked ? buf_allocate(d, blkno, &dirty) : allocate_ahead(d, blkno);
        if (!b)
            return NULL;
        buf_assign(b, d, blkno);
    }
    trace_block(TRACE_ahead, b, asked);
    count_misses(asked);
    if (asked)
        b->flags |= B_ASKED;
    else
        mark_ahead(b);
    buf_prepare(b, B_READ, false);
    return b;
}

/* Start reading a block unless it is cached or there is no room. */
static void start_read(struct disk *d, u64 blkno, bool asked)
{
    struct buf *b =
        on_disk(d, blkno) ? allocate_to_read(d, blkno, asked) : NULL;
    if (b)
        disk_submit(d, b->io);
}

/* Start the reads of both kinds, as far as buffers are free for them. */
void start_further(struct disk *d, const struct further_reads *further)
{
    for (u32 i = 0; i < further->nasked; i++)
        start_read(d, further->asked[i], true);
    for (u32 i = 0; i < further->nahead; i++)
        start_read(d, further->ahead[i], false);
}

/* Start the reads, while the disk is plugged so that neighbours are merged. */
void bstart(struct disk *d, const struct further_reads *further)
{
    if (!further->nasked && !further->nahead)
        return;
    disk_plug(d);
    start_further(d, further);
    disk_unplug(d);
}

/* Start reading n blocks that may never be asked for. */
void bprefetch(struct disk *d, const u64 *blkno, u32 n)
{
    bstart(d, &(struct further_reads){.ahead = blkno, .nahead = n});
}
