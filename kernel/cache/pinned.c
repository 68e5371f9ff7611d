/*
 * Pinned buffers: changed by a transaction of a journal that is not on the disk
 * yet, or pointing to a block that is not initialised there (kernel/depend).
 * Until that is so, they may not be written where they belong.
 *
 * - For all others here a pinned buffer is not dirty: no flush sees it, no
 *   policy is asked about it, and it is never a victim. So whoever pins must
 *   see to it that enough other buffers are left.
 * - A delayed write of an older transaction is cancelled: what it would have
 *   written is in the log. One without a journal is cancelled, too: it would
 *   have written the new pointer.
 * - bcache.lock guards the lists, which are in the order of pinning.
 */
#include "kernel/cache/bcache.h"

COUNTER(pinned, "bio.pinned", "blocks", "changed, and not to be written yet");

/* Take a busy buffer off the pinned list, if it is there. It is not dirty
 * then. */
void unpin(struct buf *b)
{
    assert(b->flags & B_BUSY);
    if (!(b->flags & B_PINNED))
        return;
    list_remove(&b->dirty);
    bcache.npinned[b->block.disk]--;
    b->flags &= ~B_PINNED;
}

/* Pin a busy buffer in its new contents and let it go. A delayed write of it is
 * cancelled. */
void bpin(struct buf *b, u64 owner)
{
    HOLD(spin, &bcache.lock);
    set_owner(b, owner, true);
    if (b->block.dirtied_ns) {
        undelay(b);
        trace_block(TRACE_cancelled, b, 0);
    }
    set_failed(b, 0);
    b->flags &= ~B_ERROR;
    if (!(b->flags & B_PINNED)) {
        list_push_back(&bcache.pinned[b->block.disk], &b->dirty);
        bcache.npinned[b->block.disk]++;
        count(&pinned, 1);
    }
    b->flags |= B_PINNED | B_VALID;
    trace_block(TRACE_pinned, b, owner);
    buf_let_go(b);
    buf_unhold();
}

/* Return how many buffers of the disk are pinned. */
u64 bpinned(const struct disk *d)
{
    return __atomic_load_n(&bcache.npinned[d->id], __ATOMIC_RELAXED);
}

/* Call fn for each pinned block of the disk, in the order of pinning. Holds
 * bcache.lock: fn may not sleep. */
void bpinned_each(const struct disk *d,
                  void (*fn)(void *arg, u64 blkno, const void *data), void *arg)
{
    HOLD(spin, &bcache.lock);
    ITEM_EACH (struct buf, b, &bcache.pinned[d->id], dirty)
        fn(arg, b->block.blkno, b->data);
}

/* Make a pinned buffer dirty. If a process has it, it becomes dirty when the
 * process lets it go. Caller holds the lock. */
static void turn_dirty(struct buf *b)
{
    bool busy = b->flags & B_BUSY;
    if (!busy)
        buf_take(b);
    unpin(b);
    b->flags |= B_DELWRI;
    if (!busy)
        buf_let_go(b);
}

/* Make all pinned blocks of the disk dirty: their transaction is in the log
 * now. */
void bunpin(struct disk *d)
{
    spin_lock(&bcache.lock);
    trace(TRACE_committed, d->id, 0, myproc()->pid, bcache.npinned[d->id]);
    for (struct list *i; (i = list_first(&bcache.pinned[d->id]));)
        turn_dirty(LIST_ITEM(i, struct buf, dirty));
    spin_unlock(&bcache.lock);
    disk_poke(d);
}
